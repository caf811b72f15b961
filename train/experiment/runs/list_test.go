package runs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// A folder of runs is the folders with settings in it, and a run that cannot be read has a line.
func TestRunsAreFoundByTheirSettings(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"b/" + SettingsFile, "a/" + SettingsFile, "c/" + EventsFile,
		"a/deeper/" + SettingsFile} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, nil, 0o644))
	}
	dirs, err := Find(folder)
	if want := []string{filepath.Join(folder, "a"), filepath.Join(folder, "b")}; err != nil || !slices.Equal(dirs, want) {
		t.Fatalf("%v, %v; want %v", dirs, err, want)
	}
	rows := strings.Split(ListText([]Line{Unread(dirs[0])}), "\n")
	if want := []string{dirs[0], "unread", "–", "–", "0", "–", "–", "–", "–", "–", "0s", "–"}; !slices.Equal(
		strings.Fields(rows[1]), want) {
		t.Errorf("%q, want %q", rows[1], want)
	}
}
