package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"hgld/cluster"
	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/internal/tensorfile"
	"hgld/train/device"
	textenc "hgld/train/text"
)

// encoders is the table of tag encoders. The first needs no files; openEncoder opens the
// others with the user's files.
var encoders = registry.Table[cluster.Encoder]{
	{Name: "hashing", About: "character n-grams: compares spelling, not meaning; needs no weights",
		Value: hashing},
	{Name: "clip", About: "text towers of CLIP, from OpenAI or open_clip", Value: clipFiles},
	{Name: "bert", About: "sentence-transformers of the BERT family, such as all-MiniLM-L6-v2", Value: bertFiles},
	{Name: "vectors", About: "vectors that another program made: .npy, .safetensors or .parquet", Value: vectorFiles},
}

// fileEncoder is the table entry of an encoder that reads weights. open reads the files
// named in the settings and returns the encoder itself.
type fileEncoder struct {
	name   string
	files  string // what --weights must name
	prompt string // the best prompt measured (docs/benchmarks.md); "" for the tag alone
	open   func(s *embedSettings, on opener) (cluster.Encoder, error)
	known  []textenc.Published
}

// Name returns the name of the encoder.
func (f fileEncoder) Name() string { return f.name }

// Encode always fails: a table entry has no weights.
func (f fileEncoder) Encode(context.Context, []string) ([][]float32, error) { return nil, f.missing() }

// missing returns the error for an encoder whose weights were not named.
func (f fileEncoder) missing() error {
	return withHint(withCode(exitUsage, fmt.Errorf("encoder %s needs %s, and none was named", f.name, f.files)),
		"hgld embed --encoder %s --weights PATH makes the vectors (hgld embed --list: where to get them); --encoder "+
			"hashing needs none", word(f.name))
}

// encoderNamed returns the entry of the table with this name.
func encoderNamed(name string) (cluster.Encoder, error) {
	e, err := encoders.Get("encoder", name)
	return e, withCode(exitUsage, err)
}

// adviseEncoder says what a better encoder would bring, unless the user has chosen one.
func adviseEncoder(j *job, s *embedSettings) {
	if s.Encoder != encoders[0].Name || !defaultEncoder(j.project) {
		return
	}
	j.log("%s compares spellings: in its drafts a curator moves 53 of 200 tags, in those of a sentence encoder 30. "+
		"For one:\n"+
		"  hf download sentence-transformers/all-MiniLM-L6-v2 --local-dir minilm\n"+
		"  hgld embed --encoder bert --weights minilm", s.Encoder)
}

// defaultEncoder reports whether nobody has named the encoder of embed.
func defaultEncoder(p *pipeline.Project) bool { return p.Origin("embed.encoder") == "default" }

// opener opens the device that an encoder computes on.
type opener func() (device.Backend, error)

// openEncoder makes the encoder that the settings name.
func openEncoder(s *embedSettings, on opener) (cluster.Encoder, error) {
	e, err := encoderNamed(s.Encoder)
	if err != nil {
		return nil, err
	}
	f, isFile := e.(fileEncoder)
	switch {
	case !isFile && s.Weights != "":
		return nil, withHint(usagef("encoder %s has no weights, but %s was named", s.Encoder, s.Weights),
			"only the encoders clip, bert and vectors read weights")
	case !isFile:
		return e, nil
	case s.Weights == "":
		return nil, f.missing()
	}
	e, err = f.open(s, on)
	var damaged *tensorfile.FormatError
	if errors.As(err, &damaged) {
		return nil, withHint(withCode(exitIntegrity, err), "the file is damaged: download it again")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, withHint(err, "hgld embed --list says which files %s needs", s.Encoder)
	}
	return e, err
}

// hashing is the encoder that needs no weights. Its vectors depend on the other tags,
// so they are not cached.
var hashing = cluster.Hashing{Dim: 512, MinN: 2, MaxN: 4, IDF: true}
