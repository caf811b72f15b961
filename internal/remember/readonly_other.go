//go:build !unix

package remember

import "io/fs"

// errReadOnly is the error of a file system without writing.
var errReadOnly = fs.ErrPermission
