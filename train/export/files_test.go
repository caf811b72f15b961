package export

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
)

// counted returns what an export needs of a network, and counts how often it is asked for.
func counted(t *testing.T, name string) (x *Files, weights, embeds *int) {
	t.Helper()
	c := configOf(name)
	tensors := weightsOf(t, c)
	weights, embeds = new(int), new(int)
	return NewFiles(c, false, func() ([]tensorfile.Tensor, error) {
		*weights++
		return tensors, nil
	}, func() (*Embeddings, error) {
		*embeds++
		return vectors(), nil
	}), weights, embeds
}

func TestExtensionSelectsTheContent(t *testing.T) {
	dir := t.TempDir()
	x, weights, embeds := counted(t, "convnet")
	for ext, want := range map[string][]string{".onnx": {"net.onnx"}, ".safetensors": {"net.safetensors"},
		".npy": {"net.npy", "net.csv"}, ".parquet": {"net.parquet"}} {
		names, err := x.Write(filepath.Join(dir, "net"+ext))
		if err != nil {
			t.Fatal(err)
		}
		for i := range names {
			if info, err := os.Stat(names[i]); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v", names[i], err)
			}
			names[i] = filepath.Base(names[i])
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: wrote %v, want %v", ext, names, want)
		}
	}
	if *weights != 1 || *embeds != 1 {
		t.Errorf("weights were read %d times and images embedded %d times, want once each", *weights, *embeds)
	}
	e, _, err := tensorfile.ReadAll(filepath.Join(dir, "net.safetensors"))
	if err != nil || len(e) != len(weightsOf(t, configOf("convnet"))) {
		t.Errorf("%d tensors: %v", len(e), err)
	}
}

// A network alone needs no images, and embeddings no weights in memory.
func TestOnlyRequestedContentIsComputed(t *testing.T) {
	dir := t.TempDir()
	x, _, embeds := counted(t, "convnet")
	if _, err := x.Write(filepath.Join(dir, "net.onnx")); err != nil || *embeds != 0 {
		t.Errorf("images were embedded %d times: %v", *embeds, err)
	}
	x, weights, _ := counted(t, "convnet")
	if _, err := x.Write(filepath.Join(dir, "e.parquet")); err != nil || *weights != 0 {
		t.Errorf("weights were read %d times: %v", *weights, err)
	}
}

func TestFailedExportLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	broken := errors.New("a broken image")
	x := NewFiles(configOf("convnet"), false, nil, func() (*Embeddings, error) { return nil, broken })
	for _, name := range []string{"e.npy", "e.parquet"} {
		if _, err := x.Write(filepath.Join(dir, name)); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := x.Write(filepath.Join(dir, "net.onxn")); err == nil || !strings.Contains(err.Error(), ".onnx") {
		t.Errorf("%v does not name the extension that was meant", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
