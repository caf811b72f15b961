//go:build unix

package exitcode

import (
	"errors"
	"syscall"
)

// DiskTrouble returns why the disk accepts no more data, or "" for other errors.
func DiskTrouble(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "the disk is full"
	case errors.Is(err, syscall.EDQUOT):
		return "the disk quota is used up"
	case errors.Is(err, syscall.EROFS):
		return "the disk is read-only"
	}
	return ""
}
