package device

import "runtime"

// lockThread keeps the goroutine on its thread for good: the thread ends with
// it, and a driver's current context is a property of the thread.
func lockThread() { runtime.LockOSThread() }
