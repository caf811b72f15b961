package history

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"hgld/internal/atomicfile"
	"hgld/internal/regular"
	"hgld/internal/seal"
	"hgld/train"
	"hgld/train/selection"
)

// Settings are the settings of a run: the section train of hgld.yaml, and run.yaml.
type Settings struct {
	// Images selects the data for training and evaluation.
	Images selection.Images `yaml:",inline"`

	// Out is the run directory.
	Out          string `yaml:"out" path:"out" kind:"a run" usage:"run directory; repeating the command continues the run in it"`
	train.Config `yaml:",inline"`

	// Store is where a copy of the run directory is kept; "": nowhere.
	Store string `yaml:"store,omitempty" usage:"s3://bucket/prefix: copy the run directory there after each checkpoint, and continue from there if it has the newer one"`

	// Adopted says which settings were not given and come from what is known of the weights.
	Adopted train.Adoption `yaml:"-" json:"-"`
}

// DefaultSettings returns the default settings of a run.
func DefaultSettings() Settings {
	return Settings{Images: selection.Default(), Out: "runs/default", Config: train.Default()}
}

// Seeded returns the settings of n runs that differ only in their seed: Seed, Seed+1 and so on.
// Each has its own run directory, Out-seedN.
func (s *Settings) Seeded(n int) []Settings {
	list := make([]Settings, n)
	for i := range list {
		list[i] = *s
		list[i].Seed += uint64(i)
		list[i].Out = fmt.Sprintf("%s-seed%d", filepath.Clean(s.Out), list[i].Seed)
	}
	return list
}

// Write writes the settings to the run directory s.Out. Folders are relative to it, so that all
// can be moved together. same reports whether the file already had this content.
func (s *Settings) Write() (same bool, err error) {
	copied := *s
	copied.Out = "."
	copied.Images.Benchmarks = slices.Clone(s.Images.Benchmarks)
	paths := []*string{&copied.Images.Data, &copied.Images.Embeddings, &copied.Images.Labels}
	for i := range copied.Images.Benchmarks {
		paths = append(paths, &copied.Images.Benchmarks[i])
	}
	for _, path := range paths {
		if *path == "" {
			continue
		}
		if *path, err = relative(s.Out, *path); err != nil {
			return false, err
		}
	}
	text, err := yaml.Marshal(copied)
	if err != nil {
		return false, err
	}
	text = seal.Lines(text)
	path := filepath.Join(s.Out, SettingsFile)
	if old, err := regular.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return true, nil
	}
	return false, atomicfile.WriteFile(path, text)
}

// ReadSettings reads the settings of a run, given its directory or one of its checkpoints. It
// returns nil if there are none. Settings that the file lacks have their defaults.
// A file that was changed is a *FormatError, invalid YAML a *SettingsError.
func ReadSettings(run string) (*Settings, error) {
	text, err := regular.ReadFile(filepath.Join(run, SettingsFile))
	if errors.Is(err, fs.ErrNotExist) && filepath.Base(filepath.Dir(filepath.Clean(run))) == CheckpointsFolder {
		run = filepath.Join(run, "..", "..")
		text, err = regular.ReadFile(filepath.Join(run, SettingsFile))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := seal.CheckLines(text); err != nil {
		return nil, &FormatError{Path: filepath.Join(run, SettingsFile), Err: err}
	}
	s := DefaultSettings()
	if err := yaml.Unmarshal(text, &s); err != nil {
		return nil, &SettingsError{filepath.Join(run, SettingsFile), err}
	}
	for _, path := range []*string{&s.Images.Data, &s.Images.Embeddings, &s.Images.Labels} {
		if *path != "" {
			*path = resolve(run, *path)
		}
	}
	for i, folder := range s.Images.Benchmarks {
		s.Images.Benchmarks[i] = resolve(run, folder)
	}
	return &s, nil
}

// relative returns the path of a folder relative to the run directory, so that both can be moved
// together. An absolute path is kept unless run is absolute too, and so is an address.
func relative(run, folder string) (string, error) {
	if filepath.IsAbs(folder) && !filepath.IsAbs(run) || regular.CheckPath(folder) != nil {
		return folder, nil
	}
	base, err := filepath.Abs(run)
	if err != nil {
		return "", err
	}
	whole, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(base, whole)
	if err != nil {
		return whole, nil // different drives on Windows have no relative path
	}
	return filepath.ToSlash(rel), nil
}

// resolve returns the folder for a path that relative returned.
func resolve(run, folder string) string {
	if filepath.IsAbs(folder) || regular.CheckPath(folder) != nil {
		return folder
	}
	return filepath.Join(run, filepath.FromSlash(folder))
}
