package cpu

import (
	"fmt"
	"math"

	"hgld/internal/vec"
	"hgld/train/device"
)

// SoftmaxLoss is the cross-entropy of p = softmax(z/T) of each row with its
// target class k, smoothed by s over the C classes:
//
//	loss = −(1−s)·log p_k − s/C·Σ log p,  dz = (p − (1−s)·[k] − s/C)/T
//
// with upstream 1. A row with target −1 has loss and gradient 0. dz may be
// absent.
func (b *Backend) SoftmaxLoss(loss, dz, z, target device.Array, o device.Softmax) {
	rows, width := z.Rows(), z.Cols()
	if loss.Len() != rows || target.Len() != rows || !dz.Absent() && (dz.Len() != z.Len() || dz.Cols() != width) {
		panic(shapes("SoftmaxLoss", loss, dz, z, target))
	}
	if !(o.Temperature > 0) {
		panic(fmt.Sprintf("cpu: SoftmaxLoss: temperature is %v, want a positive number", o.Temperature))
	}
	split(b, rows, rowGrain(width), softmaxTask{
		f32(loss), matrixOf(dz), matrixOf(z), i32(target), float64(o.Temperature), float64(o.Smoothing)})
}

type softmaxTask struct {
	loss                   []float32
	dz, z                  matrix
	target                 []int32
	temperature, smoothing float64
}

func (t *softmaxTask) span(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		z, dz := t.z.row(i), t.dz.row(i)
		k := int(t.target[i])
		if k < 0 {
			t.loss[i] = 0
			clear(dz)
			continue
		}
		t.loss[i] = float32(t.row(dz, z, k))
	}
}

// row returns the loss of one row and writes its gradient. NaN propagates into both.
func (t *softmaxTask) row(dz, z []float32, k int) float64 {
	top, scale, classes := float64(maximum(z)), 1/t.temperature, float64(len(z))
	own, mean := (float64(z[k])-top)*scale, 0.0
	if t.smoothing != 0 {
		mean = (rowSum(z, false)/classes - top) * scale
	}
	var sum float64
	if dz == nil {
		sum = expSum(z, top, scale)
	} else {
		sum = vec.ExpScaled(dz, z, top, scale)
		vec.ScaleWide(dz, scale/sum, dz)
		even := t.smoothing / classes
		if t.smoothing != 0 {
			for j := range dz {
				dz[j] -= float32(even * scale)
			}
		}
		dz[k] = float32((math.Exp(own)/sum - even - (1 - t.smoothing)) * scale)
	}
	return math.Log(sum) - (1-t.smoothing)*own - t.smoothing*mean
}

// expSum returns Σ e^((z − top)·scale) without keeping the terms.
func expSum(z []float32, top, scale float64) (sum float64) {
	var terms [512]float32
	for len(z) > 0 {
		n := min(len(terms), len(z))
		sum += vec.ExpScaled(terms[:n], z[:n], top, scale)
		z = z[n:]
	}
	return sum
}
