//go:build unix

package shards

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hgld/internal/testing/must"
)

// spoiled replaces a file of a data set by something that is not a plain file.
var spoiled = map[string]func(path string) error{
	"gone":         func(string) error { return nil },
	"a loop":       func(path string) error { return os.Symlink(filepath.Base(path), path) }, // root cannot read it either
	"a named pipe": func(path string) error { return syscall.Mkfifo(path, 0o644) },
	"a folder":     func(path string) error { return os.Mkdir(path, 0o755) },
	"a device":     func(path string) error { return os.Symlink("/dev/zero", path) },
	"a link out":   func(path string) error { return os.Symlink("/etc/hostname", path) },
}

// TestVerifyContinuesAfterAnUnreadableFile spoils every file of a data set in turn, and one more at
// the end of the list, which must be found too.
func TestVerifyContinuesAfterAnUnreadableFile(t *testing.T) {
	dir := t.TempDir()
	r := mustBuild(t, newSource(t, 30), dir, small())
	last := r.Manifest.Files[len(r.Manifest.Files)-1].Name
	flip(t, filepath.Join(dir, last), 1000, 1)
	whole := contents(t, dir)
	for how, spoil := range spoiled {
		for name, data := range whole {
			if name == last || name == indexName(last) {
				continue
			}
			path := filepath.Join(dir, name)
			must.Do(t, errors.Join(os.Remove(path), spoil(path)))
			found := verifyInTime(t, dir)
			for _, want := range []string{name, last} {
				if !slices.ContainsFunc(found, func(d *DamageError) bool { return d.File == want }) {
					t.Errorf("%s is %s: %s is not among the damage %v", name, how, want, found)
				}
			}
			os.Remove(path)
			must.Do(t, os.WriteFile(path, []byte(data), 0o644))
		}
	}
}

// verifyInTime fails the test if Verify blocks, for example on a named pipe.
func verifyInTime(t *testing.T, dir string) []*DamageError {
	t.Helper()
	done := make(chan *Verified, 1)
	go func() {
		v, err := Verify(t.Context(), dir, VerifyOptions{})
		if err != nil {
			t.Error(err)
			v = new(Verified)
		}
		done <- v
	}()
	select {
	case v := <-done:
		return v.Damage
	case <-time.After(time.Minute):
		t.Fatal("Verify hangs")
		return nil
	}
}

// If a file to be written has the name of a named pipe or of a link out of the folder, the build
// fails. It would block on the first, and write elsewhere through the second.
func TestNothingIsWrittenThroughAPipeOrALinkOut(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "precious")
	shards := []string{"data/train-00000-of-00002.idx", "data/train-00001-of-00002.parquet"}
	for _, name := range append(shards, StatsFile, HierarchyFile) {
		for how, spoil := range map[string]func(path string) error{
			"pipe": func(path string) error { return syscall.Mkfifo(path, 0o644) },
			"link": func(path string) error { return os.Symlink(outside, path) },
		} {
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			err := errors.Join(os.WriteFile(outside, []byte("precious"), 0o644),
				os.MkdirAll(filepath.Dir(path), 0o755), spoil(path))
			must.Do(t, err)
			if err := os.WriteFile(filepath.Join(dir, LockName), nil, 0o644); err != nil { // an unfinished build of ours
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() {
				_, err := Build(t.Context(), newSource(t, 30), dir, small())
				done <- err
			}()
			select {
			case err := <-done:
				wantError(t, err, name, "remove it")
			case <-time.After(time.Minute):
				t.Fatalf("%s, %s: Build hangs", name, how)
			}
			if data, err := os.ReadFile(outside); string(data) != "precious" {
				t.Errorf("%s: the file outside is %q, %v", name, data, err)
			}
		}
	}
}

// Links within the folder are treated like files.
func TestLinksWithinTheFolderAreFollowed(t *testing.T) {
	dir := t.TempDir()
	r := mustBuild(t, newSource(t, 12), dir, small())
	path := filepath.Join(dir, r.Manifest.Files[0].Name)
	must.Do(t, errors.Join(os.Rename(path, filepath.Join(dir, "blob")), os.Symlink("../blob", path)))
	if v := mustVerify(t, dir); len(v.Damage) > 0 {
		t.Errorf("damage %v", v.Damage)
	}
	readAll(t, dir)
}

func TestFolderWithoutManifestAndSumsIsNoDataSet(t *testing.T) {
	dir := t.TempDir()
	mustBuild(t, newSource(t, 12), dir, small())
	must.Do(t, disk(dir).remove(ManifestFile, SumsFile))
	_, err := Verify(t.Context(), dir, VerifyOptions{})
	wantError(t, err, "this data set is not finished")
}

// wrongSidecar changes the sidecar of the first shard, and corrects its hash in the manifest and in
// SHA256SUMS.
func wrongSidecar(t *testing.T, dir string, change func(*index) []byte) (name string) {
	t.Helper()
	m := must.Get(ReadManifest(t.Context(), dir))(t)
	f := &m.Files[0]
	x := must.Get(readIndex(disk(dir), *f, m))(t)
	data := change(x)
	f.IndexBytes, f.IndexSHA256 = int64(len(data)), sha256.Sum256(data)
	if err := errors.Join(os.WriteFile(filepath.Join(dir, indexName(f.Name)), data, 0o644),
		m.write(disk(dir), disk(dir).write)); err != nil {
		t.Fatal(err)
	}
	return indexName(f.Name)
}

func TestWrongSidecarWithTheRightHashIsDamageThatRepairMends(t *testing.T) {
	for name, change := range map[string]func(*index) []byte{
		"no sidecar":    func(*index) []byte { return []byte("nothing of that kind") },
		"a class":       func(x *index) []byte { x.classes[3] = (x.classes[3] + 1) % 9; return x.encode() },
		"a class of 99": func(x *index) []byte { x.classes[3] = 99; return x.encode() },
		"a checksum":    func(x *index) []byte { x.crcs[0] ^= 1; return x.encode() },
		"another shard": func(x *index) []byte { x.shardSHA[0] ^= 1; return x.encode() },
	} {
		dir := t.TempDir()
		mustBuild(t, newSource(t, 30), dir, small())
		want := contents(t, dir)
		sidecar := wrongSidecar(t, dir, change)
		var damaged []string
		for _, d := range mustVerify(t, dir).Damage {
			damaged = append(damaged, d.File)
		}
		if !slices.Contains(damaged, sidecar) {
			t.Errorf("%s: the damage is %v, want %s", name, damaged, sidecar)
		}
		fixed, err := Repair(t.Context(), dir, listClasses, damaged...)
		if err != nil || !slices.Equal(fixed, []string{sidecar, ManifestFile, SumsFile}) {
			t.Errorf("%s: repaired %v, %v", name, fixed, err)
		}
		sameContents(t, contents(t, dir), want)
	}
}

// Repair does not accept a manifest that differs from SHA256SUMS.
func TestRepairRefusesADamagedManifest(t *testing.T) {
	dir := t.TempDir()
	mustBuild(t, newSource(t, 30), dir, small())
	sums := contents(t, dir)[SumsFile]
	sidecar := wrongSidecar(t, dir, func(*index) []byte { return []byte("nothing of that kind") })
	must.Do(t, os.WriteFile(filepath.Join(dir, SumsFile), []byte(sums), 0o644))
	before := contents(t, dir)
	_, err := Repair(t.Context(), dir, listClasses)
	wantError(t, err, sidecar, "differs from "+ManifestFile)
	sameContents(t, contents(t, dir), before)
}

func TestEmptySetDoesNotVerify(t *testing.T) {
	dir := t.TempDir()
	m := mustBuild(t, newSource(t, 12), dir, small()).Manifest
	m.Files = nil
	for l := range m.Levels {
		m.Levels[l].Rows = nil
	}
	data := filepath.Join(dir, "data")
	must.Do(t, errors.Join(os.RemoveAll(data), os.Mkdir(data, 0o755), m.write(disk(dir), disk(dir).write)))
	found := mustVerify(t, dir).Damage
	if len(found) != 1 || !strings.Contains(found[0].What, "empty") {
		t.Errorf("damage %v, want that the set is empty", found)
	}
}

func TestManifestIsComparedWithTheSums(t *testing.T) {
	dir := t.TempDir()
	mustBuild(t, newSource(t, 12), dir, small())
	text := contents(t, dir)[ManifestFile]
	other := strings.Replace(text, `"tool": "test"`, `"tool": "Test"`, 1)
	if err := os.WriteFile(filepath.Join(dir, ManifestFile), []byte(other), 0o644); err != nil || other == text {
		t.Fatal("not changed", err)
	}
	_, err := ReadManifest(t.Context(), dir)
	if !errors.As(err, new(*DamageError)) {
		t.Errorf("error %v, want that it differs from %s", err, SumsFile)
	}
}

func TestCheckSizesFindsMissingAndTruncatedFiles(t *testing.T) {
	dir := t.TempDir()
	mustBuild(t, newSource(t, 30), dir, small())
	must.Do(t, CheckSizes(t.Context(), dir))
	for name, data := range contents(t, dir) {
		path := filepath.Join(dir, name)
		for _, harm := range []func() error{
			func() error { return os.Remove(path) },
			func() error { return os.WriteFile(path, []byte(data+"x"), 0o644) },
		} {
			must.Do(t, harm())
			err := CheckSizes(t.Context(), dir)
			damage := (*DamageError)(nil)
			lists := name == ManifestFile || name == SumsFile // a change makes the two lists disagree
			if !lists && (!errors.As(err, &damage) || damage.File != name) || err == nil {
				t.Errorf("%s: error %v", name, err)
			}
			must.Do(t, os.WriteFile(path, []byte(data), 0o644))
		}
	}
}

func TestHashingStopsAfterTheDeclaredSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grows")
	must.Do(t, os.WriteFile(path, make([]byte, 5000), 0o644))
	f, err := os.Open(path)
	must.Do(t, err)
	defer f.Close()
	h := sha256.New()
	err = hashFile(t.Context(), diskFile{f}, 10, h)
	if err != nil || Hash(h.Sum(nil)) != sha256.Sum256(make([]byte, 11)) {
		t.Errorf("%v: not the hash of 11 bytes", err)
	}
}
