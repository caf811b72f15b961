package provenance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestSettingsNameFilesWithoutFolders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "photos")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	s := Settings{Dataset: "folder", Input: ".", Hierarchy: filepath.Join("elsewhere", "hierarchy.json")}
	if err := s.DropFolders(); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if want := `{"dataset":"folder","input":"photos","hierarchy":"hierarchy.json"}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
}
