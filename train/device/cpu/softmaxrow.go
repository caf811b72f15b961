package cpu

import (
	"math"

	"hgld/internal/vec"
	"hgld/train/device"
)

// Softmax computes e^(x − top)/Σ e^(x − top) for each row, where top is its maximum, or the
// logarithm of that. dst may be x.
func (b *Backend) Softmax(dst, x device.Array, log bool) {
	width := x.Cols()
	if dst.Len() != x.Len() || dst.Cols() != width {
		panic(shapes("Softmax", dst, x))
	}
	split(b, x.Rows(), rowGrain(width), softmaxRowTask{matrixOf(dst), matrixOf(x), log})
}

type softmaxRowTask struct {
	dst, x matrix
	log    bool
}

func (t *softmaxRowTask) span(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		x, dst := t.x.row(i), t.dst.row(i)
		top := float64(maximum(x))
		if !t.log {
			vec.ScaleWide(dst, 1/vec.ExpScaled(dst, x, top, 1), dst)
			continue
		}
		logSum := math.Log(expSum(x, top, 1))
		for j, v := range x {
			dst[j] = float32(float64(v) - top - logSum)
		}
	}
}

// SoftmaxGrad is the gradient of Softmax in terms of its result y:
//
//	dx = y(dy − Σ dy·y), or dx = dy − e^y·Σ dy for the logarithm.
//
// dx may be dy.
func (b *Backend) SoftmaxGrad(dx, dy, y device.Array, log bool) {
	width := y.Cols()
	if dx.Len() != y.Len() || dy.Len() != y.Len() || dx.Cols() != width || dy.Cols() != width {
		panic(shapes("SoftmaxGrad", dx, dy, y))
	}
	split(b, y.Rows(), rowGrain(width), softmaxRowGradTask{matrixOf(dx), matrixOf(dy), matrixOf(y), log})
}

type softmaxRowGradTask struct {
	dx, dy, y matrix
	log       bool
}

func (t *softmaxRowGradTask) span(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		dx, dy, y := t.dx.row(i), t.dy.row(i), t.y.row(i)
		if t.log {
			sum := rowSum(dy, false)
			for j, v := range y {
				dx[j] = float32(float64(dy[j]) - math.Exp(float64(v))*sum)
			}
			continue
		}
		sum := vec.Dot(dy, y)
		for j, v := range y {
			dx[j] = float32(float64(v) * (float64(dy[j]) - sum))
		}
	}
}
