package provenance

import (
	"bytes"
	"encoding/json"
	"path/filepath"

	"hgld/shards/dataset"
)

// Settings are the settings of the importer in BUILD.json, by the names of hgld.yaml.
type Settings struct {
	Dataset      string           `json:"dataset"`                      // name of the importer
	Input        string           `json:"input"`                        // file or folder
	Images       string           `json:"images,omitempty"`             // file or folder
	Labels       string           `json:"labels,omitempty"`             // file
	Hierarchy    string           `json:"hierarchy,omitempty"`          // file
	Levels       []string         `json:"levels,omitempty"`             // finest first
	Split        string           `json:"split,omitempty"`              // of images without one
	SplitFolders []string         `json:"split_folders,omitempty"`      // FOLDER=SPLIT or NAME=SPLIT
	Partial      string           `json:"uneven,omitempty"`             // what images at different depths mean; "" for the default
	NAValues     []string         `json:"no_class,omitempty"`           // cells that mean no class
	Labelled     bool             `json:"labelled,omitempty"`           // only images with a class at every level
	Unattributed bool             `json:"allow_unattributed,omitempty"` // images without author or licence too
	Subset       string           `json:"subset,omitempty"`             // of gldv2's training images
	Exclude      string           `json:"exclude,omitempty"`            // file of images that were left out
	Taxonomy     string           `json:"taxonomy,omitempty"`           // file of coarser levels
	Columns      *dataset.Columns `json:"columns,omitempty"`            // nil for the default
}

// MadeBy reports whether a BUILD.json records these settings.
func (s Settings) MadeBy(text []byte) (bool, error) {
	var was struct{ Source Settings }
	if err := json.Unmarshal(text, &was); err != nil {
		return false, err
	}
	s, err := s.withoutFolders()
	if err != nil {
		return false, err
	}
	before, err := json.Marshal(was.Source)
	if err != nil {
		return false, err
	}
	now, err := json.Marshal(s)
	return bytes.Equal(before, now), err
}

// withoutFolders leaves the files without their folders, so that a data set does not depend on where it was built.
func (s Settings) withoutFolders() (Settings, error) {
	for _, path := range []*string{&s.Input, &s.Images, &s.Labels, &s.Hierarchy, &s.Exclude, &s.Taxonomy} {
		if *path == "" {
			continue
		}
		abs, err := filepath.Abs(*path) // "." has a name too
		if err != nil {
			return s, err
		}
		*path = filepath.Base(abs)
	}
	return s, nil
}
