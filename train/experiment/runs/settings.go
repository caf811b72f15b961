package runs

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
	"hgld/internal/usage"
	"hgld/train/config"
	"hgld/train/selection"
	"hgld/train/warmstart"
)

// Settings are the settings of a run: the section train of hgld.yaml, and run.yaml.
type Settings struct {
	Images selection.Images `yaml:",inline"` // selects the data for training and evaluation

	// Landmarks are benchmarks that run.eval_on measures during training.
	Landmarks Landmarks `yaml:"landmarks"`

	// Out is the run directory.
	Out           string `yaml:"out" path:"out" kind:"a run" usage:"run directory; repeating the command continues the run in it"`
	config.Config `yaml:",inline"`

	// Store is where a copy of the run directory is kept; "": nowhere.
	Store string `yaml:"store" usage:"{store}: copy the run directory there after each checkpoint, and continue from there if it has the newer one"`

	// Adopted says which settings were not given and come from what is known of the weights.
	Adopted warmstart.WeightDefaults `yaml:"-" json:"-"`
}

// Landmarks names benchmarks such as Revisited Oxford and Paris, and Google Landmarks v2 retrieval.
type Landmarks struct {
	Truth  []string `yaml:"truth" path:"in" usage:"with run.eval_on landmarks: ground truths, such as gnd_roxford5k.pkl or retrieval_solution_v2.1.csv"`
	Images []string `yaml:"images" path:"in" usage:"images of each ground truth, in the same order: their folder, or shards with the splits test and index for a solution"`
	Side   int      `yaml:"side" range:"0 65500" usage:"longer side of an image, which keeps its shape; 0: cropped as in other evaluations"`
}

// DefaultSettings returns the default settings of a run.
func DefaultSettings() Settings {
	return Settings{Images: selection.Default(), Landmarks: Landmarks{Side: 1024}, Out: "runs/default",
		Config: config.Default()}
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
	paths := copied.Images.Paths()
	copied.Landmarks.Truth, copied.Landmarks.Images = slices.Clone(s.Landmarks.Truth), slices.Clone(s.Landmarks.Images)
	for _, list := range copied.lists() {
		for i := range list {
			paths = append(paths, &list[i])
		}
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

// lists returns the settings that are lists of paths.
func (s *Settings) lists() [][]string {
	return [][]string{s.Images.Benchmarks, s.Landmarks.Truth, s.Landmarks.Images}
}

// ReadSettings reads the settings of a run, given its directory or one of its checkpoints. It
// returns nil if there are none. Settings that the file lacks have their defaults.
// A file that was changed is a *FormatError, invalid YAML a [*usage.Error], since a user may have edited it.
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
	today, err := FormerKeys.Today("train", &s, string(text))
	if err == nil {
		err = yaml.Unmarshal([]byte(today), &s)
	}
	if err != nil {
		return nil, usage.Errorf("%s: %w", filepath.Join(run, SettingsFile), err)
	}
	for _, path := range s.Images.Paths() {
		if *path != "" {
			*path = resolve(run, *path)
		}
	}
	for _, list := range s.lists() {
		for i, path := range list {
			list[i] = resolve(run, path)
		}
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
