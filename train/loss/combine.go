package loss

import (
	"fmt"
	"slices"

	"hgld/internal/registry"
)

// Combine selects how the losses against the batch and the memory are joined.
type Combine = choice[combineNames]

// Add sums them ("Cross-Batch Memory", CVPR 2020). Average takes their mean, as SupRank's code
// does.
const (
	Add Combine = iota
	Average
)

type combineNames struct{}

func (combineNames) words() (string, []string) { return "memory_combine", []string{"sum", "average"} }

// memoryWeights returns the weights of the batch and the memory. w is the weight of the memory relative
// to the batch; 0 means 1. Add returns 1 and w; Average scales them to sum to 1.
func memoryWeights(c Combine, w float32) []float32 {
	if w == 0 {
		w = 1
	}
	if c == Average {
		return []float32{1 / (1 + w), w / (1 + w)}
	}
	return []float32{1, w}
}

// choice is a setting that is one of a few words; its value is the index of the word.
type choice[W words] uint8

type words interface {
	words() (setting string, list []string)
}

// MarshalText returns the word.
func (c choice[W]) MarshalText() ([]byte, error) {
	var of W
	_, list := of.words()
	if int(c) >= len(list) {
		return nil, fmt.Errorf("value %d has no name, want an index into %v", int(c), list)
	}
	return []byte(list[c]), nil
}

// UnmarshalText accepts what MarshalText returns.
func (c *choice[W]) UnmarshalText(text []byte) error {
	var of W
	setting, list := of.words()
	i := slices.Index(list, string(text))
	if i < 0 {
		return registry.Unknown(setting, string(text), list)
	}
	*c = choice[W](i)
	return nil
}
