package tensorfile

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hgld/internal/testing/must"
)

func TestNPYKeepsShapeAndValues(t *testing.T) {
	for _, w := range []Tensor{
		NewF32("", []int{3, 2}, []float32{1, 2, 3, 4, 5, -6}),
		NewI64("", []int{4}, []int64{-1, 0, 1, 1 << 20}),
		{DType: "F16", Shape: []int{}, Data: []byte{0, 0x3c}},
		{DType: "U8", Shape: []int{2, 1, 2}, Data: []byte{0, 1, 2, 255}},
		{DType: "F64", Shape: []int{0, 5}, Data: []byte{}},
		{DType: "I32", Shape: []int{1, 1}, Data: []byte{0xff, 0xff, 0xff, 0xff}},
	} {
		var buf bytes.Buffer
		must.Do(t, WriteNPY(&buf, w))
		if n := buf.Len() - len(w.Data); n%64 != 0 {
			t.Errorf("%s%v: elements at %d, not at a multiple of 64", w.DType, w.Shape, n)
		}
		path := filepath.Join(t.TempDir(), "x.npy")
		must.Do(t, os.WriteFile(path, buf.Bytes(), 0o644))
		a := must.Get(OpenNPY(path))(t)
		got, err := a.Tensor()
		if err != nil || got.DType != w.DType || !slices.Equal(got.Shape, w.Shape) || !bytes.Equal(got.Data, w.Data) {
			t.Errorf("read %+v, %v; want %+v", got, err, w)
		}
		rows, cols := a.Rows()
		all := must.Get(w.Float32())(t)
		for i := range rows {
			row := make([]float32, cols)
			if err := a.ReadRows(row, i); err != nil || !slices.Equal(row, all[i*cols:][:cols]) {
				t.Errorf("row %d = %v, %v", i, row, err)
			}
		}
		a.Close()
	}
}

// These are the bytes that NumPy 2 writes for np.arange(3, dtype='f4').
func TestNPYReadsAndWritesAsNumPy(t *testing.T) {
	const numpy = "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }" +
		"                                                            \n" +
		"\x00\x00\x00\x00\x00\x00\x80?\x00\x00\x00@"
	a := must.Get(readNPY(source{at: bytes.NewReader([]byte(numpy)), size: int64(len(numpy))}))(t)
	got := make([]float32, 3)
	if err := a.ReadRows(got, 0); err != nil || !slices.Equal(got, []float32{0, 1, 2}) {
		t.Errorf("rows = %v, %v", got, err)
	}
	var buf bytes.Buffer
	if err := WriteNPY(&buf, NewF32("", []int{3}, got)); err != nil || buf.String() != numpy {
		t.Errorf("written %q, want %q", buf.String(), numpy)
	}
}

// A writer that only knows the number of rows at the end rewrites the header.
func TestNPYHeaderLengthDoesNotDependOnTheDimensions(t *testing.T) {
	for dims := range 5 {
		small := must.Get(NPYHeader("F32", make([]int, dims)))(t)
		shape := make([]int, dims)
		for i := range shape {
			shape[i] = 1<<60 - 1
		}
		large, err := NPYHeader("F32", shape)
		if err != nil || len(large) != len(small) {
			t.Errorf("%d dimensions: %d and %d bytes, %v", dims, len(small), len(large), err)
		}
	}
	if _, err := NPYHeader("BF16", nil); err == nil {
		t.Error("BF16 has no name in NumPy, but gave no error")
	}
}

// These are files of np.save. The first array is [[1, 2, 3], [4, 5, 6]] in every type, order of bytes and
// order of dimensions; the others are texts.
func TestNPYReadsEveryArrayOfNumbersAndTexts(t *testing.T) {
	open := func(descr, order, shape, data string) *NPY {
		t.Helper()
		path := filepath.Join(t.TempDir(), "x.npy")
		must.Do(t, os.WriteFile(path, append(npyFile(dict(descr, order, shape), 0), data...), 0o644))
		a := must.Get(OpenNPY(path))(t)
		t.Cleanup(func() { a.Close() })
		return a
	}
	for _, c := range []struct{ descr, order, data string }{
		{"'|i1'", "False", "\x01\x02\x03\x04\x05\x06"}, {"'|u1'", "True", "\x01\x04\x02\x05\x03\x06"},
		{"'<i2'", "False", "\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06\x00"},
		{"'>u2'", "True", "\x00\x01\x00\x04\x00\x02\x00\x05\x00\x03\x00\x06"},
		{"'>u4'", "False", "\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x03" +
			"\x00\x00\x00\x04\x00\x00\x00\x05\x00\x00\x00\x06"},
		{"'<f2'", "True", "\x00\x3c\x00\x44\x00\x40\x00\x45\x00\x42\x00\x46"},
		{"'>f4'", "False", "\x3f\x80\x00\x00\x40\x00\x00\x00\x40\x40\x00\x00" +
			"\x40\x80\x00\x00\x40\xa0\x00\x00\x40\xc0\x00\x00"},
	} {
		a := open(c.descr, c.order, "(2, 3)", c.data)
		row := make([]float32, 3)
		err := a.ReadRows(row, 1)
		all, err2 := a.Tensor()
		values, err3 := all.Float32()
		if !slices.Equal(row, []float32{4, 5, 6}) || !slices.Equal(values, []float32{1, 2, 3, 4, 5, 6}) {
			t.Errorf("%s %s: row 1 is %v and all are %v (%v, %v, %v)", c.descr, c.order, row, values, err, err2, err3)
		}
		a.GiveBack(0, 2)
	}
	for _, c := range []struct{ descr, data string }{
		{"'<U3'", "a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xe9\x00\x00\x00b\x00\x00\x00c\x00\x00\x00"},
		{"'>U3'", "\x00\x00\x00a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xe9\x00\x00\x00b\x00\x00\x00c"},
		{"'|S4'", "a\x00\x00\x00\xc3\xa9bc"},
	} {
		all := must.Get(open(c.descr, "False", "(2,)", c.data).Tensor())(t)
		if texts, err := all.Texts(); err != nil || !slices.Equal(texts, []string{"a", "ébc"}) {
			t.Errorf("%s: %q, %v", c.descr, texts, err)
		}
	}
}
