package embeddings

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
)

func TestLabelsAreFoundBesideVectors(t *testing.T) {
	type bare struct {
		Embedding []float32 `parquet:"embedding,list"`
	}
	type classed struct {
		Embedding []float32 `parquet:"embedding,list"`
		Label     string    `parquet:"label_0"`
	}
	saved := must.Get(os.ReadFile("../../internal/torchfile/testdata/vectors.pt"))(t)
	t.Chdir(t.TempDir())
	var own bytes.Buffer
	arrays := []tensorfile.Tensor{tensorfile.NewF32("embeddings", []int{2, 1}, []float32{1, 2}),
		{Name: "labels", DType: "U8", Shape: []int{2}, Data: []byte{0, 1}}}
	if err := errors.Join(os.WriteFile("saved.pt", saved, 0o644), tensorfile.WriteSafetensors(&own, arrays, nil),
		os.WriteFile("own.safetensors", own.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.csv", "b.tsv", "c.csv", "c.tsv", "bare.csv", "classed.csv", "named.csv", "own.csv",
		"saved.csv"} {
		must.Do(t, os.WriteFile(name, nil, 0o644))
	}
	must.Do(t, parquet.WriteFile("bare.parquet", []bare{{[]float32{1}}}))
	must.Do(t, parquet.WriteFile("classed.parquet", []classed{{[]float32{1}, "x"}}))
	for _, c := range []struct{ named, vectors, want string }{
		{"", "a.npy", "a.csv"},
		{"", "b.safetensors", "b.tsv"},
		{"", "own.safetensors", "own.safetensors"},
		{"", "saved.pt", "saved.pt"},
		{"named.csv", "own.safetensors", "named.csv"},
		{"named.csv", "a.npy", "named.csv"},
		{"", "none.npy", ""},
		{"", "bare.parquet", "bare.csv"},
		{"", "classed.parquet", "classed.parquet"},
		{"", "alone.parquet", "alone.parquet"},
		{"", "", ""},
	} {
		if got, err := LabelsFor(c.named, c.vectors); err != nil || got != c.want {
			t.Errorf("the labels of %q, named %q, are %q, %v; want %q", c.vectors, c.named, got, err, c.want)
		}
	}
	if _, err := LabelsFor("", "c.npy"); err == nil || !strings.Contains(err.Error(), "c.csv and c.tsv are both beside") {
		t.Error(err)
	}
}

func TestMeantVectorsAreFound(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"e.npy", "v1.5.npy", "two.npy", "two.parquet"} {
		must.Do(t, os.WriteFile(name, nil, 0o644))
	}
	for path, want := range map[string]string{"e": "e.npy", "e.npz": "e.npy", "e.parquet": "e.npy", "v1.5": "v1.5.npy",
		"two": "", "none": "", "e.npy": ""} {
		if got := Meant(path); got != want {
			t.Errorf("for %s %q is meant, want %q", path, got, want)
		}
	}
}
