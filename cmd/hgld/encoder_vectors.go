package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"hgld/cluster"
	"hgld/train/embeddings"
	"hgld/train/tensor"
)

// vectorFiles reads vectors that another program computed: a table of texts and
// vectors. In a Parquet file the texts are a column. For an array in .npy or
// .safetensors they are in a companion file with the same name and the ending .json (an
// array of strings, or an object with one as "texts") or .txt (one text per line).
var vectorFiles = fileEncoder{name: "vectors", files: "a file of vectors",
	open: func(s *embedSettings, _ opener) (cluster.Encoder, error) { return openImported(s) }}

// vectorSettings say where in the files texts and vectors are.
type vectorSettings struct {
	Texts        string `yaml:"texts" path:"in"`
	Tensor       string `yaml:"tensor"`
	TextColumn   string `yaml:"text_column"`
	VectorColumn string `yaml:"vector_column"`
}

// importedVectors is a table of vectors by text.
type importedVectors struct {
	path, sum string
	rows      map[string]int
	x         cluster.Matrix
}

func openImported(s *embedSettings) (cluster.Encoder, error) {
	v := &importedVectors{path: s.Weights, rows: map[string]int{}}
	if err := refusePickle(v.path); err != nil {
		return nil, err
	}
	var texts []string
	var err error
	switch strings.ToLower(filepath.Ext(v.path)) {
	case ".npy", ".safetensors":
		v.x, err = readVectors(v.path, s.Vectors.Tensor)
	case ".parquet":
		texts, v.x, err = readTextVectors(v.path, s.Vectors)
	default:
		err = withCode(exitUsage, fmt.Errorf("%s: vectors are read from .npy, .safetensors and .parquet", v.path))
	}
	if err != nil {
		return nil, err
	}
	list := v.path
	if texts == nil {
		if list, texts, err = companionTexts(v.path, s.Vectors.Texts); err != nil {
			return nil, err
		}
	}
	if len(texts) != v.x.Rows {
		return nil, withHint(fmt.Errorf("%s has %s, and %s has %s", list, count(len(texts), "text"), v.path,
			count(v.x.Rows, "vector")),
			"the list must have a text for each vector, in order; -o vectors.texts=FILE names another list")
	}
	if v.sum, err = sha256File(v.path); err != nil {
		return nil, err
	}
	return v, v.index(texts, list)
}

// index checks the vectors and indexes them by text. A text may be repeated with the
// same vector.
func (v *importedVectors) index(texts []string, list string) error {
	for i, t := range texts {
		for at, a := range v.x.Row(i) {
			if math.IsNaN(float64(a)) || math.IsInf(float64(a), 0) {
				return withCode(exitIntegrity, fmt.Errorf("%s: row %d has %v at %d; every value must be finite", v.path, i, a, at))
			}
		}
		first, twice := v.rows[t]
		if twice && !slices.Equal(v.x.Row(first), v.x.Row(i)) {
			return withCode(exitIntegrity, fmt.Errorf("%s: %.80q is in rows %d and %d, with different vectors", list, t, first,
				i))
		}
		if !twice {
			v.rows[t] = i
		}
	}
	return nil
}

// Name names the file and its SHA-256.
func (v *importedVectors) Name() string {
	return fmt.Sprintf("vectors(%s,sha256=%s)", filepath.Base(v.path), v.sum)
}

// Encode looks the texts up. A text that the file does not have is an error.
func (v *importedVectors) Encode(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	var missing []string
	for i, t := range texts {
		row, found := v.rows[t]
		if !found {
			missing = append(missing, t)
			continue
		}
		out[i] = v.x.Row(row)
	}
	if len(missing) > 0 {
		return nil, withHint(fmt.Errorf("%s has no vector for %d of %d texts, the first of them %.80q", v.path, len(missing),
			len(texts), missing[:min(3, len(missing))]),
			"hgld embed --print-texts lists what to encode; --prompt sets the sentence around a tag")
	}
	return out, nil
}

// readTextVectors reads a Parquet file. The settings name its columns where their types
// do not tell them.
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

// readVectors reads an array of rows; from a file with several tensors, the named one.
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

// companionTexts reads the list of texts of an array: the given file, or its companion.
func companionTexts(path, given string) (list string, texts []string, err error) {
	stem := strings.TrimSuffix(path, filepath.Ext(path))
	tries := []string{stem + ".json", stem + ".txt"}
	if given != "" {
		tries = []string{given}
	}
	for _, list = range tries {
		data, err := os.ReadFile(list)
		if errors.Is(err, fs.ErrNotExist) && given == "" {
			continue
		}
		if err != nil {
			return list, nil, err
		}
		texts, err = parseTexts(data, strings.EqualFold(filepath.Ext(list), ".json"))
		if err != nil {
			return list, nil, fmt.Errorf("%s: %w", list, err)
		}
		return list, texts, nil
	}
	return "", nil, withHint(usagef("%s: the texts of its rows are missing: there is neither %s nor %s", path, tries[0],
		tries[1]),
		"-o vectors.texts=FILE names the list; hgld embed --print-texts writes one for the other program to read")
}

// parseTexts reads a list of texts.
func parseTexts(data []byte, isJSON bool) ([]string, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("is not UTF-8")
	}
	if !isJSON {
		text := strings.TrimSuffix(string(data), "\n")
		if text == "" {
			return []string{}, nil
		}
		return strings.Split(text, "\n"), nil
	}
	texts := []string{}
	if err := json.Unmarshal(data, &texts); err == nil {
		return texts, nil
	}
	var object struct {
		Texts []string `json:"texts"`
	}
	if err := json.Unmarshal(data, &object); err != nil || object.Texts == nil {
		return nil, fmt.Errorf(`want an array of strings, or an object with one as "texts"`)
	}
	return object.Texts, nil
}
