package tensorfile

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hgld/internal/testing/must"
)

// Any bytes are either an error of the format, or a file whose tensors can be read and written to a
// file with the same tensors.
func FuzzSafetensors(f *testing.F) {
	f.Add(written(f, sample, map[string]string{"k": "v"}))
	for _, list := range malformed {
		for _, c := range list {
			f.Add(c.file)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := ReadSafetensors(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			var format *FormatError
			if !errors.As(err, &format) {
				t.Fatalf("error of an unexpected kind: %v", err)
			}
			return
		}
		var ts []Tensor
		for _, name := range file.Names() {
			tensor := must.Get(file.Tensor(name))(t)
			if _, err := tensor.Float32(); err != nil {
				t.Fatal(err)
			}
			ts = append(ts, tensor)
		}
		again := written(t, ts, file.Metadata)
		copied, err := ReadSafetensors(bytes.NewReader(again), int64(len(again)))
		if err != nil || !slices.Equal(copied.Names(), file.Names()) {
			t.Fatalf("written again: %v, %v", copied, err)
		}
	})
}

func FuzzNPY(f *testing.F) {
	f.Add(npyFile(dict("'<f4'", "False", "(1, 2)"), 8))
	f.Add(npyFile(dict("'|u1'", "False", "()"), 1))
	f.Add(npyFile(dict("'<i8'", "True", "(0,)"), 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := readNPY(source{at: bytes.NewReader(data), size: int64(len(data))})
		if err != nil {
			var format *FormatError
			if !errors.As(err, &format) {
				t.Fatalf("error of an unexpected kind: %v", err)
			}
			return
		}
		tensor := must.Get(a.Tensor())(t)
		if _, err := tensor.Float64(); err != nil {
			t.Fatal(err)
		}
	})
}

// Any bytes are either an error of the format, or an archive whose arrays can be read, or are refused each.
func FuzzNPZ(f *testing.F) {
	hostile, err := os.ReadFile(filepath.Join("..", "..", "cmd", "hgld", "testdata", "cases", "hostile", "e.npz"))
	must.Do(f, err)
	f.Add(hostile)
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		var data bytes.Buffer
		w := zip.NewWriter(&data)
		for name, array := range map[string][]byte{"embeddings.npy": npyFile(dict("'<f4'", "False", "(1, 2)"), 8),
			"huge.npy": npyFile(dict("'<f8'", "False", "(4611686018427387904, 2)"), 8), "note.txt": []byte("x")} {
			m := must.Get(w.CreateHeader(&zip.FileHeader{Name: name, Method: method}))(f)
			if _, err := m.Write(array); err != nil {
				f.Fatal(err)
			}
		}
		must.Do(f, w.Close())
		f.Add(data.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var format *FormatError
		z := &NPZ{members: map[string]*zip.File{}}
		if err := z.index(bytes.NewReader(data), int64(len(data))); err != nil {
			if !errors.As(err, &format) {
				t.Fatalf("error of an unexpected kind: %v", err)
			}
			return
		}
		for _, a := range z.Arrays {
			tensor, err := z.Tensor(a.Name)
			if err == nil {
				_, err = tensor.Float64()
			}
			if err != nil && !errors.As(err, &format) {
				t.Fatalf("error of an unexpected kind: %v", err)
			}
		}
	})
}
