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

// Upload copies vectors to the device. If unit is set, it scales rows to unit length. A row whose scores would have no
// order, since they are not finite, is an error that names it.
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
		if row := prepare(part, cols, unit); row >= 0 {
			return noOrder(lo+row, part[row*cols:][:cols])
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

// prepare scales rows to unit length if unit is set, on all threads. It returns the first row that cannot be ranked,
// or −1.
func prepare(part []float32, cols int, unit bool) int {
	threads := runtime.GOMAXPROCS(0)
	rows := len(part) / cols
	share := (rows + threads - 1) / threads
	first := make([]int, threads)
	var group sync.WaitGroup
	for t := range threads {
		first[t] = -1
		group.Go(func() {
			defer crash.Guard()
			for row := t * share; row < min((t+1)*share, rows); row++ {
				x := part[row*cols:][:cols]
				var squares [1]float64
				sumSquares(squares[:], x, cols)
				if !ranks(squares[0], unit) {
					first[t] = row
					return
				}
				if unit {
					vec.ScaleWide(x, unitScale(squares[0]), x)
				}
			}
		})
	}
	group.Wait()
	for _, row := range first {
		if row >= 0 {
			return row
		}
	}
	return -1
}

// ranks reports whether the scores of a row with this sum of squares are finite: its values are, and if rows keep
// their lengths, so are the products of two rows as long as this one in float32.
func ranks(squares float64, unit bool) bool {
	if unit {
		return squares-squares == 0
	}
	return squares <= math.MaxFloat32
}

// noOrder says why a row cannot be ranked.
func noOrder(row int, x []float32) error {
	for column, value := range x {
		if value-value != 0 {
			return fmt.Errorf("embedding %d has a value that is not finite (column %d)", row, column)
		}
	}
	var squares [1]float64
	sumSquares(squares[:], x, len(x))
	return fmt.Errorf("embedding %d has length %.2g, and in float32 the product of two rows is finite up to length "+
		"1.8e19; scale rows to unit length, or divide all by one number", row, math.Sqrt(squares[0]))
}
