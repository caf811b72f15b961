// Package checkpoint reads and writes the files of a run directory: checkpoints, the best evaluation and the lock. It
// refuses damaged files, and says how a checkpoint differs from the run that is to continue it.
package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hgld/internal/atomicfile"
	"hgld/internal/regular"
	"hgld/internal/tensorfile"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/input"
	"hgld/train/loss"
)

// A checkpoint is a folder of the run directory:
//
//	checkpoints/step-00000500/
//	    state.json              progress of the run, its configuration and data
//	    model.safetensors       parameters and running statistics, named as in torch's state dict; proxies
//	    ema.safetensors         the same with averaged weights, if the run keeps them
//	    optimizer.safetensors   moments, memory
//	    external-0.safetensors  state of the process of the first external loss, if there is one
//	    SHA256SUMS              checksums of these files, readable by sha256sum -c
//
// The folder is written under another name, synced, and then renamed. A folder with this name is
// therefore always complete.
const (
	Folder        = "checkpoints"
	stepPrefix    = "step-"
	StateFile     = "state.json"
	ModelFile     = "model.safetensors"
	AverageFile   = "ema.safetensors"
	OptimizerFile = "optimizer.safetensors"
	SumsFile      = "SHA256SUMS"
)

// optimizerPrefix and memoryPrefix begin the names of tensors that only training needs.
const (
	OptimizerPrefix = "optim."
	MemoryPrefix    = "memory."
)

// Version is the format version of state.json.
const Version = 1

// State is state.json.
type State struct {
	Version      int               `json:"hgld_checkpoint"`              // format version
	Step         int               `json:"step"`                         // optimizer steps taken, including skipped ones
	Position     input.Position    `json:"position"`                     // position of the next batch
	Skipped      int               `json:"skipped_in_a_row"`             // steps in a row with a non-finite value
	Steps        map[string]int    `json:"optimizer_steps"`              // by group; "ema": the moving average
	Started      bool              `json:"projection_started,omitempty"` // the projection was fitted to principal components
	Config       config.Config     `json:"config"`                       // settings of the run
	Data         string            `json:"data"`                         // fingerprint of the items and labels
	Pixels       string            `json:"pixels,omitempty"`             // fingerprint of the images, if the data set has one
	ExtraParents string            `json:"further_parents,omitempty"`    // fingerprint of extra parents of classes; empty: none
	Origin       map[string]string `json:"origin,omitempty"`             // tool version and command of the run
	Ranks        int               `json:"ranks,omitempty"`              // processes that trained together; 0: one
	Choices      []device.Choices  `json:"choices,omitempty"`            // of the devices, by rank, if they measured any

	// If evaluations change the course of the run: what they measure, and their results before
	// this checkpoint.
	Criterion *Criterion  `json:"criterion,omitempty"`
	Judged    []Judgement `json:"judged,omitempty"` // evaluations before the checkpoint
}

// DamagedError says that a checkpoint differs from what hgld wrote.
type DamagedError struct{ Path, Reason string }

// Error names the file and the damage.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("train: %s is damaged: %s", e.Path, e.Reason)
}

// Name returns the folder of a checkpoint, relative to the run directory.
func Name(step int) string {
	return filepath.Join(Folder, fmt.Sprintf("%s%08d", stepPrefix, step))
}

// Write writes a checkpoint and returns its folder. It keeps an existing checkpoint of
// the same step. average may be empty. processes are the states of external losses.
func Write(run string, s State, tensors, average []tensorfile.Tensor, processes ...[]byte) (string, error) {
	final := filepath.Join(run, Name(s.Step))
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	return final, Create(final, func(tmp string) error { return writeFiles(tmp, s, tensors, average, processes) })
}

// Create makes the folder of a checkpoint. It appears when fill has written its files, to a folder of another name.
func Create(final string, fill func(folder string) error) error {
	root := filepath.Dir(final)
	if err := atomicfile.MkdirAll(root, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(root, ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) // does nothing after the rename
	if err := errors.Join(os.Chmod(tmp, 0o755), fill(tmp)); err != nil {
		return err
	}
	if err := os.Rename(tmp, final); err != nil {
		return err
	}
	return atomicfile.SyncDir(root)
}

func writeFiles(folder string, s State, tensors, average []tensorfile.Tensor, processes [][]byte) error {
	s.Version = Version
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	files := map[string][]tensorfile.Tensor{ModelFile: nil, OptimizerFile: nil}
	for _, t := range tensors {
		name := ModelFile
		if ForTraining(t) {
			name = OptimizerFile
		}
		files[name] = append(files[name], t)
	}
	if len(average) > 0 {
		files[AverageFile] = average
	}
	var sums strings.Builder
	write := func(name string, fill func(io.Writer) error) error {
		hash := sha256.New()
		err := atomicfile.Write(filepath.Join(folder, name), func(w io.Writer) error { return fill(io.MultiWriter(w, hash)) })
		fmt.Fprintf(&sums, "%x  %s\n", hash.Sum(nil), name)
		return err
	}
	metadata := map[string]string{"format": "pt"} // loaders of such files check for it
	err = write(StateFile, func(w io.Writer) error { _, err := w.Write(append(text, '\n')); return err })
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err == nil {
			err = write(name, func(w io.Writer) error { return tensorfile.WriteSafetensors(w, files[name], metadata) })
		}
	}
	for i, content := range processes {
		if err == nil {
			err = write(ProcessFile(i), func(w io.Writer) error { _, err := w.Write(content); return err })
		}
	}
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(folder, SumsFile), []byte(sums.String()))
}

// Sum is a line of SHA256SUMS.
type Sum struct {
	SHA256 string // in hexadecimal
	Name   string // of the file
}

var sumLine = regexp.MustCompile(`^([0-9a-f]{64})  ([a-z0-9][a-z0-9.-]*)$`)

// ParseSums reads SHA256SUMS.
func ParseSums(text []byte) (list []Sum, err error) {
	for line := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
		found := sumLine.FindStringSubmatch(line)
		if found == nil {
			return nil, fmt.Errorf("%.80q is no line of a SHA-256 and the name of a file", line)
		}
		list = append(list, Sum{found[1], found[2]})
	}
	return list, nil
}

// List lists the complete checkpoints of a run, oldest first.
func List(run string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(run, Folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []string
	for _, e := range entries { // sorted by name; leading zeros sort them by step
		if e.IsDir() && strings.HasPrefix(e.Name(), stepPrefix) {
			list = append(list, filepath.Join(run, Folder, e.Name()))
		}
	}
	return list, nil
}

// Prune removes all checkpoints except the newest keep and the named one. It also removes
// leftovers of an interrupted writer. A folder is renamed before it is removed, so that every
// folder with a checkpoint's name is complete.
func Prune(run string, keep int, best string) error {
	list, err := List(run)
	if err != nil {
		return err
	}
	for _, path := range list[:max(0, len(list)-keep)] {
		if filepath.Base(path) == filepath.Base(best) {
			continue
		}
		old := filepath.Join(filepath.Dir(path), ".old-"+filepath.Base(path))
		if err := os.Rename(path, old); err != nil {
			return err
		}
	}
	return atomicfile.Sweep(run, Folder+"/.[no][el][wd]-*")
}

// ReadFile reads a file of a checkpoint and compares it with SHA256SUMS.
func ReadFile(path, name string) ([]byte, error) {
	sums, err := regular.ReadFile(filepath.Join(path, SumsFile))
	if errors.Is(err, fs.ErrNotExist) {
		if _, other := os.Stat(filepath.Join(path, StateFile)); other == nil {
			return nil, &DamagedError{filepath.Join(path, SumsFile), "it is missing, and there is a " + StateFile +
				" beside it"}
		}
	}
	if err != nil {
		return nil, err
	}
	data, err := regular.ReadFile(filepath.Join(path, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &DamagedError{filepath.Join(path, name), "it is missing, and there is a " + SumsFile + " beside it"}
	}
	if err != nil {
		return nil, err
	}
	if line := fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name); !strings.Contains(string(sums), line) {
		return nil, &DamagedError{filepath.Join(path, name), "its sha256 is not the one in " + SumsFile}
	}
	return data, nil
}

// ReadState reads the state.json of a checkpoint.
func ReadState(path string) (State, error) {
	var s State
	data, err := ReadFile(path, StateFile)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, &DamagedError{filepath.Join(path, StateFile), err.Error()}
	}
	if s.Step < 0 || s.Position.Epoch < 0 || s.Position.Batch < 0 || s.Skipped < 0 {
		return s, &DamagedError{filepath.Join(path, StateFile),
			fmt.Sprintf("step is %d, position %+v and skipped_in_a_row %d, want numbers from 0 up", s.Step,
				s.Position, s.Skipped)}
	}
	s.Config.Run = config.Default().Run // not part of a checkpoint
	if s.Version < 1 || s.Version > Version {
		return s, fmt.Errorf("train: %s has format version %d; this hgld reads up to %d", path, s.Version, Version)
	}
	return s, nil
}

// ReadTensors reads a tensor file of a checkpoint.
func ReadTensors(path, name string) ([]tensorfile.Tensor, error) {
	file := filepath.Join(path, name)
	data, err := ReadFile(path, name)
	if err != nil {
		return nil, err
	}
	f, err := tensorfile.ReadSafetensors(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, &DamagedError{file, err.Error()}
	}
	defer f.Close()
	var list []tensorfile.Tensor
	for _, name := range f.Names() {
		t, err := f.Tensor(name)
		if err != nil {
			return nil, &DamagedError{file, err.Error()}
		}
		t.Data = bytes.Clone(t.Data)
		list = append(list, t)
	}
	return list, nil
}

// ResumeError says why a run directory cannot be continued: its run has other settings or other
// data.
type ResumeError struct {
	Checkpoint  string   // its folder
	Differences []string // such as "optim.lr is 0.01, the checkpoint has 0.001"
}

// Error lists the differences between the two runs.
func (e *ResumeError) Error() string {
	return fmt.Sprintf("train: %s is from a run with other settings: %s", e.Checkpoint, strings.Join(e.Differences, "; "))
}

// Differences compares a checkpoint with the run that is to continue it.
func Differences(was, now State) ([]string, error) {
	a, err := Flat(was.Config)
	if err != nil {
		return nil, err
	}
	b, err := Flat(now.Config)
	if err != nil {
		return nil, err
	}
	var list []string
	for key := range a {
		if _, both := b[key]; !both {
			b[key] = "not set"
		}
	}
	for key, value := range b {
		before, both := a[key]
		if !both {
			before = "not set"
		}
		if value != before {
			list = append(list, fmt.Sprintf("%s is %s, the checkpoint has %s", key, value, before))
		}
	}
	slices.Sort(list)
	if was.Data != now.Data || was.Pixels != "" && was.Pixels != now.Pixels {
		list = append(list, "the images or labels differ")
	}
	if was.ExtraParents != now.ExtraParents {
		list = append(list, "the extra parents of classes differ")
	}
	return list, nil
}

// Flat lists the leaves of a configuration by dotted key, as JSON text.
func Flat(c config.Config) (map[string]string, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		return nil, err
	}
	out := map[string]string{}
	return out, flatten(out, "", tree)
}

func flatten(out map[string]string, key string, v any) error {
	if m, ok := v.(map[string]any); ok {
		for k, inner := range m {
			if err := flatten(out, strings.TrimPrefix(key+"."+k, "."), inner); err != nil {
				return err
			}
		}
		return nil
	}
	text, err := json.Marshal(v)
	out[key] = string(text)
	return err
}

// ProcessFile is the file of a checkpoint with the state of external loss i.
func ProcessFile(i int) string { return fmt.Sprintf("external-%d.safetensors", i) }

// ForTraining reports whether a tensor is needed only for training.
func ForTraining(t tensorfile.Tensor) bool {
	return strings.HasPrefix(t.Name, OptimizerPrefix) || strings.HasPrefix(t.Name, MemoryPrefix)
}

// LossPrefix begins the names of the loss's parameters.
const LossPrefix = loss.ParamScope + "."

// Overlay returns tensors, replacing those whose names occur in with.
func Overlay(tensors, with []tensorfile.Tensor) []tensorfile.Tensor {
	byName := map[string]tensorfile.Tensor{}
	for _, t := range with {
		byName[t.Name] = t
	}
	list := make([]tensorfile.Tensor, len(tensors))
	for i, t := range tensors {
		list[i] = t
		if other, both := byName[t.Name]; both {
			list[i] = other
		}
	}
	return list
}

// OfNetwork drops the tensors that belong to the loss or only to training.
func OfNetwork(tensors []tensorfile.Tensor) []tensorfile.Tensor {
	own := tensors[:0:0]
	for _, t := range tensors {
		if !ForTraining(t) && !strings.HasPrefix(t.Name, LossPrefix) {
			own = append(own, t)
		}
	}
	return own
}
