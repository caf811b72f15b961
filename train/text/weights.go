package text

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hgld/internal/tensorfile"
	"hgld/train/device"
	"hgld/train/nn"
	"hgld/train/tensor"
)

// weights reads parameters from a safetensors file into device memory, without gradients and
// without a second copy of the file: a text tower of 500 MB needs little more than that. It
// collects mismatches, which done reports.
type weights struct {
	path string
	b    device.Memory
	file *tensorfile.File
	bad  nn.MismatchError
	used map[string]bool
	err  error // first error of reading
	read int   // bytes since the file was mapped
}

// pieceElements and mappedBytes bound the memory of reading. A tensor that is not F32 is
// converted in pieces. A mapping, whose pages count towards the process, is released after some
// tensors.
const (
	pieceElements = 1 << 20
	mappedBytes   = 8 << 20
)

func openWeights(b device.Memory, path string) (*weights, error) {
	f, err := tensorfile.OpenSafetensors(path)
	if err != nil {
		return nil, err
	}
	return &weights{path: path, b: b, file: f, used: map[string]bool{}}, nil
}

// shape returns the dimensions of a tensor, or nil if there is none of that name and number of
// dimensions.
func (w *weights) shape(name string, dims int) []int {
	if _, shape, err := w.file.Shape(name); err == nil && len(shape) == dims {
		return shape
	}
	return nil
}

// count returns the number of tensors whose names are format with 0, 1, …
func (w *weights) count(format string) int {
	n := 0
	for w.file.Has(fmt.Sprintf(format, n)) {
		n++
	}
	return n
}

// param reads a parameter of the given dimensions. If there are several names, its rows are split
// evenly among them.
func (w *weights) param(dims []int, names ...string) device.Array {
	part := slices.Clone(dims)
	part[0] /= len(names)
	fit := true
	for _, name := range names {
		fit = w.check(name, part) && fit
	}
	if !fit || w.failed() {
		return device.Array{}
	}
	p := device.New(w.b, device.F32, dims...)
	for i, name := range names {
		w.upload(p.RowRange(i*part[0], (i+1)*part[0]), name)
	}
	return p
}

// failed reports whether an error has occurred.
func (w *weights) failed() bool {
	return w.err != nil || len(w.bad.Missing)+len(w.bad.Shapes) > 0
}

// check marks a tensor as used and reports whether it exists with this shape.
func (w *weights) check(name string, dims []int) bool {
	w.used[name] = true
	dtype, shape, err := w.file.Shape(name)
	switch {
	case err != nil:
		w.bad.Missing = append(w.bad.Missing, name)
	case !slices.Equal(shape, dims) || !slices.Contains([]string{"F32", "F16", "BF16", "F64"}, dtype):
		w.bad.Shapes = append(w.bad.Shapes, fmt.Sprintf("%s (is %s%v, want floats %v)", name, dtype, shape, dims))
	default:
		return true
	}
	return false
}

// upload reads a tensor into dst.
func (w *weights) upload(dst device.Array, name string) {
	if w.read > mappedBytes {
		w.file.Close()
		w.read = 0
		if w.file, w.err = tensorfile.OpenSafetensors(w.path); w.err != nil {
			return
		}
	}
	t, err := w.file.Tensor(name)
	if err != nil {
		w.err = fmt.Errorf("%s: %w", w.path, err)
		return
	}
	w.read += len(t.Data)
	n := t.Len()
	if n == 0 {
		return
	}
	flat := dst.Reshape(n)
	size := len(t.Data) / n
	for lo := 0; lo < n; lo += pieceElements {
		hi := min(lo+pieceElements, n)
		piece := tensorfile.Tensor{Name: name, DType: t.DType, Shape: []int{hi - lo}, Data: t.Data[lo*size : hi*size]}
		if t.DType == "F32" {
			w.b.Upload(flat.RowRange(lo, hi), piece.Data)
			continue
		}
		values, err := tensor.Of(piece)
		if err != nil {
			w.err = fmt.Errorf("%s: %w", w.path, err)
			return
		}
		values.Upload(w.b, flat.RowRange(lo, hi))
	}
}

// linear reads a layer with bias. If there are several names, its outputs are split evenly among
// them.
func (w *weights) linear(in, out int, names ...string) linear {
	matrices, biases := make([]string, len(names)), make([]string, len(names))
	for i, name := range names {
		matrices[i], biases[i] = name+"weight", name+"bias"
	}
	return linear{weight: w.matrix([]int{out, in}, false, matrices...), bias: w.param([]int{out}, biases...)}
}

// matrix reads the weight of a layer.
func (w *weights) matrix(dims []int, transposed bool, names ...string) device.Array {
	m := w.param(dims, names...)
	if p, able := w.b.(device.Packer); able && !m.Absent() {
		p.Pack(m, !transposed)
	}
	return m
}

func (w *weights) norm(name string, d int, eps float32) layerNorm {
	return layerNorm{gamma: w.param([]int{d}, name+".weight"), beta: w.param([]int{d}, name+".bias"), eps: eps}
}

// done closes the file and reports what did not fit. Unused tensors are unexpected unless their
// names begin with one of the prefixes.
func (w *weights) done(ignored ...string) error {
	if w.err != nil {
		return w.err
	}
	for _, name := range w.file.Names() {
		if !w.used[name] && !slices.ContainsFunc(ignored, func(p string) bool { return strings.HasPrefix(name, p) }) {
			w.bad.Unexpected = append(w.bad.Unexpected, name)
		}
	}
	err := w.file.Close()
	if len(w.bad.Missing)+len(w.bad.Unexpected)+len(w.bad.Shapes) > 0 {
		return fmt.Errorf("%s: %w", w.path, &w.bad)
	}
	return errors.Join(err, w.b.Sync())
}
