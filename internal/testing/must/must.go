// Package must ends a test whose preparation fails. It saves the tests of all packages from the same three lines.
package must

import (
	"testing"
	"time"
)

// Do ends the test unless err is nil.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get returns the value of a call, such as must.Get(os.ReadFile(name))(t). It ends the test unless err is nil.
func Get[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return v
	}
}

// limit is how long a condition may take, on a machine that does much else.
const limit = 5 * time.Minute

// Become waits until a condition holds, and ends the test if it does not in minutes. A test that sleeps for a time
// which it guesses instead fails on a busy machine.
func Become(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, limit)
		}
	}
}
