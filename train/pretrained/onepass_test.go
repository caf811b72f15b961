package pretrained

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
)

// A reader gives its bytes once: what is hashed is what is checked and stored, whatever becomes of a
// file meanwhile.
func TestFileIsReadOnce(t *testing.T) {
	torch, err := os.ReadFile(filepath.Join(torchFiles, "module.pth"))
	must.Do(t, err)
	for name, data := range map[string][]byte{"safetensors": weights(t), "torch": torch} {
		dir := t.TempDir()
		o := Options{From: filepath.Join(dir, "w.bin"), SHA256: fmt.Sprintf("%x", sha256.Sum256(data)),
			Out: filepath.Join(dir, "w.safetensors")}
		r, err := o.store(t.Context(), bytes.NewBuffer(data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := os.ReadFile(o.Out)
		if err != nil || !r.Converted && !bytes.Equal(got, data) || r.Stored != fmt.Sprintf("%x", sha256.Sum256(got)) ||
			r.Bytes != int64(len(data)) {
			t.Errorf("%s: %v, %d bytes, %+v", name, err, len(got), r)
		}
		if got, want := folder(t, filepath.Dir(o.Out)), "w.json w.safetensors"; got != want {
			t.Errorf("%s: the folder has %s, want %s", name, got, want)
		}
	}
}
