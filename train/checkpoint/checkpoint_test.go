package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

func TestDamagedBestIsAnError(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadBest(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	for text, hint := range map[string]string{"{": "damaged", `{"hgld_best": 2}`: "reads up to 1", `{}`: "version 0"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, BestFile), []byte(text), 0o644))
		if _, err := ReadBest(dir); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: error %v", text, err)
		}
	}
}

// SHA256SUMS names the state of an external loss too, which a copy of the run needs.
func TestSumsOfEveryFileAreRead(t *testing.T) {
	folder := must.Get(Write(t.TempDir(), State{}, nil, nil, []byte("state")))(t)
	sums, err := ParseSums(must.Get(os.ReadFile(filepath.Join(folder, SumsFile)))(t))
	if err != nil || len(sums) != 4 || sums[3].Name != ProcessFile(0) {
		t.Errorf("%v, %v", sums, err)
	}
	if _, err := ParseSums([]byte(strings.Repeat("0", 64) + "  ../x\n")); err == nil {
		t.Error("a file elsewhere was taken")
	}
}
