package cpu

import (
	"math"

	"hgld/internal/vec"
	"hgld/train/device"
)

// Normalize divides each row of x by n = max(‖x‖, eps). norm stores n for each row, negated if
// n is eps. norm may be absent.
func (b *Backend) Normalize(dst, norm, x device.Array, eps float32) {
	rows, width, stride := rowsOf(x)
	_, _, strideDst := rowsOf(dst)
	if dst.Len() != x.Len() || dst.Cols() != width || !norm.Absent() && norm.Len() != rows {
		panic(shapes("Normalize", dst, norm, x))
	}
	split(b, rows, rowGrain(width), normalizeTask{f32(dst), f32(norm), f32(x), width, strideDst, stride, eps})
}

type normalizeTask struct {
	dst, norm, x             []float32
	width, strideDst, stride int
	eps                      float32
}

func (t *normalizeTask) span(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		x, dst := t.x[i*t.stride:][:t.width], t.dst[i*t.strideDst:][:t.width]
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
	rows, width, strideDY := rowsOf(dy)
	_, _, strideY := rowsOf(y)
	_, _, strideDX := rowsOf(dx)
	if dx.Len() != y.Len() || dy.Len() != y.Len() || dx.Cols() != width || y.Cols() != width || norm.Len() != rows {
		panic(shapes("NormalizeGrad", dx, dy, y, norm))
	}
	split(b, rows, rowGrain(width), normalizeGradTask{f32(dx), f32(dy), f32(y), f32(norm), width, strideDX,
		strideDY, strideY})
}

type normalizeGradTask struct {
	dx, dy, y, norm                    []float32
	width, strideDX, strideDY, strideY int
}

func (t *normalizeGradTask) span(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		dx, dy, y := t.dx[i*t.strideDX:][:t.width], t.dy[i*t.strideDY:][:t.width], t.y[i*t.strideY:][:t.width]
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
