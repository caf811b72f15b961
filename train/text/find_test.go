package text

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
)

// Of several files in a folder the preferred weights are found, and a pickle only by its name.
func TestWeightsAreFoundBesideOthers(t *testing.T) {
	folder := t.TempDir()
	add := func(name string) string {
		path := filepath.Join(folder, name)
		must.Do(t, os.WriteFile(path, []byte(name), 0o644))
		return path
	}
	none, pickled := new(NoWeightsError), new(PickleError)
	if _, err := FindFiles(t.Context(), folder); !errors.As(err, &none) || none.Folder != folder {
		t.Errorf("an empty folder: %v", err)
	}
	pickle := add("pytorch_model.BIN")
	for _, path := range []string{folder, pickle} {
		if _, err := FindFiles(t.Context(), path); !errors.As(err, &pickled) || pickled.Path != pickle {
			t.Errorf("%s: %v, want the error of %s", path, err, pickle)
		}
	}
	for _, name := range []string{"open_clip_model.safetensors", "model.safetensors"} { // the second is preferred
		want := Files{add(name), fmt.Sprintf("%x", sha256.Sum256([]byte(name)))}
		if got, err := FindFiles(t.Context(), folder); err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	other := add("mine.safetensors")
	if got, err := FindFiles(t.Context(), other); err != nil || got.Weights != other {
		t.Errorf("%+v, %v; want %s", got, err, other)
	}
}
