package device

// This file has the checks of shapes that backends share. A backend panics if arrays do not fit.

// AreVectors reports whether each of the arrays is absent or has n elements without gaps.
func AreVectors(n int, arrays ...Array) bool {
	for _, v := range arrays {
		if !v.Absent() && (v.Len() != n || !v.Contiguous()) {
			return false
		}
	}
	return true
}

// Trails reports whether the dimensions of y are the last ones of x.
func Trails(y, x Array) bool {
	for i := range y.N {
		if y.N > x.N || y.Dims[y.N-1-i] != x.Dims[x.N-1-i] {
			return false
		}
	}
	return true
}

// OuterRow returns the elements of a row of the first dimension, and the distance to the next.
func OuterRow(a Array) (width, stride int) {
	if a.N == 2 {
		return a.Dims[1], a.Ld
	}
	width = a.Dims[1] * a.Dims[2] * a.Dims[3]
	return width, width
}

// AreMatrices reports whether a is a matrix, and the others matrices of its size or absent.
func AreMatrices(a Array, others ...Array) bool {
	fits := a.N == 2
	for _, m := range others {
		fits = fits && (m.Absent() || m.N == 2 && m.Dims == a.Dims)
	}
	return fits
}

// FitsRanking reports whether rel has a row for each query of sh, and the others have the size of sh or are absent.
func FitsRanking(sh, rel Array, others ...Array) bool {
	return AreMatrices(sh, others...) && rel.N == 2 && rel.Dims[0] == sh.Dims[0] && rel.Dims[1] >= 2 &&
		rel.Dims[1] <= AbsentLevel
}

// FitsLabels reports whether the arrays of Rank.Shared fit. It replaces o.To if that is 0.
func (o *SharedKind) FitsLabels(sh, ql, gl, self Array) bool {
	levels := ql.Cols()
	if o.To == 0 {
		o.To = levels
	}
	return sh.N == 2 && ql.N == 2 && gl.N == 2 && sh.Dims[0] == ql.Dims[0] && sh.Dims[1] == gl.Dims[0] &&
		gl.Cols() == levels && o.From >= 0 && o.From < o.To && o.To <= levels && levels < AbsentLevel &&
		(self.Absent() || self.Len() == ql.Dims[0])
}

// FitsMoments reports whether the arrays of Norm fit: [..., C], stats [2,C] and vectors [C].
func FitsMoments(dst, stats, x, gamma, beta, residual Array) bool {
	c := x.Cols()
	return (dst.Absent() || dst.Len() == x.Len() && dst.Cols() == c) && (residual.Absent() || residual.Len() == x.Len()) &&
		stats.Len() == 2*c && AreVectors(c, gamma, beta) && x.Contiguous() && dst.Contiguous() && stats.Contiguous()
}

// Shape returns the sizes of a product, where op(a) is [rows, inner] and op(b) [inner, cols], and whether the arrays
// fit.
func (m Mul) Shape(dst, a, b Array) (rows, cols, inner, batch int, fits bool) {
	size := func(x Array, transposed bool) (rows, cols int) {
		if x.N < 2 {
			return 0, 0
		}
		rows, cols = x.Dims[x.N-2], x.Dims[x.N-1]
		if transposed {
			rows, cols = cols, rows
		}
		return rows, cols
	}
	rows, cols = size(dst, false)
	rowsA, inner := size(a, m.TransA)
	innerB, colsB := size(b, m.TransB)
	batch, fits = 1, (dst.N == 2 || dst.N == 3) && a.N == dst.N && b.N == dst.N
	if dst.N == 3 {
		batch = dst.Dims[0]
		fits = fits && a.Dims[0] == batch && b.Dims[0] == batch
	}
	return rows, cols, inner, batch, fits && rowsA == rows && colsB == cols && innerB == inner &&
		AreVectors(cols, m.Bias) && (m.Sums.Absent() || m.TransA && dst.N == 2 && AreVectors(rows, m.Sums)) &&
		like(m.Add, dst) && (m.Factor.Absent() || like(m.Factor, dst) && m.Bias.Absent() && m.Beta == 0 && m.Act == Identity)
}

// like reports whether a is absent or is laid out as dst.
func like(a, dst Array) bool {
	return a.Absent() || a.Dims == dst.Dims && a.Type == dst.Type && a.Ld == dst.Ld
}

// IsEach reports whether the s of Scale has a number for each element of x.
func IsEach(s, x Array) bool { return s.N == x.N && s.Dims == x.Dims && s.Type == x.Type }

// Windows returns the number of places of a window of k elements in n, with pad more on each side. A stride or a
// dilation of 0 means 1.
func Windows(n, k, stride, pad, dilation int) int {
	return (n+2*pad-max(dilation, 1)*(k-1)-1)/max(stride, 1) + 1
}

// AreTracked reports whether arrays fit as those of Track.
func AreTracked(running, stats, rate Array) bool {
	return running.N == 2 && running.Dims[0] == 2 && running.Contiguous() && stats.Contiguous() &&
		stats.Len() == running.Len() && rate.Len() == 1
}
