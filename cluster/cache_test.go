package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"hgld/internal/testing/must"
)

// counting is an encoder that counts what it encodes.
type counting struct {
	name    string
	encoded []string
	stop    int // texts after which it fails; 0: never
}

func (c *counting) Name() string { return c.name }

func (c *counting) Watch(func(int)) {}

func (c *counting) Encode(_ context.Context, texts []string) ([][]float32, error) {
	if c.stop > 0 && len(c.encoded) >= c.stop {
		return nil, context.Canceled
	}
	var out [][]float32
	for _, t := range texts {
		c.encoded = append(c.encoded, t)
		out = append(out, []float32{float32(len(t)), 1})
	}
	return out, nil
}

func encodeCached(t *testing.T, e *counting, dir string, texts ...string) ([][]float32, error) {
	t.Helper()
	c, err := OpenCache(e, dir)
	if err != nil {
		return nil, err
	}
	return c.Encode(t.Context(), texts)
}

func pieces(t *testing.T, dir string) []string {
	t.Helper()
	list := must.Get(filepath.Glob(filepath.Join(dir, "*", "*.safetensors")))(t)
	return list
}

func TestCacheEncodesATextOnce(t *testing.T) {
	dir, e := t.TempDir(), &counting{name: "a"}
	for range 2 {
		got, err := encodeCached(t, e, dir, "church", "bay", "church")
		if err != nil || len(got) != 3 || got[0][0] != 6 || got[1][0] != 3 || got[2][0] != 6 {
			t.Fatalf("%v, %v", got, err)
		}
	}
	if slices.Sort(e.encoded); !slices.Equal(e.encoded, []string{"bay", "church"}) {
		t.Errorf("encoded %q", e.encoded)
	}
	other := &counting{name: "b"} // with other weights
	if _, err := encodeCached(t, other, dir, "church"); err != nil || len(other.encoded) != 1 {
		t.Errorf("encoded %q, %v", other.encoded, err)
	}
	none := &counting{name: "a"}
	if _, err := encodeCached(t, none, "", "church"); err != nil || len(none.encoded) != 1 {
		t.Errorf("without a folder: encoded %q, %v", none.encoded, err)
	}
}

func TestCacheKeepsWhatWasDoneBeforeAnInterruption(t *testing.T) {
	var texts []string
	for i := range 2*pieceTexts + 10 {
		texts = append(texts, fmt.Sprintf("%05d", i))
	}
	dir, e := t.TempDir(), &counting{name: "a", stop: 2 * pieceTexts}
	if _, err := encodeCached(t, e, dir, texts...); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	e = &counting{name: "a"}
	if _, err := encodeCached(t, e, dir, texts...); err != nil || len(e.encoded) != 10 {
		t.Errorf("%d texts encoded again, %v", len(e.encoded), err)
	}
}

func TestCacheFindsDamageAndReadsOverHalfAFile(t *testing.T) {
	dir, e := t.TempDir(), &counting{name: "a"}
	if _, err := encodeCached(t, e, dir, "church"); err != nil {
		t.Fatal(err)
	}
	path := pieces(t, dir)[0]
	half := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp-1")
	must.Do(t, os.WriteFile(half, []byte("half"), 0o644))
	if _, err := encodeCached(t, e, dir, "church"); err != nil || len(e.encoded) != 1 {
		t.Errorf("with half a file: %v, %q", err, e.encoded)
	}
	if _, err := os.Stat(half); err == nil && runtime.GOOS != "windows" {
		t.Error("what a killed process left half written is still there")
	}
	data := must.Get(os.ReadFile(path))(t)
	var damaged *CacheError
	for at := range data {
		data[at] ^= 4
		must.Do(t, os.WriteFile(path, data, 0o644))
		if _, err := encodeCached(t, e, dir, "church"); !errors.As(err, &damaged) {
			t.Fatalf("byte %d: %v", at, err)
		}
		data[at] ^= 4
	}
}
