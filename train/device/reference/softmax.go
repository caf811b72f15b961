package reference

import (
	"math"

	"hgld/train/device"
)

// SoftmaxLoss returns the cross-entropy of each row of z with its target, smoothed as o
// says. A row with target −1 has loss 0.
func SoftmaxLoss(z *Array, target []int, o device.Softmax) []float64 {
	loss, classes := make([]float64, z.Rows()), float64(z.Cols())
	for i, k := range target {
		if k < 0 {
			continue
		}
		top, sum, smooth := math.Inf(-1), 0.0, float64(o.Smoothing)
		for _, v := range z.Row(i) {
			top = max(top, v/float64(o.Temperature))
		}
		for _, v := range z.Row(i) {
			sum += math.Exp(v/float64(o.Temperature) - top)
		}
		for j, v := range z.Row(i) {
			logP := v/float64(o.Temperature) - top - math.Log(sum)
			loss[i] -= smooth / classes * logP
			if j == k {
				loss[i] -= (1 - smooth) * logP
			}
		}
	}
	return loss
}

// Softmax returns the softmax of each row of x, or its logarithm.
func Softmax(x *Array, log bool) *Array {
	y := Zeros(x.Dims...)
	for i := range x.Rows() {
		top, sum := math.Inf(-1), 0.0
		for _, v := range x.Row(i) {
			top = max(top, v)
		}
		for _, v := range x.Row(i) {
			sum += math.Exp(v - top)
		}
		for j, v := range x.Row(i) {
			if y.Row(i)[j] = v - top - math.Log(sum); !log {
				y.Row(i)[j] = math.Exp(y.Row(i)[j])
			}
		}
	}
	return y
}
