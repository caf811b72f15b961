package cuda

import "hgld/train/device"

// lines is how an element-wise operation walks its arrays: as rows of one width. Arrays
// without gaps are one row of all elements.
type lines struct{ rows, width int }

// linesOf lays out arrays of one size; absent ones are passed over. Unless all are
// without gaps they have rows of the same length too.
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

// len is the number of elements.
func (l lines) len() int { return l.rows * l.width }

// blocks is the grid of a kernel made with map.h, of 256 threads: a thread has four
// elements.
func (l lines) blocks() int { return blocks(l.len(), 1024) }

// matrixOf returns the rows of a matrix-like array, their width and the distance between
// two.
func matrixOf(a device.Array) (rows, width, ld int) { return a.Rows(), a.Cols(), stride(a) }

// isVector reports whether v is absent or n numbers without gaps.
func isVector(v device.Array, n int) bool { return v.Absent() || v.Len() == n && v.Contiguous() }
