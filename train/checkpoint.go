package train

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
	"slices"
	"strings"

	"hgld/internal/atomicfile"
	"hgld/internal/regular"
	"hgld/internal/tensorfile"
	"hgld/train/input"
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
	checkpointFolder = "checkpoints"
	stepPrefix       = "step-"
	stateFile        = "state.json"
	modelFile        = "model.safetensors"
	averageFile      = "ema.safetensors"
	optimizerFile    = "optimizer.safetensors"
	sumsFile         = "SHA256SUMS"
)

// optimizerPrefix and memoryPrefix begin the names of tensors that only training needs.
const (
	optimizerPrefix = "optim."
	memoryPrefix    = "memory."
)

// CheckpointVersion is the format version of state.json.
const CheckpointVersion = 1

// state is state.json.
type state struct {
	Version  int               `json:"hgld_checkpoint"`
	Step     int               `json:"step"`                         // optimizer steps taken, including skipped ones
	Position input.Position    `json:"position"`                     // position of the next batch
	Skipped  int               `json:"skipped_in_a_row"`             // steps in a row with a non-finite value
	Steps    map[string]int    `json:"optimizer_steps"`              // by group; "ema": the moving average
	Started  bool              `json:"projection_started,omitempty"` // the projection was fitted to principal components
	Config   Config            `json:"config"`
	Data     string            `json:"data"`                      // fingerprint of the items and labels
	Pixels   string            `json:"pixels,omitempty"`          // fingerprint of the images, if the data set has one
	Further  string            `json:"further_parents,omitempty"` // fingerprint of further parents of classes; empty: none
	Origin   map[string]string `json:"origin,omitempty"`
	Ranks    int               `json:"ranks,omitempty"` // processes that trained together; 0: one

	// If evaluations change the course of the run: what they measure, and their results before
	// this checkpoint.
	Criterion *criterion  `json:"criterion,omitempty"`
	Judged    []judgement `json:"judged,omitempty"`
}

// DamagedError says that a checkpoint differs from what hgld wrote.
type DamagedError struct{ Path, Reason string }

// Error names the file and the damage.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("train: %s is damaged: %s", e.Path, e.Reason)
}

// checkpointName returns the folder of a checkpoint, relative to the run directory.
func checkpointName(step int) string {
	return filepath.Join(checkpointFolder, fmt.Sprintf("%s%08d", stepPrefix, step))
}

// forTraining reports whether a tensor is needed only for training.
func forTraining(t tensorfile.Tensor) bool {
	return strings.HasPrefix(t.Name, optimizerPrefix) || strings.HasPrefix(t.Name, memoryPrefix)
}

// writeCheckpoint writes a checkpoint and returns its folder. It keeps an existing checkpoint of
// the same step. average may be empty. processes are the states of external losses.
func writeCheckpoint(run string, s state, tensors, average []tensorfile.Tensor, processes ...[]byte) (string, error) {
	root := filepath.Join(run, checkpointFolder)
	final := filepath.Join(run, checkpointName(s.Step))
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	if err := atomicfile.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(root, ".new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp) // does nothing after the rename
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", err
	}
	s.Version = CheckpointVersion
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return "", err
	}
	files := map[string][]tensorfile.Tensor{modelFile: nil, optimizerFile: nil}
	for _, t := range tensors {
		name := modelFile
		if forTraining(t) {
			name = optimizerFile
		}
		files[name] = append(files[name], t)
	}
	if len(average) > 0 {
		files[averageFile] = average
	}
	var sums strings.Builder
	write := func(name string, fill func(io.Writer) error) error {
		hash := sha256.New()
		err := atomicfile.Write(filepath.Join(tmp, name), func(w io.Writer) error { return fill(io.MultiWriter(w, hash)) })
		fmt.Fprintf(&sums, "%x  %s\n", hash.Sum(nil), name)
		return err
	}
	metadata := map[string]string{"format": "pt"} // loaders of such files check for it
	err = write(stateFile, func(w io.Writer) error { _, err := w.Write(append(text, '\n')); return err })
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err == nil {
			err = write(name, func(w io.Writer) error { return tensorfile.WriteSafetensors(w, files[name], metadata) })
		}
	}
	for i, content := range processes {
		if err == nil {
			err = write(processFile(i), func(w io.Writer) error { _, err := w.Write(content); return err })
		}
	}
	if err != nil {
		return "", err
	}
	if err := atomicfile.WriteFile(filepath.Join(tmp, sumsFile), []byte(sums.String())); err != nil {
		return "", err
	}
	if err := os.Rename(tmp, final); err != nil {
		return "", err
	}
	return final, atomicfile.SyncDir(root)
}

// checkpoints lists the complete checkpoints of a run, oldest first.
func checkpoints(run string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(run, checkpointFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []string
	for _, e := range entries { // sorted by name; leading zeros sort them by step
		if e.IsDir() && strings.HasPrefix(e.Name(), stepPrefix) {
			list = append(list, filepath.Join(run, checkpointFolder, e.Name()))
		}
	}
	return list, nil
}

// tidy removes all checkpoints except the newest keep and the named one. It also removes
// leftovers of an interrupted writer. A folder is renamed before it is removed, so that every
// folder with a checkpoint's name is complete.
func tidy(run string, keep int, best string) error {
	list, err := checkpoints(run)
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
	return atomicfile.Sweep(run, checkpointFolder+"/.[no][el][wd]-*")
}

// readChecked reads a file of a checkpoint and compares it with SHA256SUMS.
func readChecked(path, name string) ([]byte, error) {
	sums, err := regular.ReadFile(filepath.Join(path, sumsFile))
	if errors.Is(err, fs.ErrNotExist) {
		if _, other := os.Stat(filepath.Join(path, stateFile)); other == nil {
			return nil, &DamagedError{filepath.Join(path, sumsFile), "it is missing, and there is a " + stateFile +
				" beside it"}
		}
	}
	if err != nil {
		return nil, err
	}
	data, err := regular.ReadFile(filepath.Join(path, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &DamagedError{filepath.Join(path, name), "it is missing, and there is a " + sumsFile + " beside it"}
	}
	if err != nil {
		return nil, err
	}
	if line := fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name); !strings.Contains(string(sums), line) {
		return nil, &DamagedError{filepath.Join(path, name), "its sha256 is not the one in " + sumsFile}
	}
	return data, nil
}

// readState reads the state.json of a checkpoint.
func readState(path string) (state, error) {
	var s state
	data, err := readChecked(path, stateFile)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, &DamagedError{filepath.Join(path, stateFile), err.Error()}
	}
	if s.Step < 0 || s.Position.Epoch < 0 || s.Position.Batch < 0 || s.Skipped < 0 {
		return s, &DamagedError{filepath.Join(path, stateFile),
			fmt.Sprintf("step is %d, position %+v and skipped_in_a_row %d, want numbers from 0 up", s.Step,
				s.Position, s.Skipped)}
	}
	s.Config.Run = Default().Run // not part of a checkpoint
	if s.Version < 1 || s.Version > CheckpointVersion {
		return s, fmt.Errorf("train: %s has format version %d; this hgld reads up to %d", path, s.Version, CheckpointVersion)
	}
	return s, nil
}

// readTensors reads a tensor file of a checkpoint.
func readTensors(path, name string) ([]tensorfile.Tensor, error) {
	file := filepath.Join(path, name)
	data, err := readChecked(path, name)
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

// differences compares a checkpoint with the run that is to continue it.
func differences(was, now state) ([]string, error) {
	a, err := flat(was.Config)
	if err != nil {
		return nil, err
	}
	b, err := flat(now.Config)
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
	if was.Further != now.Further {
		list = append(list, "the further parents of classes differ")
	}
	return list, nil
}

// flat lists the leaves of a configuration by dotted key, as JSON text.
func flat(c Config) (map[string]string, error) {
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
