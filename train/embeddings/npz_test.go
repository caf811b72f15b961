package embeddings

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
)

// npz writes an archive of these arrays, deflated as numpy.savez_compressed does.
func npz(t *testing.T, arrays ...tensorfile.Tensor) string {
	t.Helper()
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	for _, a := range arrays {
		w, err := z.Create(a.Name + ".npy")
		if err == nil {
			err = tensorfile.WriteNPY(w, a)
		}
		must.Do(t, err)
	}
	must.Do(t, z.Close())
	path := filepath.Join(t.TempDir(), "e.npz")
	must.Do(t, os.WriteFile(path, file.Bytes(), 0o600))
	return path
}

func floats(name string, shape []int, values ...float32) tensorfile.Tensor {
	return tensorfile.NewF32(name, shape, values)
}

func whole(name string, shape []int, values ...int64) tensorfile.Tensor {
	return tensorfile.NewI64(name, shape, values)
}

func TestVectorsOfAnArchive(t *testing.T) {
	flat, ints := floats("flat", []int{2}, 7, 7), whole("labels", []int{2}, 5, -1)
	features, others := floats("features", []int{2, 2}, 1, 2, 3, 4), floats("others", []int{2, 1}, 9, 9)
	named := floats("embeddings", []int{2, 2}, 1, 2, 3, 4)
	const ambiguous = `it has 2 float tensors with rows and columns, features, others, but none is called "embeddings"`
	for want, arrays := range map[string][]tensorfile.Tensor{
		"[1 2 3 4]": {flat, features, ints}, "[1 2 3 4] ": {others, named},
		ambiguous + `; it holds "features" F32[2 2], "others" F32[2 1]`: {features, others},
		`its tensor is F32 of shape [2]`:                                {flat},
		"it is empty":                                                   {},
	} {
		path := npz(t, arrays...)
		v, err := Open(path)
		if err != nil {
			if !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			continue
		}
		got := make([]float32, 4)
		if err := v.ReadRows(got, 0); err != nil || fmt.Sprint(got) != strings.TrimSpace(want) {
			t.Errorf("%v, %v, want %s", got, err, want)
		}
	}
}

func TestLabelsOfAnArchive(t *testing.T) {
	vectors, ids := floats("x", []int{2, 1}, 1, 2), whole("ids", []int{2}, 70, 80)
	for want, arrays := range map[string][]tensorfile.Tensor{
		"[70 80] [[5 ]]":    {vectors, ids, whole("labels", []int{2}, 5, -1)},
		"[] [[5 6] [1 1]]":  {vectors, whole("y", []int{2, 2}, 5, 1, 6, 1)},
		"[70 80] []":        {vectors, ids},
		"but none is calle": {vectors, whole("y", []int{2}, 5, 1), whole("z", []int{2}, 5, 1)},
		"no array of integ": {vectors},
		"ids are I64[3], w": {whole("ids", []int{3}, 1, 2, 3), whole("labels", []int{2}, 5, 6)},
	} {
		path := npz(t, arrays...)
		table, err := ReadTable(path)
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			continue
		}
		if got := fmt.Sprint(table.IDs, table.Classes); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		beside, err := LabelsFor("", path)
		if has := slices.ContainsFunc(arrays, func(a tensorfile.Tensor) bool { return a.Name == "labels" }); err != nil ||
			has != (beside == path) {
			t.Errorf("the labels of the archive are %q, %v; it has its own: %v", beside, err, has)
		}
	}
}

// The other dimension of a matrix without rows or columns may be any number.
func TestEmptyMatrices(t *testing.T) {
	for _, shape := range [][]int{{0, 4}, {1 << 40, 0}, {0, 1 << 40}, {0, 0}} {
		path := npz(t, floats("x", shape), whole("y", shape))
		want := map[bool]error{true: errors.New("have no numbers")}[shape[0] > 0 && shape[1] == 0]
		check := func(kind, path string) {
			_, err := Open(path)
			if (err == nil) != (want == nil) || want != nil && !strings.Contains(err.Error(), want.Error()) {
				t.Errorf("%v as .%s: %v, want %v", shape, kind, err, want)
			}
		}
		check("npz", path)
		if _, err := ReadTable(path); err == nil || !strings.Contains(err.Error(), "no row or no column with classes") {
			t.Errorf("%v as labels in an .npz: %v", shape, err)
		}
		for kind, write := range map[string]func(*bytes.Buffer) error{
			"npy": func(b *bytes.Buffer) error { return tensorfile.WriteNPY(b, floats("", shape)) },
			"safetensors": func(b *bytes.Buffer) error {
				return tensorfile.WriteSafetensors(b, []tensorfile.Tensor{floats("x", shape)}, nil)
			},
		} {
			var file bytes.Buffer
			path := filepath.Join(t.TempDir(), "e."+kind)
			must.Do(t, write(&file))
			must.Do(t, os.WriteFile(path, file.Bytes(), 0o600))
			check(kind, path)
		}
		label := filepath.Join(t.TempDir(), "l.npy")
		var file bytes.Buffer
		must.Do(t, tensorfile.WriteNPY(&file, whole("", shape)))
		must.Do(t, os.WriteFile(label, file.Bytes(), 0o600))
		if _, err := ReadTable(label); err == nil || !strings.Contains(err.Error(), "no row or no column with classes") {
			t.Errorf("%v as labels: %v", shape, err)
		}
	}
}
