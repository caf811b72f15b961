package main

import (
	"errors"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"hgld/internal/pipeline"
	"hgld/shards"
	"hgld/shards/dataset"
	"hgld/shards/provenance"
)

// provenance returns the contents of BUILD.json, except settings and inputs.
func (s *shardsSettings) provenance(j *job) (shards.Provenance, error) {
	source, err := s.source()
	if err != nil {
		return shards.Provenance{}, err
	}
	t := provenance.New(projectRecords{j.project}, source)
	if s.Hierarchy != "" {
		if err := t.Hierarchy(j.ctx, s.Hierarchy); err != nil {
			return t.Provenance(), err
		}
	}
	if s.Labels != "" {
		if err := t.Labels(j.ctx, s.Labels); err != nil {
			return t.Provenance(), err
		}
	}
	return t.Provenance(), nil
}

// source returns the settings of the importer, as BUILD.json records them.
func (s *shardsSettings) source() (provenance.Settings, error) {
	source := provenance.Settings{Dataset: s.Dataset, Input: s.Input, Images: s.Images, Labels: s.Labels,
		Hierarchy: s.Hierarchy, Levels: s.Levels, Split: s.Split, SplitFolders: s.SplitFolders, NoClass: s.NoClass,
		Labelled: s.Labelled, Unattributed: s.Unattributed, Subset: s.Subset, Exclude: s.Exclude,
		Taxonomy: s.Taxonomy}
	if s.Uneven != shardsStage().Defaults().Uneven {
		source.Uneven = s.Uneven
	}
	if s.Columns != (dataset.Columns{}) {
		source.Columns = &s.Columns
	}
	return source, source.DropFolders()
}

// projectRecords implements provenance.Records with the stamps of a project.
type projectRecords struct{ project *pipeline.Project }

// Changed implements provenance.Records.
func (p projectRecords) Changed(path string) (string, error) { return p.project.Accepted(path) }

// Draft implements provenance.Records.
func (p projectRecords) Draft() (string, error) {
	curate, err := curateStage().Load(p.project, nil)
	if err != nil {
		return "", err
	}
	return curate.Draft, nil
}

// Labels implements provenance.Records.
func (p projectRecords) Labels(path string) (*provenance.LabelsRecord, string, error) {
	if p.project.File == "" {
		return nil, "no project here has a record of it", nil
	}
	was, err := labelsStage().Stamp(p.project)
	if pipeline.IsMissing(err) || errors.Is(err, pipeline.ErrOtherStamp) {
		return nil, "this project has no record of `hgld labels build`", nil
	}
	if err != nil {
		return nil, "", err
	}
	now, err := stages().Fingerprint([]string{path})
	if err != nil {
		return nil, "", err
	}
	if was.Out[p.project.Inside(path)] != now[path] {
		return nil, "it was changed after `hgld labels build` wrote it", nil
	}
	s := labelsStage().Defaults()
	if err := yaml.Unmarshal([]byte(was.Settings), s); err != nil {
		return nil, "", err
	}
	r := &provenance.LabelsRecord{Tool: "hgld " + was.Tool, Limit: was.Limit}
	for to, file := range map[*provenance.Source]string{&r.Tags: s.Tags, &r.Hierarchy: s.Hierarchy} {
		to.Path = p.project.Join(filepath.FromSlash(file))
		now, err := stages().Fingerprint([]string{to.Path})
		if err != nil {
			return nil, "", err
		}
		to.Same = was.In[file] != "" && was.In[file] == now[to.Path]
	}
	return r, "", nil
}
