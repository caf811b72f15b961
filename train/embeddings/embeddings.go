// Package embeddings reads vectors and labels that hgld or another program has written to
// files: .npy, .npz, .safetensors, Parquet and those of torch.save and pickle.dump for vectors, .csv
// and all of these for labels.
//
// A Parquet file of embeddings has one column of lists of floats. An optional column "id"
// names the rows. Optional columns label_0, label_1, … or level_0, level_1, … hold their
// classes as strings or integers, finest level first. The file's metadata holds the names of
// the levels under the keys "hgld.level_0", "hgld.level_1" and so on. Package
// export writes such a file.
//
// [Input] prepares an evaluation of such files: it loads the vectors on the device, finds the
// classes of their rows, and pairs rows by id.
package embeddings

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/tensorfile"
)

// Vectors is an open matrix of embeddings. Callers read it a few rows at a time.
type Vectors interface {
	// Rows returns the size of the matrix.
	Rows() (rows, cols int)

	// ReadRows fills dst with consecutive rows, starting at row lo. The length of dst must be a
	// multiple of cols. Several goroutines may read at once.
	ReadRows(dst []float32, lo int) error

	// Close closes the file.
	io.Closer
}

// kinds lists the extensions of the files that hold vectors.
var kinds = []string{".npy", ".npz", ".safetensors", ".parquet", ".pt", ".pth", ".pkl", ".pickle"}

// Open opens a matrix. In a .npy file it is the array. In a .safetensors file it is the tensor
// called "embeddings" or the only float tensor with rows and columns. In a Parquet file it is the
// only column of lists of floats. In a .pt, .pth, .pkl or .pickle it is the tensor or array itself, or
// in a dictionary the one called "embeddings" or the only one of floats with rows and columns; likewise
// the array of an .npz. Any other extension is a [KindError]. Rows of no numbers are an error.
func Open(path string) (Vectors, error) {
	v, err := open(path)
	if several := (*SeveralError)(nil); errors.As(err, &several) {
		several.Path = path
	}
	if err != nil {
		return nil, err
	}
	if rows, cols := v.Rows(); rows > 0 && cols == 0 {
		return nil, errors.Join(content("%s: its %d rows have no numbers", path, rows), v.Close())
	}
	return v, nil
}

func open(path string) (Vectors, error) {
	switch filepath.Ext(path) {
	case ".npy":
		a, err := tensorfile.OpenNPY(path)
		if err != nil {
			return nil, err
		}
		if len(a.Shape) != 2 || a.DType == tensorfile.Text || a.DType == tensorfile.Bytes {
			return nil, errors.Join(content("%s: its shape is %s%v, want rows and columns of numbers", path, a.DType, a.Shape),
				a.Close())
		}
		return a, nil
	case ".safetensors":
		f, err := tensorfile.OpenSafetensors(path)
		if err != nil {
			return nil, err
		}
		m, err := matrixOf(f)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
		}
		return m, nil
	case ".parquet":
		return openParquet(path, heldValues)
	case ".npz", ".pt", ".pth", ".pkl", ".pickle":
		return readMatrix(path)
	}
	return nil, unknownKind(path)
}

// stored is a tensor of an open file.
type stored struct {
	*tensorfile.File
	name       string
	rows, cols int
}

// Rows implements Vectors.
func (s *stored) Rows() (rows, cols int) { return s.rows, s.cols }

// ReadRows implements Vectors.
func (s *stored) ReadRows(dst []float32, lo int) error { return s.File.ReadRows(dst, s.name, lo) }

// GiveBack calls tensorfile.File.GiveBack for the tensor.
func (s *stored) GiveBack(lo, hi int) { s.File.GiveBack(s.name, lo, hi) }

func matrixOf(f *tensorfile.File) (*stored, error) {
	all := shapesOf(f)
	if len(all) == 0 {
		return nil, content("it has no tensors, want one with rows and columns")
	}
	if k := slices.IndexFunc(all, func(t tensorfile.Tensor) bool { return t.Name == "embeddings" }); k >= 0 {
		all = all[k:][:1] // of any type
	}
	t := all[0]
	if len(all) > 1 {
		var err error
		if t, err = vectorsAmong(all); err != nil {
			return nil, err
		}
	}
	if len(t.Shape) != 2 {
		return nil, content("the shape of %.80q is %v, want rows and columns", t.Name, t.Shape)
	}
	return &stored{f, t.Name, t.Shape[0], t.Shape[1]}, nil
}

// firstFew joins the first names and states how many more follow.
func firstFew(names []string) string {
	const few = 5
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// ZeroRows wraps Vectors and counts the all-zero rows among those it reads.
type ZeroRows struct {
	Vectors

	// Count is the number of all-zero rows. First is the index of the first one.
	Count, First int
}

// ReadRows implements Vectors.
func (z *ZeroRows) ReadRows(dst []float32, lo int) error {
	err := z.Vectors.ReadRows(dst, lo)
	_, cols := z.Rows()
	for i := 0; err == nil && i < len(dst); i += cols {
		if slices.ContainsFunc(dst[i:i+cols], func(x float32) bool { return x != 0 }) {
			continue
		}
		if z.Count++; z.Count == 1 {
			z.First = lo + i/cols
		}
	}
	return err
}
