package cpu

import (
	"math"

	"hgld/internal/vec"
	"hgld/train/device"
)

// Normalize divides each row of x by n = max(‖x‖, eps). norm stores n for each row, negated if
// n is eps. norm may be absent.
func (b *Backend) Normalize(dst, norm, x device.Array, eps float32) {
	rows, width := x.Rows(), x.Cols()
	if dst.Len() != x.Len() || dst.Cols() != width || !norm.Absent() && norm.Len() != rows {
		panic(shapes("Normalize", dst, norm, x))
	}
	split(b, rows, rowGrain(width), normalizeTask{matrixOf(dst), matrixOf(x), f32(norm), eps})
}

type normalizeTask struct {
	dst, x matrix
	norm   []float32
	eps    float32
}

func (t *normalizeTask) span(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		x, dst := t.x.row(i), t.dst.row(i)
		n := math.Sqrt(dot(x, x))
		kept := float32(n)
		if n < float64(t.eps) {
			n, kept = float64(t.eps), -t.eps
		}
		if t.norm != nil {
			t.norm[i] = kept
		}
		for j, v := range x {
			dst[j] = float32(float64(v) / n)
		}
	}
}

// NormalizeGrad is the gradient of Normalize in terms of its result y and norm n:
//
//	dx = (dy − y·⟨y, dy⟩)/n, or dy/eps if n is eps.
func (b *Backend) NormalizeGrad(dx, dy, y, norm device.Array) {
	rows, width := dy.Rows(), dy.Cols()
	if dx.Len() != y.Len() || dy.Len() != y.Len() || dx.Cols() != width || y.Cols() != width || norm.Len() != rows {
		panic(shapes("NormalizeGrad", dx, dy, y, norm))
	}
	split(b, rows, rowGrain(width), normalizeGradTask{matrixOf(dx), matrixOf(dy), matrixOf(y), f32(norm)})
}

type normalizeGradTask struct {
	dx, dy, y matrix
	norm      []float32
}

func (t *normalizeGradTask) span(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		dx, dy, y := t.dx.row(i), t.dy.row(i), t.y.row(i)
		n, along := float64(t.norm[i]), 0.0
		if n > 0 {
			along = dot(y, dy)
		} else {
			n = -n
		}
		for j, d := range dy {
			dx[j] = float32((float64(d) - float64(y[j])*along) / n)
		}
	}
}

// dot returns ⟨x, y⟩ in float64.
func dot(x, y []float32) float64 { return vec.Dot(x, y) }
