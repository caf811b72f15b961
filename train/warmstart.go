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
)

// warmStart fills the network with the start of a new run: the backbone from Model.Weights, the
// whole network from From, or nothing. left names the tensors of Model.Weights after the
// backbone.
func (n *network) warmStart(c *Config, p *resolved) (left []string, err error) {
	switch {
	case c.From != "":
		return nil, n.whole(c, p)
	case c.Model.Weights != "":
		return n.pretrained(p.backbone, c.Model.Weights)
	}
	return nil, nil
}

// pretrained fills the backbone from a file with names of torchvision or timm, or from a
// checkpoint of a whole network, hgld's or SupRank's. It skips the classifier.
func (n *network) pretrained(spec backbone.Spec, path string) (left []string, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, &ConfigError{&WeightsFolderError{path}}
	}
	tensors, err := readWeights("model.weights", path)
	if err != nil {
		return nil, err
	}
	tensors = backbone.Unwrapped(tensors)
	kept := backbone.Pretrained(spec, tensors)
	for i := range kept {
		kept[i].Name = backbonePrefix + kept[i].Name
	}
	if err := n.store.Import(n.b, kept, backbonePrefix); err != nil {
		return nil, &ConfigError{unfit(fmt.Errorf("model.weights: %s: %w", path, err), tensors)}
	}
	if !slices.ContainsFunc(tensors, func(t tensorfile.Tensor) bool {
		return strings.HasPrefix(t.Name,
			backbonePrefix)
	}) {
		return nil, nil // torchvision's or timm's: what follows is a classifier
	}
	for _, t := range ofNetwork(backbone.Checkpoint(tensors)) {
		if !strings.HasPrefix(t.Name, backbonePrefix) {
			left = append(left, t.Name)
		}
	}
	return left, nil
}

// whole fills the network from a run, one of its checkpoints, or an export. It does not touch the
// loss or the optimizer.
func (n *network) whole(c *Config, p *resolved) error {
	tensors, model, err := readNetwork(c.From)
	if err != nil {
		return err
	}
	alone := newNetwork(n.b, c, p, n.decoder) // a store without the parameters of the loss
	if bad := alone.store.Compare(tensors, ""); bad != nil {
		return &ConfigError{fmt.Errorf("from: %s: %w%s", c.From, bad, otherModel(c.Model, model))}
	}
	own, err := n.store.Export(n.b)
	if err != nil {
		return fmt.Errorf("train: from: %w", err)
	}
	if err := n.store.Import(n.b, over(own, tensors), ""); err != nil {
		return fmt.Errorf("train: from: %s: %w", c.From, err)
	}
	return nil
}

// readNetwork reads the network of a run directory, a checkpoint or an export, averaged if the
// run kept an average. For the first two it also returns the architecture.
func readNetwork(path string) ([]tensorfile.Tensor, *Architecture, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, fmt.Errorf("train: from: %w", err)
	}
	if !info.IsDir() {
		tensors, err := readWeights("from", path)
		if err != nil {
			return nil, nil, err
		}
		return ofNetwork(backbone.Checkpoint(backbone.Unwrapped(tensors))), nil, nil
	}
	folder, s, err := checkpointIn(path)
	if err != nil {
		return nil, nil, err
	}
	tensors, err := readTensors(folder, s.Config.evaluated())
	return ofNetwork(tensors), &s.Config.Model, err
}

// otherModel lists the settings in which two architectures differ, or "" if the other is unknown.
func otherModel(now Architecture, was *Architecture) string {
	if was == nil {
		return "; for a file with only a backbone, set model.weights"
	}
	a, b := Config{Model: *was}, Config{Model: now}
	list, err := differences(state{Config: a}, b, "", "")
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

// readWeights reads the tensors of a safetensors file or of one written by torch.save. key is the
// setting that named the file, for messages.
func readWeights(key, path string) ([]tensorfile.Tensor, error) {
	if !torchfile.Named(path) {
		tensors, _, err := tensorfile.ReadAll(path)
		if err != nil {
			return nil, fmt.Errorf("train: %s: %w", key, err)
		}
		return tensors, nil
	}
	tensors, err := torchfile.Read(path)
	if errors.As(err, new(*torchfile.FormatError)) {
		return nil, &ConfigError{fmt.Errorf("%s is %s: %w; save its state_dict() from the program that made it, or "+
			"try scripts/convert_weights.py %[2]s %[4]s.safetensors", key, path, err,
			strings.TrimSuffix(path, filepath.Ext(path)))}
	}
	if err != nil {
		return nil, fmt.Errorf("train: %s: %w", key, err)
	}
	return tensors, nil
}

// WeightsFolderError is the error for a folder in place of a file of weights.
type WeightsFolderError struct{ Path string }

func (e *WeightsFolderError) Error() string {
	return fmt.Sprintf("model.weights is %s, a folder: want a safetensors file of a backbone", e.Path)
}

// UnfitError is the error for weights that fit no known backbone.
type UnfitError struct{ Err error }

func (e *UnfitError) Error() string { return e.Err.Error() }

// Unwrap returns the difference from the configured backbone.
func (e *UnfitError) Unwrap() error { return e.Err }

// unfit adds to the error of weights the known backbone that they fit, or returns an
// [UnfitError].
func unfit(err error, tensors []tensorfile.Tensor) error {
	for _, e := range backbone.All {
		store := nn.NewStore()
		e.Value.Build(store.Group("all"), backbone.Options{})
		if store.Compare(backbone.Pretrained(e.Value, tensors), "") == nil {
			return fmt.Errorf("%w; these weights fit %s: set model.backbone.name=%[2]s", err, e.Name)
		}
	}
	return &UnfitError{err}
}
