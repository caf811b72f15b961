package cpu

import (
	"fmt"
	"math"

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
	rows, width, stride := rowsOf(z)
	_, _, strideDZ := rowsOf(dz)
	if loss.Len() != rows || target.Len() != rows || !dz.Absent() && (dz.Len() != z.Len() || dz.Cols() != width) {
		panic(shapes("SoftmaxLoss", loss, dz, z, target))
	}
	if !(o.Temperature > 0) {
		panic(fmt.Sprintf("cpu: SoftmaxLoss: temperature %v", o.Temperature))
	}
	split(b, rows, rowGrain(width), softmaxTask{
		f32(loss), f32(dz), f32(z), i32(target), width, strideDZ, stride, float64(o.Temperature), float64(o.Smoothing)})
}

type softmaxTask struct {
	loss, dz, z             []float32
	target                  []int32
	width, strideDZ, stride int
	temperature, smoothing  float64
}

func (t *softmaxTask) span(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		z := t.z[i*t.stride:][:t.width]
		var dz []float32
		if t.dz != nil {
			dz = t.dz[i*t.strideDZ:][:t.width]
		}
		k := int(t.target[i])
		if k < 0 {
			t.loss[i] = 0
			clear(dz)
			continue
		}
		t.loss[i] = float32(t.row(dz, z, k))
	}
}

// row returns the loss of one row and writes its gradient.
func (t *softmaxTask) row(dz, z []float32, k int) float64 {
	top := math.Inf(-1)
	for _, v := range z {
		top = max(top, float64(v)) // NaN propagates into the loss
	}
	sum, mean := 0.0, 0.0
	for _, v := range z {
		u := (float64(v) - top) / t.temperature
		sum += math.Exp(u)
		if t.smoothing != 0 {
			mean += u / float64(len(z))
		}
	}
	logSum, classes := math.Log(sum), float64(len(z))
	for j := range dz {
		p := math.Exp((float64(z[j])-top)/t.temperature) / sum
		dz[j] = float32((p - t.smoothing/classes) / t.temperature)
	}
	own := (float64(z[k]) - top) / t.temperature
	if dz != nil {
		p := math.Exp(own) / sum
		dz[k] = float32((p - t.smoothing/classes - (1 - t.smoothing)) / t.temperature)
	}
	return logSum - (1-t.smoothing)*own - t.smoothing*mean
}
