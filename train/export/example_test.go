package export_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"hgld/internal/tensorfile"
	"hgld/train/config"
	"hgld/train/export"
)

// The extension selects the format. In a program, evaluation.Model.Weights returns the weights.
func ExampleNetwork() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	network := export.Network{Config: config.Default(),
		Weights: []tensorfile.Tensor{tensorfile.NewF32("projection.weight", []int{1, 2}, []float32{0.5, -1})}}
	if err := network.Write(filepath.Join(folder, "net.safetensors")); err != nil {
		log.Fatal(err)
	}
	tensors, _, err := tensorfile.ReadAll(filepath.Join(folder, "net.safetensors"))
	if err != nil {
		log.Fatal(err)
	}
	values, err := tensors[0].Float32()
	fmt.Println(tensors[0].Name, tensors[0].Shape, values, err)
	// Output:
	// projection.weight [1 2] [0.5 -1] <nil>
}
