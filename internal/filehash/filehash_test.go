package filehash

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
)

func TestSHA256IsThatOfTheWholeFile(t *testing.T) {
	for _, size := range []int{0, 1, pieceBytes, 2*pieceBytes + 3} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(i * 7)
		}
		path := filepath.Join(t.TempDir(), "data")
		must.Do(t, os.WriteFile(path, data, 0o644))
		sum, n, err := SHA256(t.Context(), path)
		if want := fmt.Sprintf("%x", sha256.Sum256(data)); err != nil || sum != want || n != int64(size) {
			t.Errorf("%d bytes: %s, %d, %v; want %s", size, sum, n, err, want)
		}
	}
}

func TestSHA256OfAMissingFile(t *testing.T) {
	if _, _, err := SHA256(t.Context(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestSHA256StopsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	must.Do(t, os.WriteFile(path, []byte("data"), 0o644))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := SHA256(ctx, path); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
