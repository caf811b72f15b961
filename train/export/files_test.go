package export

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
)

func TestExtensionSelectsTheFormat(t *testing.T) {
	dir := t.TempDir()
	c := configOf("convnet")
	x := Network{Config: c, Weights: weightsOf(t, c)}
	for _, ext := range []string{".onnx", ".safetensors"} {
		path := filepath.Join(dir, "net"+ext)
		must.Do(t, x.Write(path))
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", path, err)
		}
	}
	e, _, err := tensorfile.ReadAll(filepath.Join(dir, "net.safetensors"))
	if err != nil || len(e) != len(x.Weights) {
		t.Errorf("%d tensors: %v", len(e), err)
	}
}

func TestFailedExportLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	x := Network{Config: configOf("convnet")}
	if err := x.Write(filepath.Join(dir, "e.onnx")); err == nil {
		t.Error("a network without weights was written")
	}
	if err := x.Write(filepath.Join(dir, "net.onxn")); err == nil || !strings.Contains(err.Error(), ".onnx") {
		t.Errorf("%v does not name the extension that was meant", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
