// Package crash lets a panic of any goroutine end the program like one of the main goroutine: with a
// sentence and an exit code of its own.
package crash

import "runtime/debug"

// Report ends the program because of a panic, whose value and trace it gets. The command sets it before
// it starts a goroutine. If it is nil, as in tests, a panic goes its usual way.
var Report func(panicked any, trace []byte)

// Guard hands a panic to Report. Every goroutine defers it first.
func Guard() {
	if Report == nil {
		return
	}
	if p := recover(); p != nil {
		Report(p, debug.Stack())
	}
}
