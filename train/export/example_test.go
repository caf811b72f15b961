package export_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"hgld/internal/tensorfile"
	"hgld/train"
	"hgld/train/export"
)

// The extension selects the content: the weights of a network, or embeddings with a table of their
// images. In a program, train.Model.Weights returns the weights, and export.Embed the embeddings.
func ExampleFiles() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	weights := func() ([]tensorfile.Tensor, error) {
		return []tensorfile.Tensor{tensorfile.NewF32("projection.weight", []int{1, 2}, []float32{0.5, -1})}, nil
	}
	embed := func() (*export.Embeddings, error) {
		return &export.Embeddings{Vectors: tensorfile.NewF32("embeddings", []int{2, 2}, []float32{1, 0, 0, 1}),
			IDs: []string{"a", "b"}, Levels: []string{"class"}, Classes: [][]string{{"church"}, {"lake"}}}, nil
	}
	files := export.NewFiles(train.Default(), false, weights, embed)
	for _, name := range []string{"net.safetensors", "photos.npy"} {
		written, err := files.Write(filepath.Join(folder, name))
		if err != nil {
			log.Fatal(err)
		}
		for _, path := range written {
			fmt.Println("wrote", filepath.Base(path))
		}
	}
	tensors, _, err := tensorfile.ReadAll(filepath.Join(folder, "net.safetensors"))
	if err != nil {
		log.Fatal(err)
	}
	values, err := tensors[0].Float32()
	fmt.Println(tensors[0].Name, tensors[0].Shape, values, err)
	// Output:
	// wrote net.safetensors
	// wrote photos.npy
	// wrote photos.csv
	// projection.weight [1 2] [0.5 -1] <nil>
}
