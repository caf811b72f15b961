package vec

// The functions of this file reduce the columns of a block of rows. A row has len(sum)
// numbers, and rows are stride numbers apart. Sums are float64, add the rows in order, and
// accumulate into the destination. A product of two float32 is exact in float64.

// ColumnSums adds each column of x to sum.
func ColumnSums(sum []float64, x []float32, rows, stride int) {
	columnSums(sum, x, rows, stride, false)
}

// ColumnSquares adds the squares of each column of x to sum.
func ColumnSquares(sum []float64, x []float32, rows, stride int) {
	columnSums(sum, x, rows, stride, true)
}

func columnSums(sum []float64, x []float32, rows, stride int, squares bool) {
	c := len(sum)
	if rows == 0 || c == 0 {
		return
	}
	x = x[:(rows-1)*stride+c]
	from := columnSumsFast(sum, x, rows, stride, squares)
	if from == c {
		return
	}
	for i := range rows {
		for j, v := range x[i*stride:][from:c] {
			d := float64(v)
			if squares {
				d *= d
			}
			sum[from+j] += d
		}
	}
}

// ColumnMoments adds d and d² to sum and squares for each column of x, where d = x − shift in
// float64. x consists of contiguous rows of len(shift). The results give
//
//	mean = shift + Σd/n,  variance = (Σd² − (Σd)²/n)/n.
//
// If shift is a value of the column, (mean − shift)² is at most n·variance. The subtraction
// therefore loses at most a factor of n in precision, 1e-10 for a million rows.
func ColumnMoments(sum, squares []float64, shift, x []float32) {
	c := len(shift)
	if len(x) == 0 {
		return
	}
	sum, squares = sum[:c], squares[:c]
	from := columnMomentsFast(sum, squares, shift, x)
	if from == c {
		return
	}
	for ; len(x) > 0; x = x[c:] {
		for j := from; j < c; j++ {
			d := float64(x[j]) - float64(shift[j])
			sum[j] += d
			squares[j] += float64(d * d)
		}
	}
}

// Affine computes batch normalisation with given statistics, for rows of len(mean):
//
//	dst = (x − mean)·scale + shift (+ residual) (then ReLU)
//
// residual may be nil.
func Affine(dst, x, residual, mean, scale, shift []float32, rectify bool) {
	c := len(mean)
	if len(x) == 0 {
		return
	}
	dst, scale, shift = dst[:len(x)], scale[:c], shift[:c]
	if residual != nil {
		residual = residual[:len(x)]
	}
	from := affineFast(dst, x, residual, mean, scale, shift, rectify)
	if from == c {
		return
	}
	for i := 0; i < len(x); i += c {
		for j := from; j < c; j++ {
			v := float32((x[i+j]-mean[j])*scale[j]) + shift[j]
			if residual != nil {
				v += residual[i+j]
			}
			if rectify {
				v = positive(v)
			}
			dst[i+j] = v
		}
	}
}

// NormSums adds dz·(x − mean) to along and dz to sum for each column. dz is dy, masked as by
// Mask unless y is nil. It stores dz in kept unless kept is nil.
func NormSums(along, sum []float64, kept, dy, x, y, mean []float32) {
	c := len(mean)
	if len(x) == 0 {
		return
	}
	along, sum, dy = along[:c], sum[:c], dy[:len(x)]
	if y != nil {
		y = y[:len(x)]
	}
	if kept != nil {
		kept = kept[:len(x)]
	}
	from := normSumsFast(along, sum, kept, dy, x, y, mean)
	if from == c {
		return
	}
	for i := 0; i < len(x); i += c {
		for j := from; j < c; j++ {
			d := dy[i+j]
			if y != nil {
				d = Where(y[i+j], d)
			}
			if kept != nil {
				kept[i+j] = d
			}
			sum[j] += float64(d)
			along[j] += float64(d) * float64(x[i+j]-mean[j])
		}
	}
}

// NormBack computes the gradient of batch normalisation with respect to x, for rows of
// len(mean):
//
//	dx = scale·(dz − offset − (x − mean)·along)
//
// where dz is as in NormSums.
func NormBack(dx, dy, x, y, mean, scale, along, offset []float32) {
	c := len(mean)
	if len(x) == 0 {
		return
	}
	dx, dy, scale, along, offset = dx[:len(x)], dy[:len(x)], scale[:c], along[:c], offset[:c]
	if y != nil {
		y = y[:len(x)]
	}
	from := normBackFast(dx, dy, x, y, mean, scale, along, offset)
	if from == c {
		return
	}
	for i := 0; i < len(x); i += c {
		for j := from; j < c; j++ {
			d := dy[i+j]
			if y != nil {
				d = Where(y[i+j], d)
			}
			dx[i+j] = scale[j] * (d - offset[j] - float32((x[i+j]-mean[j])*along[j]))
		}
	}
}
