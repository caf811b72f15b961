package shards

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"slices"

	"hgld/labels"
)

// publish publishes the data set. It first writes the companion files under temporary
// names. It then removes the manifest of an earlier build, unless it equals the new
// one, renames the waiting shards, and writes the new manifest last. A folder with a
// manifest therefore always has the files that the manifest lists.
func (b *builder) publish(ctx context.Context, inputs func() ([]Input, error)) (r *Result, err error) {
	var failures []Failure
	for _, m := range b.made {
		failures = append(failures, m.failures...)
	}
	was, err := readFinished(b.dir)
	if err != nil {
		return nil, err
	}
	if err := b.checkPublish(failures, was); err != nil {
		return nil, err
	}
	to := &companionWriter{dir: b.dir}
	defer func() { err = errors.Join(err, to.close()) }()
	if r, err = b.describe(ctx, inputs, to); err != nil {
		return nil, err
	}
	text, err := r.Manifest.encode()
	if err != nil {
		return nil, err
	}
	intact := func(name string, want []byte) bool {
		was, err := b.dir.read(name, maxManifest)
		return err == nil && bytes.Equal(was, want)
	}
	if !intact(ManifestFile, text) || !intact(SumsFile, r.Manifest.sums(text)) {
		if err := b.dir.remove(ManifestFile, SumsFile); err != nil {
			return nil, err
		}
		// Without the sync, a power cut could bring them back after the new shards have
		// their names.
		if err := b.dir.sync(""); err != nil {
			return nil, err
		}
	}
	if err := b.renameWaiting(); err != nil {
		return nil, err
	}
	if err := to.commit(); err != nil {
		return nil, err
	}
	if err := b.removeStale(r.Manifest); err != nil {
		return nil, err
	}
	if err := r.Manifest.write(b.dir, b.dir.writeNew); err != nil {
		return nil, err
	}
	return r, errors.Join(b.dir.removeFolder(nextFolder), // shards of a build that was given up
		b.dir.removeFolder(partsFolder))
}

// describe makes the manifest and the companion files.
func (b *builder) describe(ctx context.Context, from func() ([]Input, error), to *companionWriter) (*Result, error) {
	inputs, err := from()
	if err != nil {
		return nil, err
	}
	r := &Result{Notes: b.plan.notes, Manifest: &Manifest{Version: FormatVersion, Tool: b.o.Tool, Settings: b.o.Settings,
		Inputs: inputs, Landmarks: b.plan.schema.Landmarks, Levels: b.levels()}}
	there := withList(b.dir, nil)
	set := &Set{dir: there, manifest: r.Manifest, classes: b.plan.schema.Classes}
	for i := range b.made {
		m := &b.made[i]
		r.Manifest.Files = append(r.Manifest.Files, m.file)
		set.shards = append(set.shards, m.shard(there))
		r.Failures = append(r.Failures, m.failures...)
		if m.kept {
			r.Kept++
		}
	}
	failures, err := encodeFailures(r.Failures)
	if err != nil {
		return nil, err
	}
	if err := to.put(FailuresFile, failures); err != nil {
		return nil, err
	}
	tree, err := to.create(HierarchyFile)
	if err != nil {
		return nil, err
	}
	if err := labels.WriteHierarchy(tree, set.classes); err != nil {
		return nil, err
	}
	stats, err := set.describe(ctx, to, r.Failures)
	if err != nil {
		return nil, err
	}
	r.Notes = append(slices.Clip(r.Notes), stats.notes()...)
	record, err := encodeJSON(buildRecord{buildVersion, b.o.Tool, b.o.Settings, inputs, b.heif(), b.o.Made})
	if err != nil {
		return nil, err
	}
	if err := to.put(BuildFile, record); err != nil {
		return nil, err
	}
	if err := set.writeTaxonomy(to, b.o.Taxonomy); err != nil {
		return nil, err
	}
	r.Manifest.Failures = Sum{len(r.Failures), int64(len(failures)), sha256.Sum256(failures)}
	r.Manifest.Hierarchy = Sum{Bytes: tree.size, SHA256: tree.hash()}
	r.Manifest.Companions = to.companions()
	return r, nil
}

// heif returns what converted HEIC and AVIF images: the same in all shards, see reuseShard.
func (b *builder) heif() string {
	for _, m := range b.made {
		if m.heif != "" {
			return m.heif
		}
	}
	return ""
}

// levels counts the images of every class.
func (b *builder) levels() []Level {
	var levels []Level
	for l, from := range b.plan.schema.Classes.Levels {
		level := Level{Name: from.Name, Column: b.plan.schema.levelColumn(l), Classes: []string{},
			Rows: map[labels.Split][]int{}}
		for _, c := range from.Classes {
			level.Classes = append(level.Classes, c.Name)
		}
		for _, m := range b.made {
			counts := level.Rows[m.file.Split]
			if counts == nil {
				counts = make([]int, len(from.Classes))
				level.Rows[m.file.Split] = counts
			}
			for i := range m.index.rows() {
				if c := m.index.path(i)[l]; c >= 0 {
					counts[c]++
				}
			}
		}
		levels = append(levels, level)
	}
	return levels
}

// outline returns the manifest of a data set without files.
func (s *Schema) outline() *Manifest {
	m := &Manifest{Landmarks: s.Landmarks}
	for _, l := range s.Classes.Levels {
		level := Level{Name: l.Name}
		for _, c := range l.Classes {
			level.Classes = append(level.Classes, c.Name)
		}
		m.Levels = append(m.Levels, level)
	}
	return m
}

// removeStale removes shards and companion files of an earlier build that this build
// does not have, and makes sure that a power cut does not bring them back beside the new
// manifest.
func (b *builder) removeStale(m *Manifest) error {
	var stale []string
	for _, name := range companionFiles() {
		if m.companion(name) == nil {
			stale = append(stale, name)
		}
	}
	planned := map[string]bool{}
	for _, m := range b.made {
		planned[m.file.Name], planned[indexName(m.file.Name)] = true, true
	}
	names, err := b.dir.list("data")
	if err != nil {
		return err
	}
	for _, name := range names {
		if name = "data/" + name; shardNames().MatchString(name) && !planned[name] {
			stale = append(stale, name)
		}
	}
	if err := b.dir.remove(stale...); err != nil {
		return err
	}
	return errors.Join(b.dir.sync("data"), b.dir.sync(""))
}
