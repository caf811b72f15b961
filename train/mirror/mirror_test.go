package mirror_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/objectstore"
	"hgld/internal/testing/fakes3"
	"hgld/internal/testing/testfile"
	"hgld/train/history"
	"hgld/train/mirror"
)

const place = "s3://bucket/copies/a"

func open(t *testing.T, dir string) *mirror.Mirror {
	t.Helper()
	m, err := mirror.Open(place, dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// checkpoint writes a checkpoint of a step and returns its folder.
func checkpoint(t *testing.T, dir string, step int) string {
	t.Helper()
	at := fmt.Sprintf("checkpoints/step-%08d/", step)
	sums := ""
	for _, name := range []string{"model.safetensors", "state.json"} {
		text := fmt.Sprintf("%s of step %d", name, step)
		testfile.Write(t, dir, at+name, text)
		sums += fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(text)), name)
	}
	testfile.Write(t, dir, at+"SHA256SUMS", sums)
	return filepath.Join(dir, filepath.FromSlash(at))
}

func steps(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, _ := os.ReadDir(filepath.Join(dir, history.CheckpointsFolder))
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func save(t *testing.T, dir string, step int) {
	t.Helper()
	if err := open(t, dir).Save(t.Context(), checkpoint(t, dir, step)); err != nil {
		t.Fatal(err)
	}
}

func TestALostRunDirectoryIsFetched(t *testing.T) {
	server := fakes3.Start(t)
	dir, fresh := t.TempDir(), t.TempDir()
	if f, err := open(t, dir).Fetch(t.Context()); err != nil || f.Checkpoint != "" {
		t.Fatalf("%+v, error %v, want nothing of nothing", f, err)
	}
	testfile.Write(t, dir, history.SettingsFile, "seed: 1\n")
	testfile.Write(t, dir, history.EventsFile, "{}\n")
	save(t, dir, 1)
	save(t, dir, 2)
	os.RemoveAll(filepath.Join(dir, history.CheckpointsFolder, "step-00000001"))
	save(t, dir, 3)
	f, err := open(t, fresh).Fetch(t.Context())
	if err != nil || f.Checkpoint != "step-00000003" {
		t.Fatalf("%+v, error %v", f, err)
	}
	for _, name := range []string{history.SettingsFile, history.EventsFile, "checkpoints/step-00000003/SHA256SUMS",
		"checkpoints/step-00000003/state.json", "checkpoints/step-00000003/model.safetensors"} {
		a, _ := os.ReadFile(filepath.Join(dir, name))
		if b, err := os.ReadFile(filepath.Join(fresh, name)); err != nil || string(a) != string(b) {
			t.Errorf("%s: %q, want %q", name, b, a)
		}
	}
	// The copy keeps what the directory keeps.
	if all := strings.Join(server.Keys(), "\n"); strings.Contains(all, "step-00000001") ||
		!strings.Contains(all, "step-00000002/SHA256SUMS") {
		t.Errorf("the copy has\n%s", all)
	}
	if f, err := open(t, fresh).Fetch(t.Context()); err != nil || f.Checkpoint != "" {
		t.Errorf("%+v, error %v, want that it is there", f, err)
	}
}

func TestACheckpointThatIsNotCompleteIsNotFetched(t *testing.T) {
	server := fakes3.Start(t)
	dir := t.TempDir()
	testfile.Write(t, dir, history.SettingsFile, "seed: 1\n")
	save(t, dir, 1)
	server.Fault = func(r *http.Request, _ int) fakes3.Fault {
		if strings.HasSuffix(r.URL.Path, "step-00000002/SHA256SUMS") && r.Method == http.MethodPut {
			return fakes3.Fault{Status: 503, Code: "SlowDown"}
		}
		return fakes3.Fault{}
	}
	err := open(t, dir).Save(t.Context(), checkpoint(t, dir, 2))
	var e *objectstore.Error
	if !errors.As(err, &e) || e.Kind != objectstore.Temporary {
		t.Fatalf("error %v, want that the store fails for the moment", err)
	}
	server.Fault = nil
	fresh := t.TempDir()
	if f, err := open(t, fresh).Fetch(t.Context()); err != nil || f.Checkpoint != "step-00000001" {
		t.Errorf("%+v, error %v", f, err)
	}
}

func TestADamagedCheckpointIsLeftOut(t *testing.T) {
	server := fakes3.Start(t)
	dir, fresh := t.TempDir(), t.TempDir()
	testfile.Write(t, dir, history.SettingsFile, "seed: 1\n")
	save(t, dir, 1)
	save(t, dir, 2)
	server.Put("copies/a/checkpoints/step-00000002/model.safetensors", []byte("of another program"), false)
	f, err := open(t, fresh).Fetch(t.Context())
	if err != nil || f.Checkpoint != "step-00000001" || len(f.Damaged) != 1 ||
		!errors.As(f.Damaged[0], new(*mirror.DamagedError)) {
		t.Fatalf("%+v, error %v", f, err)
	}
	if got := steps(t, fresh); !slices.Equal(got, []string{"step-00000001"}) {
		t.Errorf("the run directory has %q", got)
	}
	server.Put("copies/a/checkpoints/step-00000001/state.json", []byte("of another program"), true)
	if _, err := open(t, t.TempDir()).Fetch(t.Context()); !errors.As(err, new(*mirror.DamagedError)) {
		t.Errorf("error %v, want that all are damaged", err)
	}
}

func TestTheCopyOfAnotherRunIsNotFetched(t *testing.T) {
	fakes3.Start(t)
	dir, other := t.TempDir(), t.TempDir()
	testfile.Write(t, dir, history.SettingsFile, "seed: 1\n")
	save(t, dir, 2)
	testfile.Write(t, other, history.SettingsFile, "seed: 2\n")
	checkpoint(t, other, 1)
	if _, err := open(t, other).Fetch(t.Context()); !errors.As(err, new(*mirror.OtherRunError)) {
		t.Errorf("error %v, want that it is another run", err)
	}
	if got := steps(t, other); !slices.Equal(got, []string{"step-00000001"}) {
		t.Errorf("the run directory has %q", got)
	}
}
