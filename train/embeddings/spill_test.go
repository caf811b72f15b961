package embeddings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/testing/must"
)

// A table that does not fit into memory is read from a file, with the same numbers, and nothing
// of it is left.
func TestLargeParquetIsReadFromATemporaryFile(t *testing.T) {
	type row struct {
		V []float64 `parquet:"v,list"`
	}
	const rows, cols = 53, 7
	var list []row
	var want []float32
	for i := range rows {
		var v []float64
		for k := range cols {
			v = append(v, float64(i*cols+k)/8)
			want = append(want, float32(i*cols+k)/8)
		}
		list = append(list, row{v})
	}
	path := filepath.Join(t.TempDir(), "v.parquet")
	must.Do(t, parquet.WriteFile(path, list, parquet.MaxRowsPerRowGroup(10)))
	ragged := filepath.Join(t.TempDir(), "ragged.parquet")
	must.Do(t, parquet.WriteFile(ragged, append(list, row{[]float64{1}})))
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	for _, held := range []int{1, cols, 3*cols + 1, rows*cols - 1, rows * cols} {
		v := must.Get(openParquet(path, held))(t)
		if _, isFile := v.(*spilled); isFile != (held < rows*cols) {
			t.Errorf("%d of %d numbers in memory: %T", held, rows*cols, v)
		}
		got := make([]float32, rows*cols)
		if n, width := v.Rows(); n != rows || width != cols {
			t.Errorf("%d×%d", n, width)
		} else if err := v.ReadRows(got, 0); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d in memory: %v, %v", held, got, err)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
		if _, err := openParquet(ragged, held); err == nil || !strings.Contains(err.Error(), "row 53 has 1 numbers, want 7") {
			t.Error(err)
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
	t.Setenv("TMPDIR", filepath.Join(folder, "gone"))
	if _, err := openParquet(path, 1); err == nil || !strings.Contains(err.Error(), "TMPDIR") {
		t.Error(err)
	}
}
