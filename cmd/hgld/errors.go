package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"hgld/internal/terminal"
)

// reportError prints an error for a person and returns the exit code.
func reportError(err error, stderr io.Writer) int {
	code := exitCode(err)
	if err == nil {
		return code
	}
	text := terminal.Visible(terminal.Bounded(err.Error()))
	switch {
	case code == exitInterrupted && errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "hgld: stopped, state saved; the same command continues")
	case code == exitDiskFull:
		fmt.Fprintf(stderr, "hgld: %s\n  %s; finished files are safe: free some space and run the same command again\n",
			text, diskTrouble(err))
	default:
		fmt.Fprintf(stderr, "hgld: %s\n", text)
	}
	for _, hint := range hints(err) {
		fmt.Fprintf(stderr, "  %s\n", terminal.Visible(terminal.Bounded(hint)))
	}
	return code
}
