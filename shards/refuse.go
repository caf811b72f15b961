package shards

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"hgld/internal/crash"
)

// RefusedError reports that a data set was not published, because it would be empty or have
// fewer images than the finished one in its folder. The folder is unchanged.
type RefusedError struct {
	Images   int       // that the source has
	Failures []Failure // images that would be left out; of a source whose images are gone, without a shard
	Allowed  float64   // Options.AllowMissing
	Was      int       // images of the finished data set, where Fewer
	Fewer    bool      // refused because it would have fewer images than the finished one
}

// Error states how many images are affected and names the first.
func (e *RefusedError) Error() string {
	left := e.Images - len(e.Failures)
	if e.Fewer {
		return fmt.Sprintf("the new data set would have %d images, fewer than the %d of the finished "+
			"one%s", left, e.Was, e.first())
	}
	if left == 0 {
		return fmt.Sprintf("none of the %d images can be used (%s), so no data set was written%s",
			e.Images, CountFailures(e.Failures), e.first())
	}
	return fmt.Sprintf("%d of %d images cannot be used (%s), but at most %.4g %% may be left out%s",
		len(e.Failures), e.Images, CountFailures(e.Failures), 100*e.Allowed, e.first())
}

// Share returns the share of images that would be left out, rounded up to a thousandth: with it
// as Options.AllowMissing, the data set is published.
func (e *RefusedError) Share() float64 {
	return math.Ceil(1000*float64(len(e.Failures))/float64(e.Images)) / 1000
}

func (e *RefusedError) first() string {
	if len(e.Failures) == 0 {
		return ""
	}
	f := &e.Failures[0]
	return fmt.Sprintf("; the first: %s: %s", At(f.Path, f.Where), f.Error)
}

// List names the first images that would be left out, one a line; more says how to list the rest.
func (e *RefusedError) List(most int, more string) string {
	var lines []string
	for i := range e.Failures[:min(most, len(e.Failures))] {
		f := &e.Failures[i]
		lines = append(lines, fmt.Sprintf("%s: %s: %s", At(f.Path, f.Where), f.Class, f.Error))
	}
	if left := len(e.Failures) - most; left > 0 {
		lines = append(lines, fmt.Sprintf("… %d more; %s", left, more))
	}
	return strings.Join(lines, "\n")
}

// WriteJSON writes all images that would be left out, one a line, as failures.jsonl does.
func (e *RefusedError) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	for i := range e.Failures {
		if err := enc.Encode(&e.Failures[i]); err != nil {
			return err
		}
	}
	return nil
}

// CountFailures returns the number of failures of each class: "decode 3, missing 1".
func CountFailures(failures []Failure) string {
	classes := map[FailureClass]int{}
	for i := range failures {
		classes[failures[i].Class]++
	}
	var parts []string
	for _, c := range slices.Sorted(maps.Keys(classes)) {
		parts = append(parts, fmt.Sprintf("%s %d", c, classes[c]))
	}
	return strings.Join(parts, ", ")
}

// finished is a data set in the folder where another one is to be built.
type finished struct {
	rows  int
	trial bool // made with Settings.Limit
}

// readFinished returns the finished data set in dir, nil if there is none. If its manifest is
// damaged, the rows are counted from the sidecars. A manifest that cannot be read is an
// error, because its data set may be intact.
func readFinished(dir folder) (*finished, error) {
	m, _, err := readManifest(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !lostManifest(dir):
		return nil, nil
	case errors.Is(err, fs.ErrNotExist), errors.As(err, new(*DamageError)):
		return countSidecarRows(dir)
	case err != nil:
		return nil, err
	}
	was := &finished{trial: m.Settings.Limit > 0}
	for _, f := range m.Files {
		was.rows += f.Rows
	}
	return was, nil
}

// lostManifest reports whether a finished data set in dir has lost its manifest: SHA256SUMS names it.
func lostManifest(dir folder) bool {
	sums, err := dir.read(SumsFile, maxManifest)
	return err == nil && sumsName(sums, ManifestFile) && !dir.mayExist(ManifestFile)
}

func countSidecarRows(dir folder) (*finished, error) {
	names, err := dir.list("data")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	was := &finished{}
	for _, name := range names {
		if path.Ext(name) != ".idx" {
			continue
		}
		data, err := dir.read("data/"+name, maxSidecar)
		if err != nil && !errors.As(err, new(*DamageError)) {
			return nil, err
		}
		if x, err := decodeIndex(data); err == nil {
			was.rows += x.rows()
		}
	}
	return was, nil
}

// checkPublish returns a *RefusedError unless the images left after the failures may replace
// the earlier data set.
func (b *builder) checkPublish(failures []Failure, was *finished) error {
	e := &RefusedError{Images: b.plan.images(), Failures: failures, Allowed: b.o.AllowMissing}
	const rounding = 1e-9 // of the product: 0.29·100 is a little less than 29
	left := e.Images - len(failures)
	if left == 0 || float64(len(failures)) > b.o.AllowMissing*float64(e.Images)+rounding {
		return e
	}
	if was == nil || left >= was.rows || b.o.Replace || was.trial && b.o.Limit > 0 {
		return nil
	}
	e.Fewer, e.Was = true, was.rows
	return e
}

// checkPublishEarly does the same with the information known before any image is opened.
func (b *builder) checkPublishEarly() error {
	was, err := readFinished(b.dir)
	if err != nil {
		return err
	}
	var gone []Failure
	for i := range b.plan.shards {
		gone = append(gone, b.plan.shards[i].gone...)
	}
	return b.checkPublish(gone, was)
}

// A build leaves a finished data set in its folder alone until the new one is complete.
// New shards are written to nextFolder; those of a build that was stopped or refused
// stay there for the next.
const nextFolder = ".hgld-next"

// waitingPath returns the temporary path of a shard, given its name in the data set.
func waitingPath(name string) string { return nextFolder + "/" + strings.TrimPrefix(name, "data/") }

// chooseFolder returns where new shards are written.
func (b *builder) chooseFolder() error {
	was, err := readFinished(b.dir)
	if err != nil || was == nil {
		return err
	}
	b.aside = true
	return b.dir.makeFolder(nextFolder)
}

// renameWaiting renames the waiting shards to their names.
func (b *builder) renameWaiting() error {
	moved := false
	g := errgroup.Group{}
	g.SetLimit(1)
	if _, is := b.dir.(*remote); is {
		g.SetLimit(sidecarsAtOnce)
	}
	for i := range b.made {
		m := &b.made[i]
		if m.at == m.file.Name {
			continue
		}
		moved = true
		g.Go(func() error {
			defer crash.Guard()
			to := m.file.Name
			if err := b.dir.move(indexName(m.at), indexName(to)); err != nil { // first, as in Finish
				return err
			}
			if err := b.dir.move(m.at, to); err != nil {
				return err
			}
			m.at = to
			return nil
		})
	}
	if err := g.Wait(); err != nil || !moved {
		return err
	}
	return b.dir.sync("data")
}
