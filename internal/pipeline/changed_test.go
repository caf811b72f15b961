package pipeline

import (
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"hgld/internal/testing/must"
)

// recordedFile writes a file and the stamp of the stage that wrote it.
func recordedFile(t *testing.T, j *told, s Stage, path string, data []byte) {
	t.Helper()
	own := s.Settings()
	must.Do(t, j.options.Project.Load(nil, s.Name, own))
	must.Do(t, os.WriteFile(path, data, 0o644))
	_, out := s.Files(own)
	must.Do(t, s.Record(j, own, nil, out, false))
}

// TestChangedIntermediatesAreNamed flips bits in the files that stages pass to each other.
func TestChangedIntermediatesAreNamed(t *testing.T) {
	j := projectHere(t, "{}\n", spec("a", ""), spec("b", "a.txt"), spec("c", "b.txt"))
	p := j.options.Project
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range p.pipeline.Stages {
		path := s.Name + ".txt"
		data := make([]byte, 1+rng.IntN(5000))
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		recordedFile(t, j, s, path, data)
		for range 100 {
			at, mask := rng.IntN(len(data)), byte(1)<<rng.IntN(8)
			data[at] ^= mask
			must.Do(t, os.WriteFile(path, data, 0o644))
			if c, err := p.changeOf(path); err != nil || c == nil || c.by.Name != s.Name {
				t.Errorf("%s: byte %d changed by %#x: %+v, %v", path, at, mask, c, err)
			}
			data[at] ^= mask
		}
		must.Do(t, os.WriteFile(path, data, 0o644))
		if c, err := p.changeOf(path); c != nil || err != nil {
			t.Errorf("%s as it was: %+v, %v", path, c, err)
		}
	}
}

// A large file is compared by its contents as well as its fingerprint, since a disk that loses
// a bit does not change the time.
func TestLargeIntermediateIsComparedByItsContents(t *testing.T) {
	j := projectHere(t, "{}\n", spec("a", ""), spec("b", "a.txt"))
	p := j.options.Project
	recordedFile(t, j, p.pipeline.Stages[0], "a.txt", make([]byte, WholeFile+1))
	was, err := os.Stat("a.txt")
	must.Do(t, err)
	f, err := os.OpenFile("a.txt", os.O_RDWR, 0)
	must.Do(t, err)
	_, err = f.WriteAt([]byte{1}, 1<<20)
	if err != nil || f.Close() != nil || os.Chtimes("a.txt", was.ModTime(), was.ModTime()) != nil {
		t.Fatal("not changed", err)
	}
	reader := p.pipeline.Stages[1]
	if err := reader.Execute(j, reader.Settings()); !errors.As(err, new(*ChangedError)) {
		t.Fatalf("a changed input is taken: %v", err)
	}
	j.options.Changed = true
	must.Do(t, reader.Execute(j, reader.Settings()))
	if c, err := p.changeOf("a.txt"); c != nil || err != nil {
		t.Errorf("accepted: %+v, %v", c, err)
	}
	if st, err := p.pipeline.Stages[0].Stamp(p); err != nil || len(st.Changed) != 1 || st.Changed["a.txt"] == "" {
		t.Errorf("%+v, %v: want the change recorded", st.Changed, err)
	}
}

func TestAnAcceptedChangeNamesTheCommandOfTheFile(t *testing.T) {
	j := projectHere(t, "{}\n", spec("a", ""), spec("b", "a.txt"))
	p := j.options.Project
	a, b := p.pipeline.Stages[0], p.pipeline.Stages[1]
	recordedFile(t, j, a, "a.txt", []byte("as it was written"))
	if by, err := p.Accepted("a.txt"); by != "" || err != nil {
		t.Errorf("an unchanged file was accepted from %q, %v", by, err)
	}
	must.Do(t, os.WriteFile("a.txt", []byte("changed by hand"), 0o644))
	own := b.Settings()
	must.Do(t, p.Load(nil, b.Name, own))
	if err := b.TrustInputs(j, own); err == nil {
		t.Fatal("a changed file is trusted")
	}
	if by, err := p.Accepted("a.txt"); by != "" || err != nil {
		t.Errorf("a refused file was accepted from %q, %v", by, err)
	}
	j.options.Changed = true
	must.Do(t, b.TrustInputs(j, own))
	if by, err := p.Accepted("a.txt"); by != a.Command || err != nil {
		t.Errorf("the file was accepted from %q, %v, want %q", by, err, a.Command)
	}
}
