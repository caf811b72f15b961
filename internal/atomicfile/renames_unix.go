//go:build unix && !solaris && !aix

package atomicfile

// renamesOpen is true: a file can be renamed while it is open, so its lock is held until it has its
// name.
const renamesOpen = true
