// Package tensor holds float32 arrays with shapes in host memory, on their way between files and
// a device: embeddings to evaluate, weights, figures.
package tensor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/tensorfile"
	"hgld/train/device"
)

// Tensor is a dense row-major array. A tensor without dimensions is one number.
type Tensor struct {
	Dims []int     // empty: a single number
	Data []float32 // row-major
}

// New returns a tensor of zeros.
func New(dims ...int) *Tensor { return From(make([]float32, size(dims)), dims...) }

// From returns a tensor over data without copying it. It panics if the number of elements does
// not match the dimensions.
func From(data []float32, dims ...int) *Tensor {
	if size(dims) != len(data) {
		panic(fmt.Sprintf("tensor: %d elements for %v", len(data), dims))
	}
	return &Tensor{slices.Clone(dims), data}
}

func size(dims []int) int {
	n := 1
	for _, d := range dims {
		if d < 0 {
			panic(fmt.Sprintf("tensor: negative dimension in %v", dims))
		}
		n *= d
	}
	return n
}

// Rows returns the product of all dimensions but the last. It is 1 for a single number.
func (t *Tensor) Rows() int {
	if len(t.Dims) == 0 {
		return 1
	}
	return size(t.Dims[:len(t.Dims)-1])
}

// Cols returns the last dimension, or 1 for a single number.
func (t *Tensor) Cols() int {
	if len(t.Dims) == 0 {
		return 1
	}
	return t.Dims[len(t.Dims)-1]
}

// Row returns row i of Rows, as a view.
func (t *Tensor) Row(i int) []float32 {
	c := t.Cols()
	return t.Data[i*c : (i+1)*c : (i+1)*c]
}

// Slice returns the view of indices [lo, hi) of the first dimension.
func (t *Tensor) Slice(lo, hi int) *Tensor {
	if len(t.Dims) == 0 || lo < 0 || hi < lo || hi > t.Dims[0] {
		panic(fmt.Sprintf("tensor: %d:%d of %v", lo, hi, t.Dims))
	}
	step := size(t.Dims[1:])
	dims := slices.Clone(t.Dims)
	dims[0] = hi - lo
	return &Tensor{dims, t.Data[lo*step : hi*step : hi*step]}
}

// Reshape returns the same elements with other dimensions.
func (t *Tensor) Reshape(dims ...int) *Tensor { return From(t.Data, dims...) }

// Of converts a tensor of a file, of any type.
func Of(f tensorfile.Tensor) (*Tensor, error) {
	data, err := f.Float32()
	if err != nil {
		return nil, err
	}
	return From(data, f.Shape...), nil
}

// File returns t as a tensor for a file.
func (t *Tensor) File(name string) tensorfile.Tensor {
	return tensorfile.NewF32(name, slices.Clone(t.Dims), t.Data)
}

// Read reads a .npy file, or the tensor called name of a .safetensors file. With name "" it reads
// the only tensor of the file.
func Read(path, name string) (*Tensor, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".npy":
		a, err := tensorfile.OpenNPY(path)
		if err != nil {
			return nil, err
		}
		t, err := a.Tensor()
		return finish(path, t, err, a.Close)
	case ".safetensors":
		f, err := tensorfile.OpenSafetensors(path)
		if err != nil {
			return nil, err
		}
		if names := f.Names(); name == "" && len(names) == 1 {
			name = names[0]
		} else if name == "" {
			err = fmt.Errorf("it holds %d tensors, want the name of one: %s", len(names),
				strings.Join(names[:min(5, len(names))], ", "))
			return finish(path, tensorfile.Tensor{}, err, f.Close)
		}
		t, err := f.Tensor(name)
		return finish(path, t, err, f.Close)
	default:
		return nil, fmt.Errorf("%s: its extension is %.80q, want .npy or .safetensors", path, ext)
	}
}

// finish converts t, which points into a file, and closes the file.
func finish(path string, f tensorfile.Tensor, err error, close func() error) (*Tensor, error) {
	var t *Tensor
	if err == nil {
		t, err = Of(f)
	}
	if err := errors.Join(err, close()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Upload copies t to dst, which must have as many elements. The device converts types other than
// F32.
func (t *Tensor) Upload(b device.Memory, dst device.Array) {
	if dst.Type == device.F32 {
		b.Upload(dst, t.bytes())
		return
	}
	wide := device.New(b, device.F32, dst.Shape()...)
	b.Upload(wide, t.bytes())
	b.Copy(dst, wide)
	b.Free(wide.Buf)
}

// FromDevice downloads an array of any type as float32 and waits for it.
func FromDevice(b device.Memory, src device.Array) (*Tensor, error) {
	t := New(src.Shape()...)
	data := make([]byte, 4*len(t.Data))
	var wait error
	if src.Type == device.F32 {
		wait = b.Wait(b.Download(data, src))
	} else {
		wide := device.New(b, device.F32, src.Shape()...)
		b.Copy(wide, src)
		wait = b.Wait(b.Download(data, wide))
		b.Free(wide.Buf)
	}
	if wait != nil {
		return nil, fmt.Errorf("tensor: download of %v: %w", src, wait)
	}
	for i := range t.Data {
		t.Data[i] = math.Float32frombits(binary.NativeEndian.Uint32(data[4*i:]))
	}
	return t, nil
}

func (t *Tensor) bytes() []byte {
	data := make([]byte, 0, 4*len(t.Data))
	for _, v := range t.Data {
		data = binary.NativeEndian.AppendUint32(data, math.Float32bits(v))
	}
	return data
}
