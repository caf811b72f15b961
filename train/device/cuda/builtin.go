//go:build !gorgonia

package cuda

// builtin are the drivers that were linked in, which are tried first.
var builtin []func() (Driver, string, error)
