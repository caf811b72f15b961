// Package effort tells tests how many cases to run: the deciding ones, every one, or the longest too.
package effort

import "os"

const variable = "HGLD_EXHAUSTIVE"

// Exhaustive reports whether $HGLD_EXHAUSTIVE is set, as the suites scripts/check_* set it.
func Exhaustive() bool { return os.Getenv(variable) != "" }

// Long reports whether $HGLD_EXHAUSTIVE is "long", as scripts/long and scripts/gpu_check set it:
// tests then also run the cases that take minutes on an emulated GPU.
func Long() bool { return os.Getenv(variable) == "long" }
