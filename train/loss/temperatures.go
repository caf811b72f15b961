package loss

import (
	"encoding/json"
	"errors"
	"slices"

	"go.yaml.in/yaml/v3"

	"hgld/train/device"
)

// Temperatures holds the temperatures of the sigmoids by which a recall loss tests that a rank is
// at most k. The setting is one number (SupRank), or a list with one number for each k in the
// order of at_k (the authors' code of Recall@k).
type Temperatures struct {
	All  float64   `yaml:"-"` // for every k
	Each []float64 `yaml:"-"` // nil: All for every k
}

// setting returns the number or the list.
func (t Temperatures) setting() any {
	if t.Each != nil {
		return t.Each
	}
	return t.All
}

// MarshalYAML returns the number or the list.
func (t Temperatures) MarshalYAML() (any, error) { return t.setting(), nil }

// MarshalJSON returns the number or the list.
func (t Temperatures) MarshalJSON() ([]byte, error) { return json.Marshal(t.setting()) }

// UnmarshalYAML accepts what MarshalYAML returns.
func (t *Temperatures) UnmarshalYAML(node *yaml.Node) (err error) {
	*t = Temperatures{}
	if node.Kind == yaml.SequenceNode {
		err = node.Decode(&t.Each)
	} else {
		err = node.Decode(&t.All)
	}
	if err != nil {
		return errors.New("want a number, or a list with one number for each value of at_k")
	}
	return nil
}

// recall returns the score for the given values of k and their temperatures.
func recall(at []float64, t Temperatures) device.Score {
	return device.Score{Kind: device.ScoreRecall, At: narrow(at), Temp: narrow(t.of(at))}
}

// of returns the temperature of each k.
func (t Temperatures) of(at []float64) []float64 {
	if t.Each != nil {
		return t.Each
	}
	return slices.Repeat([]float64{t.All}, len(at))
}

func narrow(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}
