package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"hgld/internal/pipeline"
	"hgld/shards"
	"hgld/shards/dataset"
)

// trail follows the labels of a data set back through the stages, for BUILD.json.
// Every step is taken by a record that names the file before it by its hash: the
// stamp of `hgld labels build`, the origin in hierarchy.json, the origin in
// draft.json. Where a file is gone or was changed since, the trail ends, and says so.
type trail struct {
	ctx     context.Context
	project *project
	made    shards.Provenance
}

// sourceSettings are the settings of the importer as BUILD.json has them: files
// without their folders, so that a data set does not depend on where it was built.
type sourceSettings struct {
	Dataset      string           `json:"dataset"`
	Input        string           `json:"input"`
	Images       string           `json:"images,omitempty"`
	Labels       string           `json:"labels,omitempty"`
	Hierarchy    string           `json:"hierarchy,omitempty"`
	Levels       []string         `json:"levels,omitempty"`
	Split        string           `json:"split,omitempty"`
	Labelled     bool             `json:"labelled,omitempty"`
	Unattributed bool             `json:"allow_unattributed,omitempty"`
	Columns      *dataset.Columns `json:"columns,omitempty"`
}

// provenance finds out what BUILD.json is to say beside settings and inputs.
func (s *shardsSettings) provenance(j *job) (shards.Provenance, error) {
	source := sourceSettings{Dataset: s.Dataset, Levels: s.Levels, Split: s.Split, Labelled: s.Labelled, Unattributed: s.Unattributed}
	if s.Columns != (dataset.Columns{}) {
		source.Columns = &s.Columns
	}
	for to, path := range map[*string]string{&source.Input: s.Input, &source.Images: s.Images, &source.Labels: s.Labels, &source.Hierarchy: s.Hierarchy} {
		if path == "" {
			continue
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return shards.Provenance{}, err
		}
		*to = filepath.Base(abs)
	}
	t := &trail{ctx: j.ctx, project: j.project, made: shards.Provenance{Source: source}}
	if s.Hierarchy != "" {
		in, err := dataset.FileInput(t.ctx, s.Hierarchy)
		if err != nil {
			return t.made, err
		}
		t.made.Hierarchy = &in
		if err := t.hierarchy(s.Hierarchy); err != nil {
			return t.made, err
		}
	}
	if s.Labels != "" {
		if err := t.labels(s.Labels); err != nil {
			return t.made, err
		}
	}
	return t.made, nil
}

// changed says of a file that a stage wrote that it was changed on purpose since.
func (t *trail) changed(path string) error {
	if t.project.File == "" {
		return nil
	}
	for _, s := range sections() {
		was, err := s.Stamp(t.project)
		if isMissing(err) || errors.Is(err, pipeline.ErrOtherStamp) {
			continue
		}
		if err != nil {
			return err
		}
		if was.Changed[t.project.Inside(path)] != "" {
			t.ends(path, "changed by hand since `hgld %s` wrote it", s.Command)
		}
	}
	return nil
}

// ends says where the trail ends.
func (t *trail) ends(path, format string, args ...any) {
	t.made.Unknown = append(t.made.Unknown, filepath.Base(path)+": "+fmt.Sprintf(format, args...))
}

// labels follows a label file, if it is as the project's stage 3 left it.
func (t *trail) labels(path string) error {
	p := t.project
	if p.File == "" {
		t.ends(path, "no project is here whose stages recorded it")
		return nil
	}
	if err := t.changed(path); err != nil {
		return err
	}
	was, err := labelsStage().Stamp(p)
	if isMissing(err) || errors.Is(err, pipeline.ErrOtherStamp) {
		t.ends(path, "no record of `hgld labels build` is here")
		return nil
	}
	if err != nil {
		return err
	}
	now, err := fingerprint([]string{path})
	if err != nil {
		return err
	}
	if was.Out[p.Inside(path)] != now[path] {
		t.ends(path, "not as `hgld labels build` left it")
		return nil
	}
	s := labelsStage().Defaults()
	if err := yaml.Unmarshal([]byte(was.Settings), s); err != nil {
		return err
	}
	t.made.Labels = &shards.LabelsOrigin{Tool: "hgld " + was.Tool, Limit: was.Limit, Inputs: []shards.Input{}}
	for _, step := range []struct {
		file   string
		follow func(string) error
	}{{s.Tags, t.scrape}, {s.Hierarchy, t.hierarchy}} {
		file := p.Join(filepath.FromSlash(step.file))
		now, err := fingerprint([]string{file})
		if err != nil {
			return err
		}
		if was.In[step.file] == "" || was.In[step.file] != now[file] {
			t.ends(file, "changed since %s was made of it", filepath.Base(path))
			continue
		}
		in, err := dataset.FileInput(t.ctx, file)
		if err != nil {
			return err
		}
		t.made.Labels.Inputs = append(t.made.Labels.Inputs, in)
		if err := step.follow(file); err != nil {
			return err
		}
	}
	return nil
}

// hierarchy follows a hierarchy.json by its origin to the draft, which lies beside it
// or where the project has it.
func (t *trail) hierarchy(path string) error {
	h, err := readHierarchy(path)
	if err != nil {
		return err
	}
	if err := t.changed(path); err != nil {
		return err
	}
	var of struct {
		Draft  string `json:"draft"`
		SHA256 string `json:"draft_sha256"`
	}
	if len(h.Origin) == 0 || json.Unmarshal(h.Origin, &of) != nil || of.SHA256 == "" {
		t.ends(path, "does not say of which draft it was made")
		return nil
	}
	t.made.Curation = h.Origin
	curate, err := curateStage().Load(t.project, nil)
	if err != nil {
		return err
	}
	for _, file := range []string{filepath.Join(filepath.Dir(path), filepath.Base(of.Draft)), curate.Draft} {
		same, err := hasHash(file, of.SHA256)
		if err != nil {
			return err
		}
		if same {
			return t.draft(file)
		}
	}
	t.ends(of.Draft, "not found as %s was made of it", filepath.Base(path))
	return nil
}

// draft follows a draft to its tags, unless the labels have led there.
func (t *trail) draft(path string) error {
	d, err := readDraft(path)
	if err != nil {
		return err
	}
	if err := t.changed(path); err != nil {
		return err
	}
	origin := d.Origin
	origin.Weights = cmp.Or(origin.Weights, weightsHash(origin.Encoder)) // drafts of earlier versions have the name alone
	t.made.Clusters = &origin
	if t.made.Scrape != nil {
		return nil
	}
	if origin.Input == "" || origin.InputSHA256 == "" { // as of a draft made of a sheet
		t.ends(path, "does not say of which tags it was made")
		return nil
	}
	tags := filepath.Join(filepath.Dir(path), filepath.Base(origin.Input))
	same, err := hasHash(tags, origin.InputSHA256)
	if err != nil {
		return err
	}
	if !same {
		t.ends(origin.Input, "not found as %s was made of it", filepath.Base(path))
		return nil
	}
	return t.scrape(tags)
}

// scrape says when the tags were fetched, and from where.
func (t *trail) scrape(path string) error {
	if err := t.changed(path); err != nil {
		return err
	}
	in, err := dataset.FileInput(t.ctx, path)
	if err != nil {
		return err
	}
	records, err := readTags(path)
	if err != nil {
		return err
	}
	s := &shards.ScrapeOrigin{Tags: in, Records: len(records), Sources: map[string]int{}}
	for i := range records {
		r := &records[i]
		if r.Source != "" {
			s.Sources[r.Source]++
		}
		if r.Fetched.IsZero() {
			continue
		}
		at := r.Fetched.UTC()
		if s.First.IsZero() || at.Before(s.First) {
			s.First = at
		}
		if at.After(s.Last) {
			s.Last = at
		}
	}
	t.made.Scrape = s
	return nil
}

// hasHash reports whether a file is there, with this sha256.
func hasHash(path, want string) (bool, error) {
	info, err := os.Stat(path)
	if isMissing(err) || err == nil && !info.Mode().IsRegular() {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	sum, err := sha256File(path)
	return sum == want, err
}
