package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"hgld/labels"
	"hgld/shards"
	"hgld/shards/dataset"
	"hgld/train"
	"hgld/train/vectors"
)

// retrievalData selects the images of a folder of shards to train on, and the queries
// and gallery of an evaluation. Classes may be held out of the training and evaluated
// among themselves: the validation. A split may be ranked against another: the test.
type retrievalData struct {
	Data        string   `yaml:"data" path:"in" usage:"folder of shards"`
	Splits      []string `yaml:"splits" usage:"splits to train on"`
	HoldOut     float64  `yaml:"hold_out" range:"0 1" usage:"share of their finest classes to hold out for validation"`
	HoldOutSeed uint64   `yaml:"hold_out_seed" usage:"which classes are held out"`
	Query       string   `yaml:"query" usage:"split of the test's queries"`
	Gallery     string   `yaml:"gallery" usage:"split to rank; empty: the queries themselves"`

	Embeddings string `yaml:"embeddings" path:"in" usage:"train a head on these vectors of another model (.npy, .safetensors, .parquet), not on images"`
	Labels     string `yaml:"labels" path:"in" usage:"labels of the vectors, as in eval"`

	Benchmarks []string `yaml:"benchmarks" path:"in" usage:"a test in parts, instead of query: folders of shards with one level each, whose split query ranks the split gallery"`
}

func defaultData() retrievalData {
	return retrievalData{Data: "shards", Splits: []string{string(labels.Train)}, HoldOutSeed: 1}
}

// String describes the selection for the record of a run.
func (r *retrievalData) String() string {
	s := fmt.Sprintf("%s, splits %s", r.Data, strings.Join(r.Splits, " and "))
	if r.Embeddings != "" {
		s = r.Embeddings
	}
	if r.HoldOut > 0 {
		s += fmt.Sprintf(", %v of the classes held out by seed %d", r.HoldOut, r.HoldOutSeed)
	}
	return s
}

// files are what is trained on: a folder of shards, or vectors and labels.
func (r *retrievalData) files() []string {
	if r.Embeddings != "" {
		return []string{r.Embeddings, r.Labels}
	}
	return []string{r.Data}
}

// openData is opened data with its files. Query holds the queries of the test or,
// without a test, those of the held-out classes.
type openData struct {
	train.Data
	set   *shards.Set
	parts []*shards.Set // of the benchmarks
}

func (d *openData) close() error {
	if d.set == nil {
		return nil
	}
	err := d.set.Close()
	for _, part := range d.parts {
		err = errors.Join(err, part.Close())
	}
	return err
}

// open opens the shards and selects the images.
func (r *retrievalData) open() (*openData, error) {
	if r.Embeddings != "" {
		return r.openVectors()
	}
	switch {
	case r.Gallery != "" && r.Query == "":
		return nil, usagef("gallery is %.80q, but no query split ranks it", r.Gallery)
	case len(r.Splits) == 0:
		return nil, usagef("splits is empty: name at least one, such as train")
	case len(r.Benchmarks) > 0 && r.Query != "":
		return nil, usagef("query is %.80q, and benchmarks is %s: name one of them as the test", r.Query,
			strings.Join(r.Benchmarks, ","))
	}
	set, err := openShards(r.Data)
	if err != nil {
		if instead := dataset.NotShards(r.Data); instead != nil {
			return nil, instead
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, withHint(err, "--data FOLDER names another folder of shards")
	}
	if err != nil {
		return nil, err
	}
	d := &openData{set: set}
	err = withCode(exitUsage, d.choose(r))
	if err == nil {
		err = d.openBenchmarks(r.Benchmarks)
	}
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// openVectors reads vectors of another model. There are no splits: a share of the classes may
// be held out.
func (r *retrievalData) openVectors() (*openData, error) {
	in := &vectors.Input{Embeddings: r.Embeddings, Labels: r.Labels, Open: openVectors, Say: func(string, ...any) {}}
	if r.Query != "" || len(r.Benchmarks) > 0 {
		return nil, withHint(usagef("query and benchmarks name images, and embeddings is %s", r.Embeddings),
			"--hold-out 0.2 keeps a fifth of the classes for validation")
	}
	all, err := vectors.ReadFrozen(in)
	if err != nil {
		return nil, asUsage(err)
	}
	d := &openData{Data: train.Data{Train: all}}
	return d, withCode(exitUsage, d.holdOut(r))
}

func openShards(folder string) (*shards.Set, error) {
	set, err := shards.Open(folder)
	if errors.As(err, new(*shards.DamageError)) {
		return nil, withHint(withCode(exitIntegrity, err), "hgld shards verify shows the extent of the damage")
	}
	return set, err
}

// openBenchmarks opens the parts of a test. Without a split gallery, the queries are
// ranked against each other.
func (d *openData) openBenchmarks(folders []string) error {
	for _, folder := range folders {
		set, err := openShards(folder)
		if err != nil {
			return err
		}
		d.parts = append(d.parts, set)
		query, err := set.Split(labels.Query)
		if err != nil {
			return withCode(exitUsage, err)
		}
		b := train.Benchmark{Query: shardSplit{query, set}}
		if gallery, err := set.Split(labels.Gallery); err == nil {
			b.Gallery = shardSplit{gallery, set}
		}
		d.Benchmarks = append(d.Benchmarks, b)
	}
	return nil
}

func (d *openData) choose(r *retrievalData) error {
	var parts []train.Dataset
	for _, name := range r.Splits {
		v, err := d.set.Split(labels.Split(name))
		if err != nil {
			return err
		}
		parts = append(parts, shardSplit{v, d.set})
	}
	d.Train = parts[0]
	if len(parts) > 1 {
		d.Train = train.Join(parts...)
	}
	if err := d.holdOut(r); err != nil {
		return err
	}
	gallery := r.Gallery
	if gallery == r.Query {
		gallery = "" // each query is then left out of its own ranking
	}
	for _, side := range []struct {
		split string
		set   *train.Dataset
	}{{r.Query, &d.Query}, {gallery, &d.Gallery}} {
		if side.split == "" {
			continue
		}
		v, err := d.set.Split(labels.Split(side.split))
		if err != nil {
			return err
		}
		*side.set = shardSplit{v, d.set}
	}
	return nil
}

// holdOut keeps classes for the validation, if it is asked to.
func (d *openData) holdOut(r *retrievalData) error {
	if r.HoldOut == 0 {
		return nil
	}
	rest, held, err := train.HoldOut(d.Train, r.HoldOut, r.HoldOutSeed)
	if err == nil {
		d.Train, d.Validation, d.Query = rest, held, held
	}
	return err
}

// shardSplit is a split with a fingerprint that covers the pixels: the hashes of its
// shards in the manifest.
type shardSplit struct {
	*shards.View
	set *shards.Set
}

// Fingerprint returns the hashes of the shards.
func (d shardSplit) Fingerprint() string {
	var s strings.Builder
	for _, f := range d.set.Manifest().Files {
		fmt.Fprintln(&s, f.Name, f.SHA256)
	}
	return s.String()
}
