package pipeline

import (
	"errors"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
)

// storeProject opens a project in dir whose hgld.yaml names a place in an object store. asked counts the requests.
func storeProject(t *testing.T, dir string, asked *int) *Project {
	t.Helper()
	first := spec("first", "")
	first.Files = func(s *files) (in, out []string) { return []string{s.Note}, []string{s.Out} }
	l := &Pipeline{Stages: []Stage{New(first).Stage},
		Address: func(string) (string, error) { *asked++; return "print", nil }}
	testfile.Write(t, dir, ProjectFile, "first: {note: \"s3://bucket/in\"}\n")
	return must.Get(l.Open(dir))(t)
}

// A project may come from somebody else, with a stamp. Nothing is signed for it before its user allows the place, once
// for this project, or names the place on a command line.
func TestPlacesInStoresAreAllowedOnce(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	asked, dir := 0, filepath.Join(t.TempDir(), "project")
	p := storeProject(t, dir, &asked)
	stage := p.engine().Stages[0]
	testfile.Write(t, dir, "first.txt", "out")
	must.Do(t, stage.writeStamp(p, Stamp{Version: stampVersion, Stage: "first", Out: map[string]string{"first.txt": ""},
		In: map[string]string{"s3://bucket/in": "print", "s3://bucket/stamp": "print"}}))
	list := must.Get(p.States(0))(t)
	refused := new(StoreError)
	if !errors.As(list[0].Err, &refused) || list[0].State != Unknown || asked > 0 {
		t.Errorf("state %s, %v, and %d requests", list[0].State, list[0].Err, asked)
	}
	own := stage.Settings()
	must.Do(t, p.Load(nil, "first", own))
	if err := stage.Execute(&told{options: Options{Project: p}}, own); !errors.As(err, &refused) ||
		refused.Place != "s3://bucket/in" || asked > 0 {
		t.Errorf("Execute: %v, and %d requests", err, asked)
	}
	p.AllowStores()
	if list = must.Get(p.States(0))(t); list[0].Err != nil || asked == 0 {
		t.Errorf("after it is allowed: %v, %d requests", list[0].Err, asked)
	}
	if list = must.Get(storeProject(t, dir, &asked).States(0))(t); list[0].Err != nil {
		t.Errorf("in a later command: %v", list[0].Err)
	}
	other := storeProject(t, filepath.Join(t.TempDir(), "other"), &asked)
	must.Do(t, other.Load(nil, "first", own))
	if err := other.CheckStores("first", own); !errors.As(err, &refused) {
		t.Errorf("another project: %v", err)
	}
	other.SetOrigin("first.note", "--note")
	if err := errors.Join(other.CheckStores("first", own), other.CheckStores("first", own)); err != nil {
		t.Errorf("a place on the command line: %v", err)
	}
}
