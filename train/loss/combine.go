package loss

import (
	"fmt"

	"hgld/internal/registry"
)

// Combine selects how the losses against the batch and the memory are joined.
type Combine uint8

// Add sums them ("Cross-Batch Memory", CVPR 2020). Average takes their mean, as SupRank's code
// does.
const (
	Add Combine = iota
	Average
)

var combineNames = []string{"sum", "average"}

// weights returns the weights of the batch and the memory. w is the weight of the memory relative
// to the batch; 0 means 1. Add returns 1 and w; Average scales them to sum to 1.
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

// UnmarshalText accepts what MarshalText returns.
func (c *Combine) UnmarshalText(text []byte) error {
	i, err := unmarshalName("memory_combine", combineNames, text)
	*c = Combine(i)
	return err
}

func marshalName(names []string, i int) ([]byte, error) {
	if i >= len(names) {
		return nil, fmt.Errorf("value %d has no name, want an index into %v", i, names)
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
