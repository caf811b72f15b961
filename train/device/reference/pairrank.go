package reference

import (
	"math"

	"hgld/train/device"
)

// Step is a step function of t = s_i − s_k with its constants in float64, ready to evaluate: the
// automatic offset is filled in, and an Upper with Rho −1 is replaced by the Sigmoid that it
// means. See device.Step for the functions.
type Step struct {
	Kind                      device.StepKind // which step
	Tau                       float64         // Sigmoid, Upper: temperature
	Rho, Delta, Start, Offset float64         // Upper
	Zero                      float64         // Upper: value at 0
	LeakSlope, Beta, Gamma    float64         // Leak
}

// Steps are the steps of the rank and of the positives' rank, by how the level of item i compares
// with that of k: device.Higher, Equal, Lower.
type Steps struct{ Rank, Plus [3]Step }

// NewSteps converts h.
func NewSteps(h *device.Steps) *Steps {
	n := new(Steps)
	n.Set(h)
	return n
}

// Set sets n to the result of NewSteps.
func (n *Steps) Set(h *device.Steps) {
	for c := range h.Rank {
		n.Rank[c], n.Plus[c] = newStep(h.Rank[c]), newStep(h.Plus[c])
	}
}

func newStep(d device.Step) Step {
	s := Step{
		Kind: d.Kind, Tau: float64(d.Tau),
		Rho: float64(d.Rho), Delta: float64(d.Delta), Start: float64(d.Start), Offset: float64(d.Offset),
		Zero:      float64(d.Zero),
		LeakSlope: float64(d.LeakSlope), Beta: float64(d.Beta), Gamma: float64(d.Gamma),
	}
	if s.Kind == device.Upper && s.Rho == -1 {
		s.Kind = device.Sigmoid
	}
	if d.AutoOffset {
		s.Offset = s.Start + Sigmoid(s.Delta/s.Tau)
	}
	return s
}

// clamp is the |t|/τ beyond which a sigmoid is constant.
const clamp = 50

// Sigmoid returns 1/(1 + e^−x), constant beyond ±50.
func Sigmoid(x float64) float64 { return 1 / (1 + math.Exp(min(max(-x, -clamp), clamp))) }

// sigmoidSlope returns the derivative of Sigmoid(t/τ) by t.
func sigmoidSlope(t, tau float64) float64 {
	if math.Abs(t) > clamp*tau {
		return 0
	}
	y := Sigmoid(t / tau)
	return y * (1 - y) / tau
}

// Value returns the step at t.
func (s *Step) Value(t float64) float64 {
	switch s.Kind {
	case device.Heaviside:
		if t >= 0 {
			return 1
		}
		return 0
	case device.Sigmoid:
		return Sigmoid(t / s.Tau)
	case device.Upper:
		switch {
		case t < 0:
			return Sigmoid(t / s.Tau)
		case t == 0:
			return s.Zero
		case t <= s.Delta:
			return s.Start + Sigmoid(t/s.Tau)
		}
		return s.Rho*(t-s.Delta) + s.Offset
	case device.Leak:
		if t <= 0 {
			return s.LeakSlope * t
		}
		return min(1, s.Beta*t+s.Gamma)
	}
	return 0
}

// Slope returns the derivative of the step at t.
func (s *Step) Slope(t float64) float64 {
	switch s.Kind {
	case device.Sigmoid:
		return sigmoidSlope(t, s.Tau)
	case device.Upper:
		if t > s.Delta && t > 0 {
			return s.Rho
		}
		return sigmoidSlope(t, s.Tau)
	case device.Leak:
		switch {
		case t <= 0:
			return s.LeakSlope
		case s.Beta*t+s.Gamma < 1:
			return s.Beta
		}
	}
	return 0
}

// Class compares level i with level k: device.Higher, Equal or Lower.
func Class(i, k uint8) int {
	switch {
	case i > k:
		return device.Higher
	case i == k:
		return device.Equal
	}
	return device.Lower
}

// PairRank defines the rank op for one query: two loops over pairs, with which all faster
// versions are compared. s [G] and sh [G] are the scores and the shared levels, rel [L+1] the
// relevance of each level. rank and plus [G] are written at the positives and 0 elsewhere. With
// float64 scores it computes the formulas exactly as written; with float32 scores it rounds t as
// the op does.
func PairRank[T float32 | float64](rank, plus []float64, s []T, sh []uint8, rel []float64, h *Steps) {
	top := uint8(len(rel) - 1)
	for k, lk := range sh {
		rank[k], plus[k] = 0, 0
		if lk < 1 || lk > top {
			continue
		}
		rank[k], plus[k] = 1, rel[lk]
		for i, li := range sh {
			if i == k || li > top {
				continue
			}
			t := float64(T(s[i] - s[k]))
			c := Class(li, lk)
			rank[k] += h.Rank[c].Value(t)
			if li >= 1 {
				plus[k] += min(rel[li], rel[lk]) * h.Plus[c].Value(t)
			}
		}
	}
}

// PairRankGrad defines the gradient of PairRank for one query: ds [G] from drank and dplus [G],
// which are read at the positives.
func PairRankGrad[T float32 | float64](ds, drank, dplus []float64, s []T, sh []uint8, rel []float64, h *Steps) {
	clear(ds)
	top := uint8(len(rel) - 1)
	for k, lk := range sh {
		if lk < 1 || lk > top {
			continue
		}
		for i, li := range sh {
			if i == k || li > top {
				continue
			}
			t := float64(T(s[i] - s[k]))
			c := Class(li, lk)
			d := drank[k] * h.Rank[c].Slope(t)
			if li >= 1 {
				d += dplus[k] * min(rel[li], rel[lk]) * h.Plus[c].Slope(t)
			}
			ds[i] += d
			ds[k] -= d
		}
	}
}
