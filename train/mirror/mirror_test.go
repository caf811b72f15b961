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
	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
	"hgld/train/experiment/runs"
	"hgld/train/mirror"
)

const place = "s3://bucket/copies/a"

func open(t *testing.T, dir string) *mirror.Mirror {
	t.Helper()
	m, err := mirror.Open(place, dir)
	must.Do(t, err)
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
	entries, _ := os.ReadDir(filepath.Join(dir, runs.CheckpointsFolder))
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func save(t *testing.T, dir string, step int) {
	t.Helper()
	checkpoint(t, dir, step)
	must.Do(t, saveAll(t, dir))
}

// saveAll saves the directory as it is, as a new process does.
func saveAll(t *testing.T, dir string) error {
	t.Helper()
	m := open(t, dir)
	return m.Save(t.Context(), must.Get(m.Look())(t))
}

// A copy has the objects of an undisturbed run, wherever a process was killed before: after a checkpoint, while it was
// copied, or before older ones were removed.
func TestTheCopyOfAKilledRunHasTheSameObjects(t *testing.T) {
	var want []string
	for kill := range 4 {
		server := fakes3.Start(t)
		dir := t.TempDir()
		testfile.Write(t, dir, runs.SettingsFile, "seed: 1\n")
		for step := 1; step <= 4; step++ {
			checkpoint(t, dir, step)
			os.RemoveAll(filepath.Join(dir, runs.CheckpointsFolder, fmt.Sprintf("step-%08d", step-2)))
			puts := 0
			server.SetFault(func(r *http.Request, _ int) fakes3.Fault {
				if r.Method == http.MethodPut {
					puts++
				}
				killed := kill == 1 || kill == 2 && puts > 1 || kill == 3 && r.Method == http.MethodDelete
				if step > 1 && step < 4 && killed {
					return fakes3.Fault{Status: 403, Code: "AccessDenied"} // as good as a kill
				}
				return fakes3.Fault{}
			})
			if err := saveAll(t, dir); (err != nil) && (kill == 0 || step == 4) {
				t.Fatal(err)
			}
		}
		if got := server.Keys(); want == nil {
			want = got
		} else if !slices.Equal(got, want) {
			t.Errorf("kill %d: %q, want %q", kill, got, want)
		}
	}
}

func TestALostRunDirectoryIsFetched(t *testing.T) {
	server := fakes3.Start(t)
	dir, fresh := t.TempDir(), t.TempDir()
	if f, err := open(t, dir).Fetch(t.Context()); err != nil || f.Checkpoint != "" {
		t.Fatalf("%+v, error %v, want nothing of nothing", f, err)
	}
	testfile.Write(t, dir, runs.SettingsFile, "seed: 1\n")
	testfile.Write(t, dir, runs.EventsFile, "{}\n")
	save(t, dir, 1)
	save(t, dir, 2)
	os.RemoveAll(filepath.Join(dir, runs.CheckpointsFolder, "step-00000001"))
	save(t, dir, 3)
	f, err := open(t, fresh).Fetch(t.Context())
	if err != nil || f.Checkpoint != "step-00000003" {
		t.Fatalf("%+v, error %v", f, err)
	}
	for _, name := range []string{runs.SettingsFile, runs.EventsFile, "checkpoints/step-00000003/SHA256SUMS",
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
	testfile.Write(t, dir, runs.SettingsFile, "seed: 1\n")
	save(t, dir, 1)
	server.SetFault(func(r *http.Request, _ int) fakes3.Fault {
		if strings.HasSuffix(r.URL.Path, "step-00000002/SHA256SUMS") && r.Method == http.MethodPut {
			return fakes3.Fault{Status: 503, Code: "SlowDown"}
		}
		return fakes3.Fault{}
	})
	checkpoint(t, dir, 2)
	err := saveAll(t, dir)
	var e *objectstore.Error
	if !errors.As(err, &e) || e.Kind != objectstore.Temporary {
		t.Fatalf("error %v, want that the store fails for the moment", err)
	}
	server.SetFault(nil)
	fresh := t.TempDir()
	if f, err := open(t, fresh).Fetch(t.Context()); err != nil || f.Checkpoint != "step-00000001" {
		t.Errorf("%+v, error %v", f, err)
	}
}

func TestADamagedCheckpointIsLeftOut(t *testing.T) {
	server := fakes3.Start(t)
	dir, fresh := t.TempDir(), t.TempDir()
	testfile.Write(t, dir, runs.SettingsFile, "seed: 1\n")
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
	testfile.Write(t, dir, runs.SettingsFile, "seed: 1\n")
	save(t, dir, 2)
	testfile.Write(t, other, runs.SettingsFile, "seed: 2\n")
	checkpoint(t, other, 1)
	if _, err := open(t, other).Fetch(t.Context()); !errors.As(err, new(*mirror.OtherRunError)) {
		t.Errorf("error %v, want that it is another run", err)
	}
	if got := steps(t, other); !slices.Equal(got, []string{"step-00000001"}) {
		t.Errorf("the run directory has %q", got)
	}
}
