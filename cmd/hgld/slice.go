package main

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/jobarray"
)

// sliceKind is what a value of --slice asks for.
type sliceKind string

// The kinds of slices. Every command with --slice takes a [slicePart]; it names the others that it takes.
const (
	sliceWhole   sliceKind = ""          // no --slice: everything
	slicePart    sliceKind = "N/T"       // part N of T, also auto and auto/T
	sliceFinish  sliceKind = "finish"    // join the parts that are there
	sliceCount   sliceKind = "finish/T"  // join them, and name those of the T slices that are not there
	sliceMissing sliceKind = "missing/T" // print the slices of T that an array job must still run
)

// slice is a value of --slice.
type slice struct {
	kind  sliceKind
	n, of int // part n of of; 0 if the value does not tell
}

// sliceFlag lets several processes share the work of a command. takes lists what it understands besides N/T, about
// ends its usage.
func sliceFlag(about string, takes ...sliceKind) cli.Flag {
	usage := "only part `N/T` of the work: 3/8, or auto or auto/8 in an array job"
	for _, kind := range takes {
		usage += map[sliceKind]string{
			sliceFinish: "; finish: join the parts", sliceCount: "; finish/T: also name the slices that are missing",
			sliceMissing: "; missing/T: print the slices still to run",
		}[kind]
	}
	return &cli.StringFlag{Name: "slice", Usage: usage + about}
}

// sliceOf reads --slice of a command that understands takes besides N/T, auto and auto/T.
func sliceOf(c *cli.Context, takes ...sliceKind) (slice, error) {
	return parseSlice(c.String("slice"), os.Getenv, takes...)
}

func parseSlice(text string, getenv func(string) string, takes ...sliceKind) (slice, error) {
	word, count, counted := strings.Cut(text, "/")
	kind := slicePart
	switch {
	case text == "":
		return slice{}, nil
	case word == "finish" && !counted:
		kind = sliceFinish
	case word == "finish":
		kind = sliceCount
	case word == "missing":
		kind = sliceMissing
	}
	if kind == slicePart {
		n, of, err := jobarray.Slice(text, getenv)
		return slice{kind, n, of}, withCode(exitUsage, err)
	}
	if !slices.Contains(takes, kind) {
		known := []string{string(slicePart), "auto", "auto/T"}
		for _, k := range takes {
			known = append(known, string(k))
		}
		return slice{}, usagef("--slice %.80q has no meaning here; want %s", text, strings.Join(known, ", "))
	}
	if kind == sliceFinish {
		return slice{kind: kind}, nil
	}
	of, err := strconv.Atoi(count)
	if err != nil || of < 1 {
		return slice{}, usagef("--slice %.80q; want %s with the number of slices, such as %s/8", text, kind, word)
	}
	return slice{kind: kind, of: of}, nil
}
