package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
)

// tableRow is a row of a Parquet file of vectors.
type tableRow struct {
	ID     int64     `parquet:"id"`
	Text   string    `parquet:"text"`
	Vector []float32 `parquet:"vector,list"`
}

func parquetFile(t *testing.T, rows ...tableRow) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vectors.parquet")
	must.Do(t, parquet.WriteFile(path, rows))
	return path
}

func TestVectorsAreReadFromParquet(t *testing.T) {
	path := parquetFile(t, tableRow{1, "church", []float32{1, 2}}, tableRow{2, "bay", []float32{3, 4}},
		tableRow{3, "bay", []float32{3, 4}})
	e := must.Get(openImported(&embedSettings{Weights: path}))(t)
	if got, err := e.Encode(t.Context(), []string{"bay", "church"}); err != nil ||
		!slices.Equal(got[0], []float32{3, 4}) || !slices.Equal(got[1], []float32{1, 2}) {
		t.Errorf("%v, %v", got, err)
	}
	data := must.Get(os.ReadFile(path))(t)
	for n := range data {
		must.Do(t, os.WriteFile(path, data[:n], 0o644))
		if _, err := openImported(&embedSettings{Weights: path}); err == nil {
			t.Errorf("cut to %d of %d bytes: no error", n, len(data))
		}
	}
}

func TestMalformedVectorTablesAreRefused(t *testing.T) {
	for want, path := range map[string]string{
		"want a text with 2": parquetFile(t, tableRow{1, "church", []float32{1, 2}}, tableRow{2, "bay", []float32{3}}),
		"with different vectors": parquetFile(t, tableRow{1, "church", []float32{1, 2}},
			tableRow{2, "church", []float32{3, 4}}),
		"every value must be": parquetFile(t, tableRow{1, "church", []float32{1, float32(math.NaN())}}),
	} {
		if _, err := openImported(&embedSettings{Weights: path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	flat := filepath.Join(t.TempDir(), "flat.npy")
	f := must.Get(os.Create(flat))(t)
	defer f.Close()
	must.Do(t, tensorfile.WriteNPY(f, tensorfile.NewF32("", []int{4}, make([]float32, 4))))
	if _, err := openImported(&embedSettings{Weights: flat}); err == nil ||
		!strings.Contains(err.Error(), "want [texts, values]") {
		t.Errorf("one dimension: %v", err)
	}
}

// Another project may share a cache of vectors, whose folder was made by hgld itself.
func TestACacheOfVectorsIsKnownByItsFolders(t *testing.T) {
	dir := t.TempDir()
	testfile.Write(t, filepath.Join(dir, "0ee4f9b3625d43c7"), strings.Repeat("8f", 32)+".safetensors", "x")
	ours := outputKinds()["a cache of vectors"].Ours
	if own, err := ours(dir); !own || err != nil {
		t.Errorf("a cache is not known as one: %v", err)
	}
	testfile.Write(t, dir, "notes.txt", "mine")
	if own, _ := ours(dir); own {
		t.Error("a folder with another file is taken for a cache")
	}
}
