package shards

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
	"hgld/labels"
)

func mustVerify(tb testing.TB, dir string) *Verified {
	tb.Helper()
	v := must.Get(Verify(tb.Context(), dir, VerifyOptions{}))(tb)
	return v
}

// times returns a count that an environment variable can raise for the long form.
func times(tb testing.TB, variable string, short int) int {
	tb.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return short
	}
	n := must.Get(strconv.Atoi(text))(tb)
	return n
}

// Shards are verified at the same time, but reported in their order.
func TestDamageIsReportedInOrder(t *testing.T) {
	dir := t.TempDir()
	r := mustBuild(t, newSource(t, 150), dir, small())
	var want, got, shown []string
	for i, f := range r.Manifest.Files {
		if i%2 == 0 {
			spoil(t, dir, f.Name)
			want = append(want, f.Name)
		}
	}
	last := 0
	v, err := Verify(t.Context(), dir, VerifyOptions{Report: func(d *DamageError) { shown = append(shown, d.File) },
		Progress: func(done, total int, _ string) {
			if done != last+1 || total != len(r.Manifest.Files) {
				t.Errorf("%d of %d after %d", done, total, last)
			}
			last = done
		}})
	must.Do(t, err)
	for _, d := range v.Damage {
		got = append(got, d.File)
	}
	if got = slices.Compact(got); !slices.Equal(got, want) || !slices.Equal(slices.Compact(shown), want) {
		t.Errorf("damage in %v, shown %v; want %v", got, shown, want)
	}
}

// TestEveryFlippedBitIsFound flips random bits in all files of a data set, one at a time. Verify
// must find each, and a reader must return the right images or a *DamageError. $HGLD_FLIPS is the
// number of flips.
func TestEveryFlippedBitIsFound(t *testing.T) {
	dir := t.TempDir()
	mustBuild(t, newSource(t, 12), dir, small())
	whole := contents(t, dir)
	images := readAll(t, dir)
	if v := mustVerify(t, dir); len(v.Damage) != 0 || v.Rows != 12 {
		t.Fatalf("untouched: %d rows, %v", v.Rows, v.Damage)
	}
	var names []string
	for name := range whole {
		names = append(names, name)
	}
	slices.Sort(names)
	rng := rand.New(rand.NewPCG(3, 4))
	for range times(t, "HGLD_FLIPS", 40) {
		name := names[rng.IntN(len(names))]
		at, mask := rng.Int64N(int64(max(len(whole[name]), 1))), byte(1)<<rng.IntN(8)
		if len(whole[name]) == 0 { // failures.jsonl is empty
			continue
		}
		path := filepath.Join(dir, name)
		flip(t, path, at, mask)
		if v := mustVerify(t, dir); len(v.Damage) == 0 {
			t.Errorf("%s: byte %d changed by %#x was not found", name, at, mask)
		}
		readDamaged(t, dir, images)
		must.Do(t, os.WriteFile(path, []byte(whole[name]), 0o644))
	}
	if v := mustVerify(t, dir); len(v.Damage) != 0 {
		t.Errorf("restored: %v", v.Damage)
	}
}

// TestEveryTruncationIsFound truncates every file at several lengths.
func TestEveryTruncationIsFound(t *testing.T) {
	dir := t.TempDir()
	mustBuild(t, newSource(t, 12), dir, small())
	images := readAll(t, dir)
	cuts := 3
	if effort.Exhaustive() {
		cuts = 12
	}
	for name, data := range contents(t, dir) {
		for cut := range cuts {
			n := len(data) * cut / cuts
			if n == len(data) {
				continue
			}
			path := filepath.Join(dir, name)
			must.Do(t, os.WriteFile(path, []byte(data[:n]), 0o644))
			v := mustVerify(t, dir)
			if len(v.Damage) == 0 {
				t.Errorf("%s cut to %d of %d bytes was not found", name, n, len(data))
			}
			readDamaged(t, dir, images)
			must.Do(t, os.WriteFile(path, []byte(data), 0o644))
		}
	}
}

// readAll reads every image of a data set by id.
func readAll(tb testing.TB, dir string) map[string][]byte {
	tb.Helper()
	set := mustOpen(tb, dir)
	all := map[string][]byte{}
	for _, split := range set.Manifest().Splits() {
		v := mustSplit(tb, set, split)
		for i := range v.Len() {
			image := must.Get(v.Image(tb.Context(), i))(tb)
			all[v.ID(i)] = image
		}
	}
	return all
}

// readDamaged reads a damaged data set in all three ways. Each image must be right, or the error a
// *DamageError.
func readDamaged(t *testing.T, dir string, want map[string][]byte) {
	t.Helper()
	named := func(err error) {
		t.Helper()
		if damage := (*DamageError)(nil); !errors.As(err, &damage) {
			t.Errorf("error %v, want a DamageError", err)
		}
	}
	set, err := Open(t.Context(), dir)
	if err != nil {
		named(err)
		return
	}
	defer set.Close()
	for _, split := range set.Manifest().Splits() {
		v := mustSplit(t, set, split)
		for i := range v.Len() {
			image, err := v.Image(t.Context(), i)
			if err != nil {
				named(err)
			} else if !bytes.Equal(image, want[v.ID(i)]) {
				t.Errorf("%s: image %d is silently wrong", split, i)
			}
		}
		for row, err := range v.Rows(t.Context(), true) {
			if err != nil {
				named(err)
			} else if !bytes.Equal(row.Image, want[row.ID.String()]) {
				t.Errorf("%s: row %s is silently wrong", split, row.ID)
			}
		}
		for image, err := range v.Images(t.Context()) {
			if err != nil {
				named(err)
			} else if !bytes.Equal(image.File, want[v.ID(image.Row)]) {
				t.Errorf("%s: image %d of the scan is silently wrong", split, image.Row)
			}
		}
	}
}

func TestVerifyNamesTheDamagedImage(t *testing.T) {
	dir := t.TempDir()
	r := mustBuild(t, newSource(t, 30), dir, small())
	set := mustOpen(t, dir)
	v := mustSplit(t, set, labels.Train)
	sh, row := v.at(13)
	flip(t, filepath.Join(dir, sh.name), sh.index.offsets[row]+5, 8)
	found := mustVerify(t, dir).Damage
	if len(found) != 2 || found[0].File != sh.file.Name || found[0].Row != -1 || found[1].Row != row {
		t.Errorf("damage %v, want the file and row %d", found, row)
	}
	if _, err := v.Image(t.Context(), 13); err == nil {
		t.Error("the hurt image was read")
	}
	if len(r.Manifest.Files) < 4 {
		t.Fatal("too few shards for the subsets")
	}
	hits := 0
	for n := 1; n <= 3; n++ {
		v := must.Get(Verify(t.Context(), dir, VerifyOptions{Slice: n, Of: 3}))(t)
		if len(v.Damage) > 0 {
			hits++
		}
	}
	if hits != 1 {
		t.Errorf("%d of 3 subsets found the damage, want one", hits)
	}
}

func TestUnlistedMissingAndSwappedFilesAreFound(t *testing.T) {
	for name, harm := range map[string]func(dir string, files []File) error{
		"data/extra-00000-of-00001.parquet": func(dir string, _ []File) error {
			return os.WriteFile(filepath.Join(dir, "data", "extra-00000-of-00001.parquet"), []byte("x"), 0o644)
		},
		"data/train-00000-of-00002.parquet": func(dir string, files []File) error {
			return os.Remove(filepath.Join(dir, files[0].Name))
		},
		"data/train-00000-of-00002.idx": func(dir string, files []File) error {
			return os.Remove(filepath.Join(dir, indexName(files[0].Name)))
		},
		"data/train-00001-of-00002.idx": func(dir string, files []File) error {
			data, err := os.ReadFile(filepath.Join(dir, indexName(files[0].Name)))
			return errors.Join(err, os.WriteFile(filepath.Join(dir, indexName(files[1].Name)), data, 0o644))
		},
		SumsFile:      func(dir string, _ []File) error { return os.Remove(filepath.Join(dir, SumsFile)) },
		HierarchyFile: func(dir string, _ []File) error { return os.Remove(filepath.Join(dir, HierarchyFile)) },
		FailuresFile:  func(dir string, _ []File) error { return os.Remove(filepath.Join(dir, FailuresFile)) },
		StatsFile:     func(dir string, _ []File) error { return os.Remove(filepath.Join(dir, StatsFile)) },
		BuildFile: func(dir string, _ []File) error {
			return os.WriteFile(filepath.Join(dir, BuildFile), []byte("{}"), 0o644)
		},
	} {
		dir := t.TempDir()
		r := mustBuild(t, newSource(t, 30), dir, small())
		must.Do(t, harm(dir, r.Manifest.Files))
		v := mustVerify(t, dir)
		if !slices.ContainsFunc(v.Damage, func(d *DamageError) bool { return d.File == name }) {
			t.Errorf("%s: found %v", name, v.Damage)
		}
	}
}

func sha256Of(data []byte) [32]byte { return sha256.Sum256(data) }
func crcOf(data []byte) uint32      { return crc32.Checksum(data, castagnoli()) }
