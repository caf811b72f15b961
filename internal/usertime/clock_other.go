//go:build !unix

package usertime

import "time"

// now is not known here.
func now() time.Duration { return 0 }
