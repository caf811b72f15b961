// Package provenance follows the labels of a data set back through the stages, for
// BUILD.json. Every step is taken by a record that names the file before it by its
// hash: the record of the stage that joined the labels, the origin in hierarchy.json,
// and the origin in draft.json. Where a file is missing or has changed since, the
// provenance ends there and says so.
package provenance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"hgld/internal/filehash"
	"hgld/labels"
	"hgld/shards"
	"hgld/shards/dataset"
)

// LabelsRecord is the record of a label file, written by the stage that joins tags and
// hierarchy.
type LabelsRecord struct {
	Tool  string // version of hgld
	Limit int    // landmarks of a trial; 0: all

	// Tags and Hierarchy are the files that it was made from.
	Tags, Hierarchy Source
}

// Source is a file that another file was made from.
type Source struct {
	Path string // of the file
	Same bool   // it has not changed since
}

// Records gives access to a project's records of its files.
type Records interface {
	// Changed returns the command that wrote a file, if the user has changed the file
	// by hand since, else "".
	Changed(path string) (command string, err error)

	// Labels returns the record of a label file. Without one it returns nil and the
	// reason.
	Labels(path string) (r *LabelsRecord, reason string, err error)

	// Draft returns where the project keeps its draft, "" without a project.
	Draft() (path string, err error)
}

// trace follows the files of a data set.
type trace struct {
	records Records
	made    shards.Provenance
}

// Of returns the provenance of a data set whose importer has the settings source. It follows source's hierarchy.json,
// which numbers the classes, and its label file.
func Of(ctx context.Context, records Records, source Settings) (shards.Provenance, error) {
	t := &trace{records: records}
	if path := source.Hierarchy; path != "" {
		in, err := dataset.FileInput(ctx, path)
		if err != nil {
			return t.made, err
		}
		t.made.Hierarchy = &in
		if err := t.hierarchy(ctx, path); err != nil {
			return t.made, err
		}
	}
	if source.Labels != "" {
		if err := t.labels(ctx, source.Labels); err != nil {
			return t.made, err
		}
	}
	source, err := source.withoutFolders()
	t.made.Source = source
	return t.made, err
}

// end records that the provenance of a file is unknown, and why.
func (t *trace) end(path, format string, args ...any) {
	t.made.Unknown = append(t.made.Unknown, filepath.Base(path)+": "+fmt.Sprintf(format, args...))
}

// noteChange notes a change by hand.
func (t *trace) noteChange(path string) error {
	command, err := t.records.Changed(path)
	if command != "" {
		t.end(path, "changed by hand since %s wrote it", command)
	}
	return err
}

// labels follows a label file, if it is as the project's stage has left it.
func (t *trace) labels(ctx context.Context, path string) error {
	was, reason, err := t.records.Labels(path)
	if err != nil {
		return err
	}
	if err := t.noteChange(path); err != nil {
		return err
	}
	if was == nil {
		t.end(path, "%s", reason)
		return nil
	}
	t.made.Labels = &shards.LabelsOrigin{Tool: was.Tool, Limit: was.Limit, Inputs: []shards.Input{}}
	for _, step := range []struct {
		of     Source
		follow func(context.Context, string) error
	}{{was.Tags, t.scrape}, {was.Hierarchy, t.hierarchy}} {
		if !step.of.Same {
			t.end(step.of.Path, "changed since %s was made from it", filepath.Base(path))
			continue
		}
		in, err := dataset.FileInput(ctx, step.of.Path)
		if err != nil {
			return err
		}
		t.made.Labels.Inputs = append(t.made.Labels.Inputs, in)
		if err := step.follow(ctx, step.of.Path); err != nil {
			return err
		}
	}
	return nil
}

// hierarchy follows a hierarchy.json by its origin to the draft, which lies beside it
// or where the project keeps it.
func (t *trace) hierarchy(ctx context.Context, path string) error {
	h, err := labels.OpenHierarchy(path)
	if err != nil {
		return err
	}
	if err := t.noteChange(path); err != nil {
		return err
	}
	var of struct {
		Draft  string `json:"draft"`
		SHA256 string `json:"draft_sha256"`
	}
	if len(h.Origin) == 0 || json.Unmarshal(h.Origin, &of) != nil || of.SHA256 == "" {
		t.end(path, "does not record which draft it was made from")
		return nil
	}
	t.made.Curation = h.Origin
	own, err := t.records.Draft()
	if err != nil {
		return err
	}
	for _, file := range []string{filepath.Join(filepath.Dir(path), filepath.Base(of.Draft)), own} {
		same, err := hasHash(ctx, file, of.SHA256)
		if err != nil {
			return err
		}
		if same {
			return t.draft(ctx, file)
		}
	}
	t.end(of.Draft, "the version that %s was made from was not found", filepath.Base(path))
	return nil
}

// weightsInName finds the hash of the weights in the name of an encoder.
var weightsInName = regexp.MustCompile(`sha256=([0-9a-f]{64})\b`)

// Weights returns the hash of the weights, or of the vectors, in the name of an encoder,
// "" if it has none.
func Weights(encoder string) string {
	if found := weightsInName.FindStringSubmatch(encoder); found != nil {
		return found[1]
	}
	return ""
}

// draft follows a draft to its tags, unless the label file has led there.
func (t *trace) draft(ctx context.Context, path string) error {
	d, err := labels.OpenDraft(path)
	if err != nil {
		return err
	}
	if err := t.noteChange(path); err != nil {
		return err
	}
	origin := d.Origin
	t.made.Clusters = &origin
	if t.made.Scrape != nil {
		return nil
	}
	if origin.Input == "" || origin.InputSHA256 == "" { // of a draft that was made of a spreadsheet
		t.end(path, "does not record which tags it was made from")
		return nil
	}
	tags := filepath.Join(filepath.Dir(path), filepath.Base(origin.Input))
	same, err := hasHash(ctx, tags, origin.InputSHA256)
	if err != nil {
		return err
	}
	if !same {
		t.end(origin.Input, "the version that %s was made from was not found", filepath.Base(path))
		return nil
	}
	return t.scrape(ctx, tags)
}

// scrape says where the tags are from.
func (t *trace) scrape(ctx context.Context, path string) error {
	if err := t.noteChange(path); err != nil {
		return err
	}
	in, err := dataset.FileInput(ctx, path)
	if err != nil {
		return err
	}
	records, err := labels.OpenTags(path)
	if err != nil {
		return err
	}
	s := &shards.ScrapeOrigin{Tags: in, Records: len(records), Sources: map[string]int{}}
	for i := range records {
		if from := records[i].Source; from != "" {
			s.Sources[from]++
		}
	}
	t.made.Scrape = s
	return nil
}

// hasHash reports whether a file is there, with this SHA-256.
func hasHash(ctx context.Context, path, want string) (bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !info.Mode().IsRegular() {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	sum, _, err := filehash.SHA256(ctx, path)
	return sum == want, err
}
