//go:build unix

package pretrained

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFileIsReadOnce fetches from a pipe, which gives its bytes once: what is hashed is what is
// checked and stored, whatever becomes of the file meanwhile.
func TestFileIsReadOnce(t *testing.T) {
	torch, err := os.ReadFile(filepath.Join(torchFiles, "module.pth"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"safetensors": weights(t), "torch": torch} {
		dir := t.TempDir()
		o := Options{From: filepath.Join(dir, "pipe"), SHA256: fmt.Sprintf("%x", sha256.Sum256(data)),
			Out: filepath.Join(dir, "w", "w.safetensors")}
		if err := syscall.Mkfifo(o.From, 0o600); err != nil {
			t.Fatal(err)
		}
		go func() {
			f, err := os.OpenFile(o.From, os.O_WRONLY, 0)
			if err != nil {
				return
			}
			f.Write(data)
			f.Close()
		}()
		r, err := Fetch(t.Context(), o)
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
