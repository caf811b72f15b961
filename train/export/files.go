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
	"hgld/train/input"
)

// kinds maps an extension to the function that writes such a file.
var kinds = registry.Table[func(x *Files, path string) (names []string, err error)]{
	{Name: ".onnx", Value: (*Files).onnx},
	{Name: ".safetensors", Value: (*Files).safetensors},
	{Name: ".npy", Value: (*Files).npy},
	{Name: ".parquet", Value: (*Files).parquet},
}

// Extensions returns the extensions of the files that can be written.
func Extensions() []string { return kinds.Names() }

// CheckFile returns an error for a file that [Files.Write] cannot write.
func CheckFile(path string) error {
	_, err := kindOf(path)
	return err
}

// kindOf returns the function that writes a file, chosen by its extension.
func kindOf(path string) (func(x *Files, path string) ([]string, error), error) {
	write, err := kinds.Get("kind of file", filepath.Ext(path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return write, nil
}

// Files writes a network, or its embeddings of some images, to files. The extension selects what:
// .onnx and .safetensors hold the network, .npy and .parquet the embeddings.
type Files struct {
	config   train.Config
	backbone bool
	weights  func() ([]tensorfile.Tensor, error)
	embed    func() (*Embeddings, error)
}

// NewFiles writes the network that c describes. weights and embed are called at most once, when a
// file first needs them. With backbone, a .safetensors file holds only the backbone.
func NewFiles(c train.Config, backbone bool, weights func() ([]tensorfile.Tensor, error),
	embed func() (*Embeddings, error)) *Files {
	return &Files{c, backbone, sync.OnceValues(weights), sync.OnceValues(embed)}
}

// Write writes the file at path and returns the names of the files written. A .npy file of
// vectors comes with a .csv of ids and classes.
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
	metadata, err := facts(x.config)
	if err != nil {
		return nil, err
	}
	metadata["format"], metadata["hgld_export"] = "pt", "network" // loaders of such files check for the format
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

// Embed computes the embeddings of images with a network. progress receives the number of images
// done.
func Embed(ctx context.Context, m *train.Model, images input.Dataset,
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
