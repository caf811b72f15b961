// Package warmstart fills a new network from a file of weights or from another run, and takes over the preprocessing
// that belongs to them.
package warmstart

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
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/network"
	"hgld/train/nn"
	"hgld/train/pretrained"
)

// Load fills the network with the start of a new run: the backbone from Model.Weights, the
// whole network from From, or nothing.
func Load(n *network.Network, c *config.Config, p *config.Resolved) (s Start, err error) {
	switch {
	case c.From != "":
		return fillNetwork(n, c, p)
	case c.Model.Weights != "":
		return fillBackbone(n, p.Backbone, &c.Model)
	}
	return s, nil
}

// Start describes where a run starts from.
type Start struct {
	Left  []string // tensors of Model.Weights after the backbone
	Notes []string // what was chosen of a file, and which prefixes its names had
}

// fillBackbone fills the backbone from a file with names of torchvision or timm, or from a
// checkpoint of a whole network, hgld's or SupRank's. It skips the classifier.
func fillBackbone(n *network.Network, spec backbone.Spec, m *config.Architecture) (s Start, err error) {
	if info, err := os.Stat(m.Weights); err == nil && info.IsDir() {
		return s, &config.Error{Err: &WeightsFolderError{m.Weights}}
	}
	w, err := readWeights("model.weights", m.Weights, m.WeightsKey)
	if err != nil {
		return s, err
	}
	kept, wrapper := backbone.Pretrained(spec, w.Tensors)
	s.Notes = weightsNotes(m.Weights, w, wrapper)
	for i := range kept {
		kept[i].Name = network.BackbonePrefix + kept[i].Name
	}
	if err := n.Store.Import(n.Backend, kept, network.BackbonePrefix); err != nil {
		return s, &config.Error{Err: unfit(fmt.Errorf("model.weights: %s: %w", m.Weights, err), w.Tensors)}
	}
	whole, _ := backbone.Checkpoint(w.Tensors)
	if !slices.ContainsFunc(whole, func(t tensorfile.Tensor) bool {
		return strings.HasPrefix(t.Name,
			network.BackbonePrefix)
	}) {
		return s, nil // torchvision's or timm's: what follows is a classifier
	}
	for _, t := range checkpoint.OfNetwork(whole) {
		if !strings.HasPrefix(t.Name, network.BackbonePrefix) {
			s.Left = append(s.Left, t.Name)
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

// fillNetwork fills the network from a run, one of its checkpoints, or an export. It does not touch the
// loss or the optimizer.
func fillNetwork(n *network.Network, c *config.Config, p *config.Resolved) (s Start, err error) {
	tensors, model, notes, err := readNetwork(c.From, c.Model.WeightsKey)
	if err != nil {
		return s, err
	}
	s.Notes = notes
	alone := network.New(n.Backend, c, p, n.Decoder) // a store without the parameters of the loss
	if bad := alone.Store.Compare(tensors, ""); bad != nil {
		return s, &config.Error{Err: fmt.Errorf("from: %s: %w%s", c.From, bad, otherModel(c.Model, model))}
	}
	own, err := n.Store.Export(n.Backend)
	if err != nil {
		return s, fmt.Errorf("train: from: %w", err)
	}
	if err := n.Store.Import(n.Backend, checkpoint.Overlay(own, tensors), ""); err != nil {
		return s, fmt.Errorf("train: from: %s: %w", c.From, err)
	}
	return s, nil
}

// readNetwork reads the network of a run directory, a checkpoint or an export, averaged if the
// run kept an average. For the first two it also returns the architecture.
func readNetwork(path, key string) (list []tensorfile.Tensor, m *config.Architecture, notes []string, err error) {
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
		return checkpoint.OfNetwork(tensors), nil, weightsNotes(path, w, wrapper), nil
	}
	folder, s, err := checkpoint.Find(path)
	if err != nil {
		return nil, nil, nil, err
	}
	tensors, err := checkpoint.ReadTensors(folder, checkpoint.WeightsFile(&s.Config))
	return checkpoint.OfNetwork(tensors), &s.Config.Model, nil, err
}

// otherModel lists the settings in which two architectures differ, or "" if the other is unknown.
func otherModel(now config.Architecture, was *config.Architecture) string {
	if was == nil {
		return "; for a file with only a backbone, set model.weights"
	}
	a, b := config.Config{Model: *was}, config.Config{Model: now}
	list, err := checkpoint.Differences(checkpoint.State{Config: a}, checkpoint.State{Config: b})
	if err != nil || len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, "; ")
}

// readWeights reads a file of weights. setting is the one that named the file, for messages.
func readWeights(setting, path, key string) (*pretrained.Weights, error) {
	w, err := pretrained.Read(path, key)
	switch {
	case errors.As(err, new(*torchfile.FormatError)):
		return nil, &config.Error{Err: fmt.Errorf("%s is %w; save its state_dict() from the program that made it, or "+
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
