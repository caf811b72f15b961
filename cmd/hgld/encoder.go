package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"hgld/cluster"
	"hgld/internal/registry"
	"hgld/internal/tensorfile"
	"hgld/train/device"
	textenc "hgld/train/text"
)

// encoders is the table of encoders of tags. The first needs no files; openEncoder makes the
// others from the user's files.
var encoders = registry.Table[cluster.Encoder]{
	{Name: "hashing", About: "character n-grams: likeness of letters, nothing of meaning; needs no weights",
		Value: hashing},
	{Name: "clip", About: "text towers of CLIP, OpenAI's and open_clip's", Value: clipFiles},
	{Name: "bert", About: "sentence-transformers of the BERT family, such as all-MiniLM-L6-v2", Value: bertFiles},
	{Name: "vectors", About: "vectors that another program made: .npy, .safetensors or .parquet", Value: vectorFiles},
}

// fileEncoder is an encoder that has no vectors until open has read the files that the
// settings name.
type fileEncoder struct {
	name   string
	files  string // what --weights must name
	prompt string // the best prompt measured (docs/clustering.md); "" for the tag alone
	open   func(s *embedSettings, on opener) (cluster.Encoder, error)
	known  []textenc.Published
}

// Name returns the name of the row.
func (f fileEncoder) Name() string { return f.name }

// Encode returns the error of missing files: a row of the table has no weights.
func (f fileEncoder) Encode(context.Context, []string) ([][]float32, error) { return nil, f.missing() }

// missing returns the error of an encoder whose files were not named.
func (f fileEncoder) missing() error {
	return withHint(withCode(exitUsage, fmt.Errorf("encoder %s needs %s, and none is named", f.name, f.files)),
		"hgld embed --encoder %s --weights PATH makes the vectors (hgld embed --list: where to get them); --encoder "+
			"hashing needs none", f.name)
}

// opener opens the device that an encoder computes on. threads is the number of threads
// on a processor.
type opener func(threads int) (device.Backend, error)

// openEncoder makes the encoder that the settings name.
func openEncoder(s *embedSettings, on opener) (cluster.Encoder, error) {
	if s.Encoder == "" {
		return nil, withHint(usagef("no encoder is named, and there are no vectors yet"),
			"hgld embed --encoder bert --weights PATH encodes the meaning (hgld embed --list: where to get weights); "+
				"--encoder hashing needs none and compares spellings")
	}
	e, err := encoders.Get("encoder", s.Encoder)
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	f, isFile := e.(fileEncoder)
	switch {
	case !isFile && s.Weights != "":
		return nil, withHint(usagef("encoder %s has no weights, but %s was named", s.Encoder, s.Weights),
			"--encoder clip, bert or vectors reads them")
	case !isFile:
		return e, nil
	case s.Weights == "":
		return nil, f.missing()
	}
	e, err = f.open(s, on)
	var damaged *tensorfile.FormatError
	if errors.As(err, &damaged) {
		return nil, withHint(withCode(exitIntegrity, err), "get the file again")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, withHint(err, "hgld embed --list says which files %s needs", s.Encoder)
	}
	return e, err
}
