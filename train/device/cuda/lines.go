package cuda

import "hgld/train/device"

// lines describes how an element-wise operation traverses its arrays: as rows of one width.
// Contiguous arrays form a single row.
type lines struct{ rows, width int }

// linesOf returns the layout of arrays of equal size. It skips absent ones. Unless all are
// contiguous, their rows must have equal length.
func linesOf(op string, arrays ...device.Array) lines {
	first, flat := arrays[0], true
	for _, a := range arrays {
		if a.Absent() {
			continue
		}
		if a.Len() != first.Len() {
			panic(shapes(op, arrays...))
		}
		flat = flat && a.Contiguous()
	}
	if flat {
		return lines{1, first.Len()}
	}
	for _, a := range arrays {
		if !a.Absent() && a.Cols() != first.Cols() {
			panic(shapes(op, arrays...))
		}
	}
	return lines{first.Rows(), first.Cols()}
}

// len returns the number of elements.
func (l lines) len() int { return l.rows * l.width }

// blocks returns the grid of a kernel made with map.h. A block has 256 threads with four
// elements each.
func (l lines) blocks() int { return blocks(l.len(), 1024) }

// matrixOf returns the number of rows of an array viewed as a matrix, their width and their
// stride.
func matrixOf(a device.Array) (rows, width, ld int) { return a.Rows(), a.Cols(), stride(a) }
