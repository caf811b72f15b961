package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"hgld/cluster"
	"hgld/train/device"
	textenc "hgld/train/text"
)

// clipSettings describes CLIP weights where the files in their folder do not.
type clipSettings struct {
	Activation string `yaml:"activation"`
	Heads      int    `yaml:"heads" range:"0 1024"`
}

// clipFiles are text towers of CLIP, and bertFiles sentence encoders of sentence-transformers.
var (
	clipFiles = fileEncoder{name: "clip", files: "weights", prompt: "photo", open: openCLIP, known: textenc.PublishedCLIP}
	bertFiles = fileEncoder{name: "bert", files: "weights", prompt: "photo", open: openBERT, known: textenc.PublishedBERT}
)

// openWeights finds the files of an encoder and opens the device that it runs on.
func openWeights(s *embedSettings, on opener) (device.Backend, textenc.Files, error) {
	files, err := weightFiles(s.Weights)
	if err != nil {
		return nil, files, err
	}
	b, err := on(s.Threads)
	return b, files, err
}

func openBERT(s *embedSettings, on opener) (cluster.Encoder, error) {
	b, files, err := openWeights(s, on)
	if err != nil {
		return nil, err
	}
	return textenc.OpenBERT(b, files)
}

func openCLIP(s *embedSettings, on opener) (cluster.Encoder, error) {
	b, files, err := openWeights(s, on)
	if err != nil {
		return nil, err
	}
	e, err := textenc.OpenCLIP(b, files, textenc.CLIPOptions{Activation: s.CLIP.Activation, Heads: s.CLIP.Heads})
	if errors.Is(err, textenc.ErrActivation) {
		return nil, withHint(withCode(exitUsage, err), "set it: -o clip.activation=quick_gelu, or gelu")
	}
	return e, err
}

// weightFiles returns the files of weights at path, with their SHA-256.
func weightFiles(path string) (textenc.Files, error) {
	files, err := textenc.FindFiles(context.Background(), path)
	if pickle := (*textenc.PickleError)(nil); errors.As(err, &pickle) {
		return files, pickleHint(pickle)
	}
	if errors.As(err, new(*textenc.NoWeightsError)) {
		err = withHint(withCode(exitUsage, err),
			"hgld embed --list says which files are needed; --weights also takes a file with another name")
	}
	return files, err
}

// pickleHint adds the next step to the error of a file that would have to be unpickled.
func pickleHint(err *textenc.PickleError) error {
	return withHint(withCode(exitUsage, err), "scripts/convert_weights.py %s %s converts it", err.Path,
		strings.TrimSuffix(err.Path, filepath.Ext(err.Path))+".safetensors")
}
