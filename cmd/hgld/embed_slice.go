package main

import (
	"errors"
	"fmt"
	"strings"

	"hgld/internal/ranks"
	"hgld/train/index"
)

// embedSlices are the values of --slice of a command that embeds, besides N/T.
var embedSlices = []sliceKind{sliceFinish, sliceCount}

// shareEmbedding returns the slice of this process among those that a launcher has started, or that it has started for
// the GPUs of its device. Rank 0 writes the files when all have done theirs.
func (j *job) shareEmbedding() (n, of int, err error) {
	if j.card != "" {
		j.device = j.card
	}
	if j.device, err = j.cardOf(j.device); err != nil {
		return 0, 0, err
	}
	if _, err := j.ranks.Meet(j.ctx, ranks.Note{}); err != nil {
		return 0, 0, err
	}
	p := j.ranks.Place
	j.log("%d processes embed together, started by %s", p.Ranks, p.Launcher)
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

// reportSlice prints what a slice has left.
func (o *embedding) reportSlice(j *job, s *index.Slice, n, of int) error {
	listBroken(j, s.Failed)
	if j.json {
		return writeJSON(j, map[string]any{"slice": n, "of": of, "parts": s.Parts, "kept": s.Kept, "items": s.Items,
			"failed": len(s.Failed)})
	}
	j.print("slice %d of %d: %s in %s, %d already embedded\n", n, of, count(s.Items, "item"), count(s.Parts, "part"),
		s.Kept)
	if k := len(s.Failed); k > 0 {
		return withHint(withCode(exitSomeFailed, fmt.Errorf("embed-images: %s left out", count(k, "image"))),
			"--slice finish lists them, and compares their share with --allow-missing")
	}
	return nil
}
