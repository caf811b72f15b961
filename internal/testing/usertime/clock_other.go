//go:build !unix

package usertime

import "time"

// Now returns 0: the user time is unknown on this system.
func Now() time.Duration { return 0 }

// CPU returns 0, as Now does.
func CPU() time.Duration { return 0 }
