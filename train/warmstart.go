package train

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/tensorfile"
	"hgld/internal/torchfile"
	"hgld/train/backbone"
	"hgld/train/nn"
	"hgld/train/pretrained"
)

// warmStart fills the network with the start of a new run: the backbone from Model.Weights, the
// whole network from From, or nothing.
func (n *network) warmStart(c *Config, p *resolved) (s start, err error) {
	switch {
	case c.From != "":
		return n.whole(c, p)
	case c.Model.Weights != "":
		return n.pretrained(p.backbone, &c.Model)
	}
	return s, nil
}

// start describes where a run starts from.
type start struct {
	left  []string // tensors of Model.Weights after the backbone
	notes []string // what was chosen of a file, and which prefixes its names had
}

// pretrained fills the backbone from a file with names of torchvision or timm, or from a
// checkpoint of a whole network, hgld's or SupRank's. It skips the classifier.
func (n *network) pretrained(spec backbone.Spec, m *Architecture) (s start, err error) {
	if info, err := os.Stat(m.Weights); err == nil && info.IsDir() {
		return s, &ConfigError{&WeightsFolderError{m.Weights}}
	}
	w, err := readWeights("model.weights", m.Weights, m.WeightsKey)
	if err != nil {
		return s, err
	}
	kept, wrapper := backbone.Pretrained(spec, w.Tensors)
	s.notes = weightsNotes(m.Weights, w, wrapper)
	for i := range kept {
		kept[i].Name = backbonePrefix + kept[i].Name
	}
	if err := n.store.Import(n.b, kept, backbonePrefix); err != nil {
		return s, &ConfigError{unfit(fmt.Errorf("model.weights: %s: %w", m.Weights, err), w.Tensors)}
	}
	whole, _ := backbone.Checkpoint(w.Tensors)
	if !slices.ContainsFunc(whole, func(t tensorfile.Tensor) bool { return strings.HasPrefix(t.Name, backbonePrefix) }) {
		return s, nil // torchvision's or timm's: what follows is a classifier
	}
	for _, t := range ofNetwork(whole) {
		if !strings.HasPrefix(t.Name, backbonePrefix) {
			s.left = append(s.left, t.Name)
		}
	}
	return s, nil
}

// weightsNotes says what was chosen of a file of weights, and which prefix its names had.
func weightsNotes(path string, w *pretrained.Weights, wrapper string) (notes []string) {
	if note := w.Note(); note != "" {
		notes = append(notes, path+": "+note+"; model.weights_key chooses")
	}
	if wrapper != "" {
		others := 0
		for _, t := range w.Tensors {
			if !strings.HasPrefix(t.Name, wrapper) {
				others++
			}
		}
		without := ""
		if others > 0 {
			without = fmt.Sprintf("; %d tensors without it are not read", others)
		}
		notes = append(notes, fmt.Sprintf("%s: the prefix %.80q of the names of its tensors is left out%s", path, wrapper,
			without))
	}
	return notes
}

// whole fills the network from a run, one of its checkpoints, or an export. It does not touch the
// loss or the optimizer.
func (n *network) whole(c *Config, p *resolved) (s start, err error) {
	tensors, model, notes, err := readNetwork(c.From, c.Model.WeightsKey)
	if err != nil {
		return s, err
	}
	s.notes = notes
	alone := newNetwork(n.b, c, p, n.decoder) // a store without the parameters of the loss
	if bad := alone.store.Compare(tensors, ""); bad != nil {
		return s, &ConfigError{fmt.Errorf("from: %s: %w%s", c.From, bad, otherModel(c.Model, model))}
	}
	own, err := n.store.Export(n.b)
	if err != nil {
		return s, fmt.Errorf("train: from: %w", err)
	}
	if err := n.store.Import(n.b, over(own, tensors), ""); err != nil {
		return s, fmt.Errorf("train: from: %s: %w", c.From, err)
	}
	return s, nil
}

// readNetwork reads the network of a run directory, a checkpoint or an export, averaged if the
// run kept an average. For the first two it also returns the architecture.
func readNetwork(path, key string) (list []tensorfile.Tensor, m *Architecture, notes []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("train: from: %w", err)
	}
	if !info.IsDir() {
		w, err := readWeights("from", path, key)
		if err != nil {
			return nil, nil, nil, err
		}
		tensors, wrapper := backbone.Checkpoint(w.Tensors)
		return ofNetwork(tensors), nil, weightsNotes(path, w, wrapper), nil
	}
	folder, s, err := checkpointIn(path)
	if err != nil {
		return nil, nil, nil, err
	}
	tensors, err := readTensors(folder, s.Config.evaluated())
	return ofNetwork(tensors), &s.Config.Model, nil, err
}

// otherModel lists the settings in which two architectures differ, or "" if the other is unknown.
func otherModel(now Architecture, was *Architecture) string {
	if was == nil {
		return "; for a file with only a backbone, set model.weights"
	}
	a, b := Config{Model: *was}, Config{Model: now}
	list, err := differences(state{Config: a}, state{Config: b})
	if err != nil || len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, "; ")
}

// checkpointIn finds the newest checkpoint of a run directory, or takes path as a checkpoint, and
// reads its state.
func checkpointIn(path string) (folder string, s state, err error) {
	list, err := checkpoints(path)
	if err != nil {
		return "", s, err
	}
	if folder = path; len(list) > 0 {
		folder = list[len(list)-1]
	}
	s, err = readState(folder)
	if err != nil && !errors.As(err, new(*DamagedError)) {
		err = fmt.Errorf("train: %s is neither a run directory with a checkpoint nor a checkpoint: %w", path, err)
	}
	return folder, s, err
}

// evaluated returns the name of the file with the weights that an evaluation uses.
func (c *Config) evaluated() string {
	if c.EMA.Decay > 0 {
		return averageFile
	}
	return modelFile
}

// readWeights reads a file of weights. setting is the one that named the file, for messages.
func readWeights(setting, path, key string) (*pretrained.Weights, error) {
	w, err := pretrained.Read(path, key)
	switch {
	case errors.As(err, new(*torchfile.FormatError)):
		return nil, &ConfigError{fmt.Errorf("%s is %w; save its state_dict() from the program that made it, or "+
			"try scripts/convert_weights.py %s %s.safetensors", setting, err, path,
			strings.TrimSuffix(path, filepath.Ext(path)))}
	case err != nil:
		return nil, fmt.Errorf("train: %s: %w", setting, err)
	}
	return w, nil
}

// WeightsFolderError is the error for a folder in place of a file of weights.
type WeightsFolderError struct{ Path string }

// Error names the folder.
func (e *WeightsFolderError) Error() string {
	return fmt.Sprintf("model.weights is %s, a folder: want a safetensors file of a backbone", e.Path)
}

// UnfitError is the error for weights that fit no known backbone.
type UnfitError struct{ Err error }

// Error is the text of Err.
func (e *UnfitError) Error() string { return e.Err.Error() }

// Unwrap returns the difference from the configured backbone.
func (e *UnfitError) Unwrap() error { return e.Err }

// unfit adds to the error of weights the known backbone that they fit, or returns an
// [UnfitError].
func unfit(err error, tensors []tensorfile.Tensor) error {
	for _, e := range backbone.All {
		store := nn.NewStore()
		e.Value.Build(store.Group("all"), backbone.Options{})
		if kept, _ := backbone.Pretrained(e.Value, tensors); store.Compare(kept, "") == nil {
			return fmt.Errorf("%w; these weights fit %s: set model.backbone.name=%[2]s", err, e.Name)
		}
	}
	return &UnfitError{err}
}
