package export

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"hgld/internal/atomicfile"
	"hgld/internal/registry"
	"hgld/internal/tensorfile"
	"hgld/train"
)

// kinds holds the function that writes a file of each extension.
var kinds = registry.Table[func(x *Files, path string) (names []string, err error)]{
	{Name: ".onnx", Value: (*Files).onnx},
	{Name: ".safetensors", Value: (*Files).safetensors},
	{Name: ".npy", Value: (*Files).npy},
	{Name: ".parquet", Value: (*Files).parquet},
}

// Extensions returns the endings of the files that can be written.
func Extensions() []string { return kinds.Names() }

// CheckFile returns an error for a file that [Files.Write] cannot write.
func CheckFile(path string) error {
	_, err := kindOf(path)
	return err
}

// kindOf returns the function that writes a file, by its extension.
func kindOf(path string) (func(x *Files, path string) ([]string, error), error) {
	write, err := kinds.Get("kind of file", filepath.Ext(path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return write, nil
}

// Files writes a network, or its embeddings of some images, to files. The extension of a file
// says what it holds: .onnx and .safetensors the network, .npy and .parquet the embeddings.
type Files struct {
	config   train.Config
	backbone bool
	weights  func() ([]tensorfile.Tensor, error)
	embed    func() (*Embeddings, error)
}

// NewFiles writes the network that c describes. weights and embed are called when a file first
// needs them, and at most once. With backbone, .safetensors holds the backbone alone.
func NewFiles(c train.Config, backbone bool, weights func() ([]tensorfile.Tensor, error),
	embed func() (*Embeddings, error)) *Files {
	return &Files{c, backbone, sync.OnceValues(weights), sync.OnceValues(embed)}
}

// Write writes the file at path. It returns the names of what it writes, which are two for .npy:
// the vectors and, beside them, a .csv of ids and classes.
func (x *Files) Write(path string) (names []string, err error) {
	write, err := kindOf(path)
	if err != nil {
		return nil, err
	}
	return write(x, path)
}

func (x *Files) onnx(path string) ([]string, error) {
	tensors, err := x.weights()
	if err != nil {
		return nil, err
	}
	return []string{path}, atomicfile.Write(path, func(w io.Writer) error { return ONNX(w, x.config, tensors) })
}

func (x *Files) safetensors(path string) ([]string, error) {
	tensors, err := x.weights()
	if err == nil && x.backbone {
		tensors, err = Backbone(x.config, tensors)
	}
	if err != nil {
		return nil, err
	}
	metadata := map[string]string{"format": "pt"} // what loaders of such files look for
	return []string{path}, atomicfile.Write(path, func(w io.Writer) error {
		return tensorfile.WriteSafetensors(w, tensors, metadata)
	})
}

func (x *Files) npy(path string) ([]string, error) {
	e, err := x.embed()
	if err != nil {
		return nil, err
	}
	if err := atomicfile.Write(path, func(w io.Writer) error { return tensorfile.WriteNPY(w, e.Vectors) }); err != nil {
		return nil, err
	}
	table := strings.TrimSuffix(path, ".npy") + ".csv"
	return []string{path, table}, atomicfile.Write(table, e.Labels)
}

func (x *Files) parquet(path string) ([]string, error) {
	e, err := x.embed()
	if err != nil {
		return nil, err
	}
	return []string{path}, atomicfile.Write(path, e.Parquet)
}

// Embed computes the embeddings of images by a network. progress is told how many are done.
func Embed(ctx context.Context, m *train.Model, images train.Dataset,
	progress func(done, total int)) (*Embeddings, error) {
	vectors, err := m.Embed(ctx, images, progress)
	if err != nil {
		return nil, err
	}
	e := &Embeddings{Vectors: vectors, Levels: images.Levels()}
	for i := range images.Len() {
		e.IDs = append(e.IDs, images.ID(i))
		names := make([]string, len(e.Levels))
		for level, class := range images.Labels(i) {
			if class >= 0 {
				names[level] = images.Classes(level)[class]
			}
		}
		e.Classes = append(e.Classes, names)
	}
	return e, nil
}
