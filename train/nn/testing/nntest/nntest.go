// Package nntest reads the values and gradients of a store in tests of networks, and compares them
// with expected ones.
package nntest

import (
	"math"
	"testing"

	"hgld/train/device"
	"hgld/train/nn"
)

// Number is the type in which a test computes.
type Number interface{ float32 | float64 }

// Values exports the arrays of s by name, in the layout of weight files.
func Values[T Number](tb testing.TB, s *nn.Store, b device.Backend) map[string][]T {
	tb.Helper()
	tensors, err := s.Export(b)
	if err != nil {
		tb.Fatal(err)
	}
	all := map[string][]T{}
	for _, t := range tensors {
		values, err := t.Float64()
		if err != nil {
			tb.Fatal(err)
		}
		list := make([]T, len(values))
		for i, v := range values {
			list[i] = T(v)
		}
		all[t.Name] = list
	}
	return all
}

// Gradients exports the gradients of s by name, in the layout of weight files. To export them, it
// puts them in place of the values until it returns.
func Gradients[T Number](tb testing.TB, s *nn.Store, b device.Backend) map[string][]T {
	tb.Helper()
	for _, g := range s.Groups {
		old := device.New(b, device.F32, g.Values.Len())
		b.Copy(old, g.Values)
		b.Copy(g.Values, g.Grads)
		defer b.Copy(g.Values, old)
	}
	return Values[T](tb, s, b)
}

// Distance returns ‖got − want‖ / ‖want‖, or infinity if the lengths differ.
func Distance[T Number](got, want []T) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	diff, norm := 0.0, 0.0
	for i, v := range want {
		d := float64(got[i]) - float64(v)
		diff += d * d
		norm += float64(v) * float64(v)
	}
	if diff == 0 {
		return 0
	}
	return math.Sqrt(diff / norm)
}

// Near reports an error if Distance is greater than the tolerance.
func Near[T Number](tb testing.TB, what string, got, want []T, tolerance float64) {
	tb.Helper()
	if d := Distance(got, want); !(d <= tolerance) {
		tb.Errorf("%s: relative error %.3g, tolerance %g; %d values for %d", what, d, tolerance, len(got), len(want))
	}
}
