package retrieval

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"sync"

	"hgld/internal/crash"
	"hgld/internal/vec"
	"hgld/train/device"
)

// Vectors is a matrix of embeddings on the host that is read a few rows at a time, such as an
// open .npy file.
type Vectors interface {
	// Rows returns the number of rows and columns.
	Rows() (rows, cols int)
	// ReadRows fills dst with the rows from lo on.
	ReadRows(dst []float32, lo int) error
}

// Matrix is Vectors in memory.
type Matrix struct {
	Cols   int       // numbers of a row
	Values []float32 // row by row
}

// Rows returns the number of rows and columns.
func (m *Matrix) Rows() (rows, cols int) { return len(m.Values) / max(m.Cols, 1), m.Cols }

// ReadRows fills dst with the rows from lo on.
func (m *Matrix) ReadRows(dst []float32, lo int) error {
	copy(dst, m.Values[lo*m.Cols:])
	return nil
}

// Close does nothing.
func (m *Matrix) Close() error { return nil }

// Upload copies vectors to the device. If unit is set, it scales rows to unit length. A row that
// is not finite is an error that names it, because its scores would have no order.
func Upload(b device.Backend, v Vectors, unit bool) (a device.Array, err error) {
	rows, cols := v.Rows()
	if rows == 0 || cols == 0 {
		return a, fmt.Errorf("the embeddings are %d×%d, want at least one row and one column", rows, cols)
	}
	err = device.Do(b, func() error {
		a = device.New(b, device.F32, rows, cols)
		return upload(b, a, v, unit)
	})
	return a, err
}

// upload reads a panel at a time, and checks and scales its rows on all threads. If the host can
// reach the array, it reads rows directly into it.
func upload(b device.Backend, a device.Array, v Vectors, unit bool) error {
	rows, cols := v.Rows()
	panel := panelRows(rows, cols)
	host, there := b.(device.Host)
	var values []float32
	var data []byte
	if !there {
		values, data = make([]float32, panel*cols), make([]byte, 4*panel*cols)
	}
	for lo := 0; lo < rows; lo += panel {
		hi := min(lo+panel, rows)
		var part []float32
		if there {
			part = host.Floats(a.RowRange(lo, hi))
		} else {
			part = values[:(hi-lo)*cols]
		}
		if err := v.ReadRows(part, lo); err != nil {
			return err
		}
		if at := prepare(part, cols, unit); at >= 0 {
			return fmt.Errorf("embedding %d has a value that is not finite (column %d)", lo+at/cols, at%cols)
		}
		if there {
			continue
		}
		for i, x := range part {
			binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(x))
		}
		b.Upload(a.RowRange(lo, hi), data[:4*len(part)])
	}
	return nil
}

// prepare scales rows to unit length if unit is set, on all threads. It returns the index of the
// first value that is not finite, or −1.
func prepare(part []float32, cols int, unit bool) int {
	threads := runtime.GOMAXPROCS(0)
	rows := len(part) / cols
	share := (rows + threads - 1) / threads * cols
	first := make([]int, threads)
	var group sync.WaitGroup
	for t := range threads {
		lo := min(t*share, len(part))
		mine := part[lo:min(lo+share, len(part))]
		group.Go(func() {
			defer crash.Guard()
			if first[t] = notFinite(mine); first[t] >= 0 {
				first[t] += lo
				return
			}
			for i := 0; unit && i < len(mine); i += cols {
				toUnit(mine[i : i+cols])
			}
		})
	}
	group.Wait()
	for _, at := range first {
		if at >= 0 {
			return at
		}
	}
	return -1
}

// notFinite returns the index of the first NaN or infinity, or −1.
func notFinite(values []float32) int {
	for i, x := range values {
		if x-x != 0 {
			return i
		}
	}
	return -1
}

// toUnit divides a row by its length, in float64. An all-zero row stays zero.
func toUnit(row []float32) {
	var sum [1]float64
	sumSquares(sum[:], row, len(row))
	vec.ScaleWide(row, unitScale(sum[0]), row)
}
