package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"hgld/internal/objectstore/address"
	"hgld/internal/terminal"
)

// message returns a text for stderr, without what a terminal would obey, and without passwords in addresses: what users
// typed, and files of others, have both.
func message(text string) string { return terminal.Visible(terminal.Bounded(address.Scrub(text))) }

// reportDefect says that hgld itself failed, and writes the trace of the panic to a file, or to stderr
// if no file can be written. It returns [exitDefect].
func reportDefect(panicked any, trace []byte, stderr io.Writer) int {
	text := message(fmt.Sprint(panicked))
	fmt.Fprintf(stderr, "hgld: this is a defect of hgld, not a mistake of yours: %s\n", text)
	report := fmt.Sprintf("%s, %s %s/%s\npanic: %s\n\n%s", thisTool(), runtime.Version(), runtime.GOOS, runtime.GOARCH,
		text, trace)
	if file, err := writeTrace(report); err == nil {
		fmt.Fprintf(stderr, "  the trace is in %s\n", file)
	} else {
		fmt.Fprintf(stderr, "%s\n", report)
	}
	fmt.Fprintln(stderr, "  please report it with the trace and the command; finished files are safe, and other inputs "+
		"or settings may work")
	return exitDefect
}

// writeTrace writes a report of a defect to a new file in the folder of temporary files.
func writeTrace(report string) (path string, err error) {
	f, err := os.CreateTemp("", "hgld-trace-*.txt")
	if err != nil {
		return "", err
	}
	_, err = io.WriteString(f, report)
	return f.Name(), errors.Join(err, f.Close())
}

// onceEach leaves out the lines with which an earlier one ends: a device that failed returns its error from the
// operation, from its thread and when it is closed.
func onceEach(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || !slices.ContainsFunc(lines, func(earlier string) bool { return strings.HasSuffix(earlier, line) }) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// reportError prints an error for a person and returns the exit code.
func reportError(err error, stderr io.Writer) int {
	code := exitCode(err)
	if err == nil {
		return code
	}
	text := message(onceEach(err.Error()))
	switch {
	case code == exitInterrupted && errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "hgld: stopped, state saved; run the same command again to resume")
	case code == exitDiskFull:
		fmt.Fprintf(stderr, "hgld: %s\n  %s; finished files are safe: free some space and run the same command again\n",
			text, diskTrouble(err))
	default:
		fmt.Fprintf(stderr, "hgld: %s\n", text)
	}
	for _, hint := range hints(err) {
		fmt.Fprintf(stderr, "  %s\n", message(hint))
	}
	return code
}
