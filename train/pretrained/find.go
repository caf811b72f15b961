package pretrained

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/torchfile"
)

// usualNames are the names of weights in folders that libraries write, in order of preference.
var usualNames = []string{"model.safetensors", "open_clip_model.safetensors", "pytorch_model.bin",
	"open_clip_pytorch_model.bin"}

// Find returns the file of weights at path, which is the file or its folder.
func Find(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return path, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	var others []string
	for _, e := range entries {
		name := e.Name()
		if slices.Contains(usualNames, name) {
			continue
		}
		if filepath.Ext(name) == ".safetensors" || torchfile.Named(name) {
			others = append(others, name)
		}
	}
	for _, name := range usualNames {
		if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name }) {
			return filepath.Join(path, name), nil
		}
	}
	switch len(others) {
	case 0:
		return "", fmt.Errorf("%s has no file of weights, such as %s", path, usualNames[0])
	case 1:
		return filepath.Join(path, others[0]), nil
	}
	return "", fmt.Errorf("%s has several files of weights: name one of %.200s", path, strings.Join(others, ", "))
}
