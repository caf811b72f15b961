package main

import (
	"os"
	"path/filepath"
	"strings"
)

// nextTo returns a path beside a folder or file, called after it and with an ending. The folder may be
// given as "." or "..", which are no names.
func nextTo(path, ending string) string {
	return filepath.Join(path, "..", nameOf(path)+ending)
}

// stemOf returns the name of a folder, or that of a file without its extension. A folder has none: of
// photos.v1 and photos.v2 it keeps both names.
func stemOf(path string) string {
	name := nameOf(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return name
	}
	return strings.TrimSuffix(name, filepath.Ext(name))
}

func nameOf(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return filepath.Base(path)
}
