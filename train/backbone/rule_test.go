package backbone_test

import (
	"encoding/binary"
	"math"
	"testing"

	"hgld/internal/tensorfile"
)

// ruleArray is an array that a name fills.
type ruleArray struct {
	Name  string  `json:"rule_name"`
	Shape []int   `json:"shape"`
	Scale float64 `json:"scale"`
}

func (r ruleArray) values() []float32 {
	return rule(r.Name, size(r.Shape), float32(r.Scale), 0)
}

func size(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// rule is the fill rule of the goldens: the hash of a name, mixed with the index
// of each element, as 24 bits in [−1, 1); then float32 scale and offset, each
// rounded.
func rule(name string, n int, scale, offset float32) []float32 {
	x := make([]float32, n)
	h := hash(name)
	for i := range x {
		x[i] = h.at(i, scale, offset)
	}
	return x
}

// nameHash is FNV-1a.
type nameHash uint64

func hash(name string) nameHash {
	h := nameHash(0xcbf29ce484222325)
	for i := range len(name) {
		h = (h ^ nameHash(name[i])) * 0x100000001b3
	}
	return h
}

// at is element i of the rule.
func (h nameHash) at(i int, scale, offset float32) float32 {
	z := uint64(h) + uint64(i+1)*0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	z ^= z >> 31
	v := float32(int64(z>>40)-1<<23) / (1 << 23)
	product := float32(scale * v) // rounded before the sum: the conversion forbids a fused one
	return offset + product
}

// fill makes a tensor of a state dict by its kind.
func fill(t *testing.T, name string, shape []int, kind string) tensorfile.Tensor {
	t.Helper()
	n := size(shape)
	of := func(scale, offset float32) tensorfile.Tensor {
		h, data := hash(name), make([]byte, 4*n)
		for i := range n {
			binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(h.at(i, scale, offset)))
		}
		return tensorfile.Tensor{Name: name, DType: "F32", Shape: shape, Data: data}
	}
	switch kind {
	case "weight":
		return of(float32(math.Sqrt(6/float64(size(shape[1:])))), 0)
	case "bias", "bn_mean":
		return of(0.1, 0)
	case "bn_gamma":
		return of(0.25, 0.5)
	case "ln_gamma", "bn_var":
		return of(0.25, 1)
	case "token":
		return of(0.5, 0)
	case "gem_p":
		return of(0, 3)
	case "zero":
		return tensorfile.NewI64(name, shape, make([]int64, n))
	}
	t.Fatalf("%s: unknown kind %q", name, kind)
	return tensorfile.Tensor{}
}
