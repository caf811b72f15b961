package embeddings

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// The files were made by PyTorch; make.py beside them says how.
const torchFiles = "../../internal/torchfile/testdata"

func TestVectorsThatTorchSaved(t *testing.T) {
	for name, want := range map[string][]float32{
		"tensor.pt": {0, 1, 2, 3, 4, 5}, "vectors.pt": {0, 1, 2, 3, 4, 5}, "embeddings.pt": {1, 2, 3, 4, 5, 6},
		"arrays-protocol4.pth": {0, .25, .5, .75, 1, 1.25},
	} {
		v := must.Get(Open(filepath.Join(torchFiles, name)))(t)
		rows, cols := v.Rows()
		got := make([]float32, 6)
		if err := v.ReadRows(got, 0); err != nil || rows != 3 || cols != 2 || !slices.Equal(got, want) {
			t.Errorf("%s: %d×%d, %v, %v", name, rows, cols, got, err)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTorchFilesWithoutOneMatrix(t *testing.T) {
	for name, want := range map[string]string{
		"ambiguous.pt":     `it has 2 float tensors with rows and columns, a, b, but none is called "embeddings"`,
		"labels.pt":        "its tensor is I64 of shape [3], want floats in rows and columns",
		"refused-call.pth": "posix.system",
		"refused-list.pth": "its tensor is F32 of shape [1], want floats in rows and columns",
	} {
		path := filepath.Join(torchFiles, name)
		_, err := Open(path)
		if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
