// Package reference defines every operation of a device.Backend by its formula, in plain loops
// and float64. Nothing here is optimised. Package conformance compares backends with these
// definitions, and differentiates them numerically to check gradients. Gradients are defined
// separately only for ranks, bins and pairs, whose definitions package cpu also uses.
//
// Each file has the name of the operation's file in the backends. Arrays are dense. Dimensions
// are those of the method of the same name in package device.
package reference

import "slices"

// Array is a dense row-major array.
type Array struct {
	Dims []int     // at least one
	V    []float64 // the elements
}

// Zeros returns an array of zeros.
func Zeros(dims ...int) *Array {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return &Array{dims, make([]float64, n)}
}

// Clone returns a copy.
func (a *Array) Clone() *Array { return &Array{a.Dims, slices.Clone(a.V)} }

// Cols returns the last dimension.
func (a *Array) Cols() int { return a.Dims[len(a.Dims)-1] }

// Rows returns the product of all other dimensions.
func (a *Array) Rows() int { return len(a.V) / a.Cols() }

// Row returns row i, as a part of a.
func (a *Array) Row(i int) []float64 { return a.V[i*a.Cols() : (i+1)*a.Cols()] }
