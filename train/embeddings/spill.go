package embeddings

import (
	"errors"
	"fmt"
	"os"

	"hgld/internal/tensorfile"
	"hgld/train/retrieval"
)

// heldValues is how many numbers of a Parquet file are held in memory, 64 MB of them.
const heldValues = 16 << 20

// collector takes a matrix row by row. If it has more than held numbers, it moves them to a
// temporary file, which is read like any .npy.
type collector struct {
	held       int
	rows, cols int
	values     []float32 // values that are not in the file
	file       *os.File  // .npy of float32; nil: all are in values
}

// add appends a row. All rows must have the same length.
func (c *collector) add(row []float32) error {
	if c.rows, c.cols = c.rows+1, len(row); len(c.values) > 0 && len(c.values)+len(row) > c.held {
		if err := c.flush(); err != nil {
			return err
		}
	}
	c.values = append(c.values, row...)
	return nil
}

// flush moves the values to the file.
func (c *collector) flush() (err error) {
	if c.file == nil {
		if c.file, err = os.CreateTemp("", "hgld-*.npy"); err == nil {
			err = c.head()
		}
	}
	const part = 1 << 20
	for values := c.values; err == nil && len(values) > 0; values = values[min(part, len(values)):] {
		n := min(part, len(values))
		_, err = c.file.Write(tensorfile.NewF32("", []int{n}, values[:n]).Data)
	}
	c.values = c.values[:0]
	if err != nil {
		err = fmt.Errorf("cannot unpack its vectors into the temporary folder, which TMPDIR selects: %w", err)
	}
	return err
}

// head writes the header for the rows so far at the start of the file.
func (c *collector) head() error {
	header, err := tensorfile.NPYHeader("F32", []int{c.rows, c.cols})
	if err == nil {
		_, err = c.file.WriteAt(header, 0)
	}
	if err == nil {
		_, err = c.file.Seek(0, 2)
	}
	return err
}

// vectors returns the matrix.
func (c *collector) vectors() (Vectors, error) {
	if c.file == nil {
		return &retrieval.Matrix{Cols: c.cols, Values: c.values}, nil
	}
	err := c.flush()
	if err == nil {
		err = c.head()
	}
	if err != nil {
		return nil, errors.Join(err, c.drop())
	}
	path := c.file.Name()
	if err := c.file.Close(); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	a, err := tensorfile.OpenNPY(path)
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	s := &spilled{NPY: a}
	if os.Remove(path) != nil { // Windows cannot remove an open file
		s.path = path
	}
	return s, nil
}

// drop removes the file, if there is one.
func (c *collector) drop() error {
	if c.file == nil {
		return nil
	}
	return errors.Join(c.file.Close(), os.Remove(c.file.Name()))
}

// spilled is a matrix in a temporary file.
type spilled struct {
	*tensorfile.NPY
	path string // to remove; "": it is already unlinked
}

// Close closes the file and removes it.
func (s *spilled) Close() error {
	err := s.NPY.Close()
	if s.path != "" {
		err = errors.Join(err, os.Remove(s.path))
	}
	return err
}
