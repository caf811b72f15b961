package loss

import (
	"fmt"

	"hgld/internal/registry"
)

// Combine says how the losses against batch and memory are joined.
type Combine uint8

// Add sums them ("Cross-Batch Memory", CVPR 2020). Average is what SupRank's code does.
const (
	Add Combine = iota
	Average
)

var combineNames = []string{"sum", "average"}

// weights returns the weights of batch and memory, where memory weighs w, and 0 means
// 1: they are 1 and w, or sum to 1.
func (c Combine) weights(w float32) []float32 {
	if w == 0 {
		w = 1
	}
	if c == Average {
		return []float32{1 / (1 + w), w / (1 + w)}
	}
	return []float32{1, w}
}

// MarshalText returns "sum" or "average".
func (c Combine) MarshalText() ([]byte, error) { return marshalName(combineNames, int(c)) }

// UnmarshalText takes what MarshalText returns.
func (c *Combine) UnmarshalText(text []byte) error {
	i, err := unmarshalName("memory_combine", combineNames, text)
	*c = Combine(i)
	return err
}

func marshalName(names []string, i int) ([]byte, error) {
	if i >= len(names) {
		return nil, fmt.Errorf("no name for the value %d among %v", i, names)
	}
	return []byte(names[i]), nil
}

func unmarshalName(kind string, names []string, text []byte) (int, error) {
	for i, n := range names {
		if n == string(text) {
			return i, nil
		}
	}
	return 0, registry.Unknown(kind, string(text), names)
}
