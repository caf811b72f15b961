//go:build !unix || solaris || aix

package atomicfile

// renamesOpen says that a file has to be closed before it is renamed. For a moment its
// lock is then gone although its process is at work.
const renamesOpen = false

// RemoveLeftovers does nothing here: it could not tell the temporary file of a killed
// process from that of one at work.
func RemoveLeftovers(string) {}

func removeLeftovers(string) {}
