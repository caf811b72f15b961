// Package effort tells tests whether to run every case or the deciding ones.
package effort

import "os"

// Exhaustive reports whether $HGLD_EXHAUSTIVE is set, as the suites scripts/check_* set it.
func Exhaustive() bool { return os.Getenv("HGLD_EXHAUSTIVE") != "" }
