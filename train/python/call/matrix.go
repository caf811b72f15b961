package call

import (
	"unsafe"

	"hgld/internal/vec"
	"hgld/train/device"
)

// finite reports whether all elements of the matrices are finite.
func (b *Batch) finite() bool {
	for _, m := range append([]Matrix{b.Query, b.Gallery, b.Memory}, b.Params...) {
		if !m.Absent() && !m.finite() {
			return false
		}
	}
	return true
}

func (m Matrix) finite() bool {
	for i := range m.Rows {
		if !m.wide() {
			if vec.NonFinite(m.row(i)) > 0 {
				return false
			}
			continue
		}
		for _, v := range m.wideRow(i) {
			if v-v != 0 {
				return false
			}
		}
	}
	return true
}

// row returns row i of a float32 matrix.
func (m Matrix) row(i int) []float32 { return m.F32[i*m.Stride:][:m.Cols] }

// wideRow returns row i of a float64 matrix.
func (m Matrix) wideRow(i int) []float64 { return m.F64[i*m.Stride:][:m.Cols] }

// fill writes elements row by row, in either type.
func (m Matrix) fill(values []float32) {
	for i := range m.Rows {
		part := values[i*m.Cols:][:m.Cols]
		if !m.wide() {
			copy(m.row(i), part)
			continue
		}
		row := m.wideRow(i)
		for j, v := range part {
			row[j] = float64(v)
		}
	}
}

// fillWide writes float64 rows to a float64 matrix.
func (m Matrix) fillWide(rows [][]float64) {
	for i, row := range rows {
		copy(m.wideRow(i), row)
	}
}

// wideRows returns the rows of a float64 matrix, in the caller's memory.
func (m Matrix) wideRows() [][]float64 {
	rows := make([][]float64, m.Rows)
	for i := range rows {
		rows[i] = m.wideRow(i)
	}
	return rows
}

// narrowed returns a float64 matrix rounded to float32, and any other as it is.
func (m Matrix) narrowed() Matrix {
	if !m.wide() {
		return m
	}
	n := Matrix{F32: make([]float32, m.Rows*m.Cols), Rows: m.Rows, Cols: m.Cols, Stride: m.Cols}
	for i := range m.Rows {
		row := n.row(i)
		for j, v := range m.wideRow(i) {
			row[j] = float32(v)
		}
	}
	return n
}

// Bytes returns the bytes of a parameter or a state.
func (a Array) Bytes() int {
	n := 1
	if a.Type == device.F32.String() {
		n = device.F32.Size()
	}
	for _, d := range a.Dims {
		n *= d
	}
	return n
}

// bytesOf returns the memory of numbers.
func bytesOf[T float32 | int32](list []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), 4*len(list))
}
