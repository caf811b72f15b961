package text

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hgld/internal/filehash"
	"hgld/internal/torchfile"
)

// weightNames are the names of weight files in published folders, in order of preference.
var weightNames = []string{"model.safetensors", "open_clip_model.safetensors"}

// PickleError says that weights are in a file that would have to be unpickled.
type PickleError struct {
	// Path is the file.
	Path string
}

// Error names the file and the format that is read.
func (e *PickleError) Error() string {
	return fmt.Sprintf("%s: it is a pickle, want weights as safetensors", e.Path)
}

// NoWeightsError says that a folder has no weight file of a known name.
type NoWeightsError struct {
	// Folder is the folder.
	Folder string
}

// Error lists the names.
func (e *NoWeightsError) Error() string {
	return fmt.Sprintf("%s has no %s", e.Folder, strings.Join(weightNames, " and no "))
}

// FindFiles returns the weights at path, which is their file or its folder, with their SHA-256.
// It opens no pickle. If a folder has only a pickle it returns a *PickleError, and if it has
// neither a *NoWeightsError.
func FindFiles(ctx context.Context, path string) (Files, error) {
	weights, err := findWeights(path)
	if err != nil {
		return Files{}, err
	}
	sum, _, err := filehash.SHA256(ctx, weights)
	return Files{Weights: weights, SHA256: sum}, err
}

func findWeights(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case !info.IsDir() && torchfile.Named(path):
		return "", &PickleError{path}
	case !info.IsDir():
		return path, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	names, pickle := map[string]bool{}, ""
	for _, e := range entries {
		names[e.Name()] = true
		if pickle == "" && torchfile.Named(e.Name()) {
			pickle = e.Name()
		}
	}
	for _, name := range weightNames {
		if names[name] {
			return filepath.Join(path, name), nil
		}
	}
	if pickle != "" {
		return "", &PickleError{filepath.Join(path, pickle)}
	}
	return "", &NoWeightsError{path}
}
