//go:build unix

package main

import (
	"errors"
	"syscall"
)

// diskTrouble says why the disk takes no more data. It returns "" for other errors.
func diskTrouble(err error) string {
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
