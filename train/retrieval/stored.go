package retrieval

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"hgld/internal/crash"
	"hgld/internal/vec"
	"hgld/train/device"
)

// FileVectors is a matrix of embeddings that stays in place, such as a mapped file, while an
// evaluation on the host reads it. Each panel of rows is widened and scaled when its products are
// computed.
type FileVectors struct {
	from       Vectors
	rows, cols int
	scale      []float64 // of each row; nil: rows are not scaled
	zeros      int       // number of all-zero rows
	firstZero  int
}

// pageKeeper is a Vectors that keeps file pages in memory after reading them.
type pageKeeper interface {
	// GiveBack lets the system reclaim the pages of rows [lo, hi).
	GiveBack(lo, hi int)
}

// panelElements bounds a panel of rows. It is 16 MB, which a backend packs at a time.
const panelElements = 4 << 20

// panelRows returns the rows of a panel, a multiple of a product's tile if one fits.
func panelRows(rows, cols int) int {
	const tile = 512 // columns of a product, which are rows of its right matrix
	n := max(panelElements/max(cols, 1), 1)
	if n > tile {
		n -= n % tile
	}
	return min(n, rows)
}

// Store checks all rows of v on all threads. If unit is set, rows are scaled to unit length
// whenever they are read; all-zero rows stay zero. A row whose scores would have no order, since they are not finite,
// is an error that names it. v is read by several goroutines at once, for as long as the result is used.
func Store(v Vectors, unit bool) (*FileVectors, error) {
	s := &FileVectors{from: v}
	if s.rows, s.cols = v.Rows(); s.rows == 0 || s.cols == 0 {
		return nil, fmt.Errorf("the embeddings are %d×%d, want at least one row and one column", s.rows, s.cols)
	}
	squares, panel := make([]float64, s.rows), panelRows(s.rows, s.cols)
	buffer := make([]float32, panel*s.cols)
	for lo := 0; lo < s.rows; lo += panel {
		part := buffer[:(min(lo+panel, s.rows)-lo)*s.cols]
		err := s.each(part, lo, func(row int, x []float32) {
			sumSquares(squares[row:row+len(x)/s.cols], x, s.cols)
		})
		if err != nil {
			return nil, err
		}
		for row := lo; row < lo+len(part)/s.cols; row++ {
			if !ranks(squares[row], unit) {
				return nil, noOrder(row, part[(row-lo)*s.cols:][:s.cols])
			}
		}
	}
	for row, sum := range squares {
		if sum == 0 {
			if s.zeros == 0 {
				s.firstZero = row
			}
			s.zeros++
		}
		squares[row] = unitScale(sum)
	}
	if unit {
		s.scale = squares
	}
	return s, nil
}

// SideOf returns vectors as one side of an evaluation or a search. If the device is the host they
// stay in their file, as by [Store]; otherwise they are uploaded, as by [Upload]. v must stay
// open for as long as the side is used.
func SideOf(b device.Backend, v Vectors, unit bool) (s Side, err error) {
	if _, host := b.(device.Host); host {
		s.Stored, err = Store(v, unit)
	} else {
		s.Vectors, err = Upload(b, v, unit)
	}
	return s, err
}

// Free releases the device memory of a side.
func (s *Side) Free(b device.Backend) error {
	if s.Vectors.Absent() {
		return nil
	}
	return device.Do(b, func() error { b.Free(s.Vectors.Buf); return nil })
}

// Zeros returns the number of all-zero rows, and the first of them.
func (s *FileVectors) Zeros() (count, first int) { return s.zeros, s.firstZero }

// First returns the first n rows.
func (s *FileVectors) First(n int) *FileVectors {
	first := *s
	first.rows = min(n, s.rows)
	return &first
}

// read fills dst with the scaled rows from lo on.
func (s *FileVectors) read(dst []float32, lo int) error {
	return s.each(dst, lo, func(row int, x []float32) {
		for ; s.scale != nil && len(x) > 0; row, x = row+1, x[s.cols:] {
			if scale := s.scale[row]; scale != 1 {
				vec.ScaleWide(x[:s.cols], scale, x[:s.cols])
			}
		}
	})
}

// each reads the rows from lo on into dst. All threads read a few rows at a time and call visit
// while they are in a cache. Of several errors it returns the one of the first rows.
func (s *FileVectors) each(dst []float32, lo int, visit func(row int, x []float32)) error {
	const cached = 1 << 16 // elements
	step := max(cached/s.cols, 1)
	rows := len(dst) / s.cols
	errs := make([]error, (rows+step-1)/step)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(errs)) {
		group.Go(func() {
			defer crash.Guard()
			for i := int(next.Add(1)) - 1; i < len(errs); i = int(next.Add(1)) - 1 {
				part := dst[i*step*s.cols : min((i+1)*step, rows)*s.cols]
				if errs[i] = s.from.ReadRows(part, lo+i*step); errs[i] == nil {
					visit(lo+i*step, part)
				}
			}
		})
	}
	group.Wait()
	if k, keeps := s.from.(pageKeeper); keeps {
		k.GiveBack(lo, lo+rows)
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// sumSquares writes the sum of squares of each row, in float64, element by element. Four rows are
// summed together, because each sum waits for its previous addition.
func sumSquares(sum []float64, x []float32, cols int) {
	for ; len(sum) >= 4; sum, x = sum[4:], x[4*cols:] {
		a, b, c, d := x[:cols], x[cols:][:cols], x[2*cols:][:cols], x[3*cols:][:cols]
		var s, t, u, v float64
		for i, y := range a {
			s += float64(y) * float64(y)
			t += float64(b[i]) * float64(b[i])
			u += float64(c[i]) * float64(c[i])
			v += float64(d[i]) * float64(d[i])
		}
		sum[0], sum[1], sum[2], sum[3] = s, t, u, v
	}
	for i := range sum {
		s := 0.0
		for _, y := range x[i*cols:][:cols] {
			s += float64(y) * float64(y)
		}
		sum[i] = s
	}
}

// unitScale returns the factor that scales a row to unit length, or 1 for an all-zero row.
func unitScale(squares float64) float64 {
	if squares == 0 {
		return 1
	}
	return 1 / math.Sqrt(squares)
}
