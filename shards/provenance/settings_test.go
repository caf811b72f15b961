package provenance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
)

func TestSettingsNameFilesWithoutFolders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "photos")
	must.Do(t, os.Mkdir(dir, 0o755))
	t.Chdir(dir)
	s := Settings{Dataset: "folder", Input: ".", Hierarchy: filepath.Join("elsewhere", "hierarchy.json")}
	bare, err := s.withoutFolders()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(bare)
	if want := `{"dataset":"folder","input":"photos","hierarchy":"hierarchy.json"}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
	for split, want := range map[string]bool{"": true, "test": false} {
		s.Split = split
		if same, err := s.MadeBy([]byte(`{"source":` + string(text) + `}`)); err != nil || same != want {
			t.Errorf("split %q: %v, %v", split, same, err)
		}
	}
}
