package device

import "runtime"

// lockThread binds the goroutine to its thread for good. The thread ends with it. A driver's
// current context is a property of the thread.
func lockThread() { runtime.LockOSThread() }
