//go:build !unix || solaris || aix

package atomicfile

// renamesOpen is false: a file must be closed before it is renamed. For a moment its lock is then
// released although its process is running.
const renamesOpen = false
