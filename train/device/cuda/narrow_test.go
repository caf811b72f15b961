package cuda_test

import (
	"bytes"
	"testing"

	"hgld/train/device"
	"hgld/train/device/bf16"
	"hgld/train/device/testing/conformance"
)

// inF32 is a backend that says it computes in F32 alone, so that package widen wraps it.
type inF32 struct{ device.Backend }

func (inF32) Supports(t device.DType) bool { return t == device.F32 }

// An operation on BF16 arrays computes as on F32 arrays and rounds once. Its bytes are those
// of package widen around the same backend, except for products and attention, which tensor
// cores add up in an order of their own.
func TestShortArraysGiveTheBytesOfWidenedOnes(t *testing.T) {
	b := emulated(t)
	native, widened := conformance.ShortOutcomes(t, b), conformance.ShortOutcomes(t, bf16.Backend(inF32{b}))
	compared := 0
	for i, n := range native {
		if n.CardsDiffer {
			continue
		}
		for k := range n.Results {
			compared++
			if !bytes.Equal(n.Results[k], widened[i].Results[k]) {
				t.Errorf("%v: result %d differs from the widened one", n.Ops, k)
			}
		}
	}
	if compared < 30 {
		t.Errorf("only %d results were compared", compared)
	}
}
