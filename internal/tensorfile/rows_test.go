package tensorfile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hgld/internal/testing/must"
)

// Parts so large that their pages are released can be read again, from both kinds of file, and from
// an offset inside a page.
func TestRowsCanBeReadAfterGiveBack(t *testing.T) {
	const rows, cols = 1_001, 1_024
	values := make([]float32, rows*cols)
	for i := range values {
		values[i] = float32(i)
	}
	matrix := NewF32("embeddings", []int{rows, cols}, values)
	npy, safe := filepath.Join(t.TempDir(), "e.npy"), filepath.Join(t.TempDir(), "e.safetensors")
	for path, write := range map[string]func(f *os.File) error{
		npy:  func(f *os.File) error { return WriteNPY(f, matrix) },
		safe: func(f *os.File) error { return WriteSafetensors(f, []Tensor{matrix}, nil) },
	} {
		f := must.Get(os.Create(path))(t)
		must.Do(t, write(f))
		must.Do(t, f.Close())
	}
	a := must.Get(OpenNPY(npy))(t)
	defer a.Close()
	s := must.Get(OpenSafetensors(safe))(t)
	defer s.Close()
	dst := make([]float32, (rows-1)*cols)
	for range 2 {
		for name, read := range map[string]func() error{
			"npy":         func() error { return a.ReadRows(dst, 1) },
			"safetensors": func() error { return s.ReadRows(dst, "embeddings", 1) },
		} {
			clear(dst)
			a.GiveBack(3, 900)
			s.GiveBack("embeddings", 3, 900)
			must.Do(t, read())
			if !slices.Equal(dst, values[cols:]) {
				t.Errorf("%s: other values", name)
			}
		}
	}
}
