//go:build !gorgonia

package cuda

// builtin lists the drivers linked into the binary, which are tried first.
var builtin []func() (Driver, string, error)
