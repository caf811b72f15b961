package cpu

import "hgld/train/device"

// lineWidth is the number of elements in a line of contiguous arrays. It is also about the
// work of one span: 64 KiB of float32, which fits an L2 cache together with the operands.
const lineWidth = 1 << 14

// lines cuts arrays of equal shape into runs of elements that are contiguous in every array.
// Contiguous arrays are cut every lineWidth elements, others at each row.
type lines struct {
	count, width, total int
	flat                bool
}

// linesOf returns the lines that all arrays share. It panics if their numbers of elements
// differ, or if one has gaps and their numbers of columns differ.
func linesOf(op string, a device.Array, more ...device.Array) lines {
	flat := a.Contiguous()
	for i := range more {
		m := &more[i]
		if m.Absent() {
			continue
		}
		flat = flat && m.Contiguous()
		if m.Len() != a.Len() {
			panic(shapes(op, a, *m))
		}
	}
	n := a.Len()
	if flat {
		return lines{count: (n + lineWidth - 1) / lineWidth, width: lineWidth, total: n, flat: true}
	}
	for i := range more {
		if m := &more[i]; !m.Absent() && m.Cols() != a.Cols() {
			panic(shapes(op, a, *m))
		}
	}
	return lines{count: a.Rows(), width: a.Cols(), total: n}
}

// grain returns the number of lines per span.
func (l lines) grain() int { return max(1, lineWidth/max(1, l.width)) }

// of returns line i of x, the elements of a. It returns nil if a is absent.
func (l lines) of(x []float32, a *device.Array, i int) []float32 {
	lo, hi := l.bounds(a, i)
	if x == nil {
		return nil
	}
	return x[lo:hi]
}

// bounds returns the bounds of line i within a.
func (l lines) bounds(a *device.Array, i int) (lo, hi int) {
	if l.flat {
		return i * l.width, min((i+1)*l.width, l.total)
	}
	return i * a.Ld, i*a.Ld + l.width
}

// rowsOf returns the number of rows of a as defined by device.Array, their width and their
// stride.
func rowsOf(a device.Array) (rows, width, stride int) {
	rows, width = a.Rows(), a.Cols()
	if a.Contiguous() {
		return rows, width, width
	}
	return rows, width, a.Ld
}

// matrix is an F32 array by its rows. An absent array has none.
type matrix struct {
	elements      []float32
	width, stride int
}

func matrixOf(a device.Array) matrix {
	_, width, stride := rowsOf(a)
	return matrix{f32(a), width, stride}
}

// row returns row i, or nil if the array is absent.
func (m *matrix) row(i int) []float32 {
	if m.elements == nil {
		return nil
	}
	return m.elements[i*m.stride:][:m.width]
}

// rowGrain returns the number of rows of this width per span.
func rowGrain(width int) int { return max(1, lineWidth/max(1, width)) }

// accumulate returns acc·old + v. It does not read old if acc is 0.
func accumulate(old, acc float32, v float64) float32 {
	if acc == 0 {
		return float32(v)
	}
	return float32(float64(acc)*float64(old) + v)
}
