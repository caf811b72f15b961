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
	if err := parquet.WriteFile(path, rows); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestVectorsAreReadFromParquet(t *testing.T) {
	path := parquetFile(t, tableRow{1, "church", []float32{1, 2}}, tableRow{2, "bay", []float32{3, 4}},
		tableRow{3, "bay", []float32{3, 4}})
	e, err := openImported(&embedSettings{Weights: path})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := e.Encode(t.Context(), []string{"bay", "church"}); err != nil ||
		!slices.Equal(got[0], []float32{3, 4}) || !slices.Equal(got[1], []float32{1, 2}) {
		t.Errorf("%v, %v", got, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range data {
		if err := os.WriteFile(path, data[:n], 0o644); err != nil {
			t.Fatal(err)
		}
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
	f, err := os.Create(flat)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := tensorfile.WriteNPY(f, tensorfile.NewF32("", []int{4}, make([]float32, 4))); err != nil {
		t.Fatal(err)
	}
	if _, err := openImported(&embedSettings{Weights: flat}); err == nil ||
		!strings.Contains(err.Error(), "want [texts, values]") {
		t.Errorf("one dimension: %v", err)
	}
}
