package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/jobarray"
	"hgld/train/index"
)

// sliceFlag lets several processes embed a data set together.
func sliceFlag() cli.Flag {
	return &cli.StringFlag{Name: "slice", Usage: "embed only the parts of slice `N/T`, auto or auto/T, as in hgld shards " +
		"slice; finish or finish/T: write the files of the parts that are there, and embed nothing"}
}

// finish reports whether the files are to be written of what slices have left.
func (o *embedChoice) finish() bool {
	word, _, _ := strings.Cut(o.slice, "/")
	return word == "finish"
}

// sliceOf returns the slice to embed, or n = 0 for everything; of is the number of slices, 0 if it is not said.
func (o *embedChoice) sliceOf() (n, of int, err error) {
	switch {
	case o.slice == "" || o.slice == "finish":
		return 0, 0, nil
	case o.finish():
		if of, err = strconv.Atoi(strings.TrimPrefix(o.slice, "finish/")); err != nil || of < 1 {
			return 0, 0, usagef("--slice %.80q; want finish, or finish/T with the number of slices", o.slice)
		}
		return 0, of, nil
	}
	n, of, err = jobarray.Slice(o.slice, os.Getenv)
	return n, of, withCode(exitUsage, err)
}

// shareEmbedding returns the slice of this process among those that a launcher has started, or that it has started for
// the cards of its device. Rank 0 writes the files when all have done theirs.
func (j *job) shareEmbedding() (n, of int, err error) {
	if j.card != "" {
		j.device = j.card
	}
	if j.device, err = j.cardOf(j.device); err != nil {
		return 0, 0, err
	}
	if _, err := j.ranks.meet(j, rankNote{}); err != nil {
		return 0, 0, err
	}
	p := j.ranks.place
	j.say("%d processes embed together, started by %s", p.Ranks, p.Launcher)
	return p.Rank + 1, p.Ranks, nil
}

// missingParts names the slices to run again.
func missingParts(err error, of int) error {
	var missing *index.MissingPartsError
	if !errors.As(err, &missing) {
		return err
	}
	if of == 0 {
		return withHint(withCode(exitUsage, err), "--slice finish/T names the slices that have not left all their parts")
	}
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(missing.Slices(of)), " ", ","), "[]")
	return withHint(withCode(exitUsage, fmt.Errorf("%w: those of the slices %s", err, list)),
		"embed them: --slice %d/%d, or an array of the tasks %s with --slice auto/%d", missing.Slices(of)[0], of, list, of)
}

// reportSlice says what a slice has left.
func (o *embedChoice) reportSlice(j *job, s *index.Slice, n, of int) error {
	listBroken(j, s.Failed)
	if j.json {
		return writeJSON(j, map[string]any{"slice": n, "of": of, "parts": s.Parts, "kept": s.Kept, "items": s.Items,
			"failed": len(s.Failed)})
	}
	j.print("slice %d of %d: %s in %s, %d there already\n", n, of, count(s.Items, "item"), count(s.Parts, "part"), s.Kept)
	if k := len(s.Failed); k > 0 {
		return withHint(withCode(exitSomeFailed, fmt.Errorf("%s: %s left out", o.command, count(k, "image"))),
			"--slice finish lists them, and compares their share with --allow-missing")
	}
	return nil
}
