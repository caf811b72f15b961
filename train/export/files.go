package export

import (
	"fmt"
	"io"
	"path/filepath"

	"hgld/internal/atomicfile"
	"hgld/internal/registry"
	"hgld/internal/tensorfile"
	"hgld/train/config"
)

// Network is what is written.
type Network struct {
	Config   config.Config       // the network, and how its images are prepared
	Backbone bool                // .safetensors holds only the backbone
	Weights  []tensorfile.Tensor // evaluation.Model.Weights
}

// kinds maps an extension to the function that writes such a file.
var kinds = registry.Table[func(x *Network, w io.Writer) error]{
	{Name: ".onnx", Value: func(x *Network, w io.Writer) error { return ONNX(w, x.Config, x.Weights) }},
	{Name: ".safetensors", Value: (*Network).safetensors},
}

// Extensions returns the extensions of the files that can be written.
func Extensions() []string { return kinds.Names() }

// CheckFile returns an error for a file that [Network.Write] cannot write.
func CheckFile(path string) error {
	if _, err := kinds.Get("kind of file", filepath.Ext(path)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Write writes the file at path, in the format of its extension, which [CheckFile] accepts.
func (x *Network) Write(path string) error {
	write, err := kinds.Get("kind of file", filepath.Ext(path))
	if err != nil {
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error { return write(x, w) })
}

func (x *Network) safetensors(w io.Writer) error {
	tensors := x.Weights
	if x.Backbone {
		var err error
		if tensors, err = Backbone(x.Config, tensors); err != nil {
			return err
		}
	}
	metadata, err := facts(x.Config)
	if err != nil {
		return err
	}
	metadata["format"], metadata["hgld_export"] = "pt", "network" // loaders of such files check for the format
	return tensorfile.WriteSafetensors(w, tensors, metadata)
}
