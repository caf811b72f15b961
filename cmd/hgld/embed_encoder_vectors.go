package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"hgld/cluster"
	"hgld/internal/torchfile"
	"hgld/train/embeddings"
	"hgld/train/tensor"
	textenc "hgld/train/text"
)

// vectorFiles reads texts and vectors that another program computed. In a Parquet file
// the texts are a column. For an array in .npy or .safetensors they are in a companion
// file of the same name that ends in .json (an array of strings, or an object with one as
// "texts") or .txt (one text per line).
var vectorFiles = fileEncoder{name: "vectors", files: "a file of vectors",
	open: func(s *embedSettings, _ opener) (cluster.Encoder, error) { return openImported(s) }}

// vectorSettings names the columns or tensors that hold texts and vectors.
type vectorSettings struct {
	Texts        string `yaml:"texts" path:"in"`
	Tensor       string `yaml:"tensor"`
	TextColumn   string `yaml:"text_column"`
	VectorColumn string `yaml:"vector_column"`
}

// openImported reads the file of vectors named in the settings.
func openImported(s *embedSettings) (cluster.Encoder, error) {
	path := s.Weights
	if torchfile.Named(path) {
		return nil, &textenc.PickleError{Path: path}
	}
	var x cluster.Matrix
	var texts []string
	if err := verifyVectors(context.Background())(path); err != nil {
		return nil, err
	}
	var err error
	list := path
	switch strings.ToLower(filepath.Ext(path)) {
	case ".npy", ".safetensors":
		if x, err = readVectors(path, s.Vectors.Tensor); err == nil {
			list, texts, err = embeddings.ReadTexts(path, s.Vectors.Texts)
		}
	case ".parquet":
		texts, x, err = readTextVectors(path, s.Vectors)
	default:
		err = usagef("%s: want a file of vectors in .npy, .safetensors or .parquet", path)
	}
	if errors.As(err, new(*embeddings.NoTextsError)) {
		return nil, withHint(withCode(exitUsage, err),
			"-o vectors.texts=FILE names the list; hgld embed --print-texts writes one for the other program to read")
	}
	if err != nil {
		return nil, err
	}
	if len(texts) != x.Rows {
		return nil, withHint(fmt.Errorf("%s has %s, and %s has %s", list, count(len(texts), "text"), path,
			count(x.Rows, "vector")),
			"the list must have one text per vector, in the same order; -o vectors.texts=FILE names another list")
	}
	sum, err := sha256File(path)
	if err != nil {
		return nil, err
	}
	l, err := cluster.NewLookup(path, sum, x, list, texts)
	if err != nil {
		return nil, withCode(exitIntegrity, err)
	}
	return l, nil
}

// readTextVectors reads a Parquet file. It finds the columns by type, or by the settings.
func readTextVectors(path string, s vectorSettings) ([]string, cluster.Matrix, error) {
	v, err := embeddings.ReadTextVectors(path, s.TextColumn, s.VectorColumn)
	var column *embeddings.ColumnError
	switch {
	case errors.As(err, &column):
		setting := "vector_column"
		if column.Of == embeddings.OfTexts {
			setting = "text_column"
		}
		return nil, cluster.Matrix{}, usagef("%w; -o vectors.%s=NAME chooses it", err, setting)
	case errors.As(err, new(*fs.PathError)):
		return nil, cluster.Matrix{}, err
	case err != nil:
		return nil, cluster.Matrix{}, withCode(exitIntegrity, err)
	}
	return v.Texts, cluster.Matrix{Rows: len(v.Texts), Cols: v.Cols, Data: v.Values}, nil
}

// readVectors reads a two-dimensional array. From a file with several tensors it reads
// the one named in the settings.
func readVectors(path, name string) (cluster.Matrix, error) {
	t, err := tensor.Read(path, name)
	if err != nil {
		return cluster.Matrix{}, withHint(err, "-o vectors.tensor=NAME chooses one of several tensors")
	}
	if len(t.Dims) != 2 {
		return cluster.Matrix{}, fmt.Errorf("%s has the shape %v, want [texts, values]", path, t.Dims)
	}
	return cluster.Matrix{Rows: t.Dims[0], Cols: t.Dims[1], Data: t.Data}, nil
}
