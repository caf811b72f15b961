//go:build unix

package main

import (
	"errors"
	"syscall"
)

// diskTrouble returns why the disk accepts no more data, or "" for other errors.
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
