package parquetfile

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/testing/must"
)

func sizeOf[T any]() int64 { return int64(unsafe.Sizeof(*new(T))) }

// FuzzFile checks that no input causes a panic.
func FuzzFile(f *testing.F) {
	for _, version := range []int{1, 2} {
		var out bytes.Buffer
		must.Do(f, parquet.Write(&out, someRows(5), parquet.DataPageVersion(version)))
		f.Add(out.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "fuzz.parquet")
		must.Do(t, os.WriteFile(path, data, 0o644))
		_, _ = readAll(path)
	})
}
