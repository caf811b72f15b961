package shards

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hgld/internal/testing/must"
)

func TestRepairMakesTheSameSidecars(t *testing.T) {
	dir := t.TempDir()
	r := mustBuild(t, newSource(t, 30), dir, small())
	want := contents(t, dir)
	missing, hurt := indexName(r.Manifest.Files[0].Name), indexName(r.Manifest.Files[2].Name)
	must.Do(t, os.Remove(filepath.Join(dir, missing)))
	flip(t, filepath.Join(dir, hurt), 70, 4)
	fixed, err := Repair(t.Context(), dir, listClasses)
	if err != nil || !slices.Equal(fixed, []string{missing, hurt}) {
		t.Errorf("repaired %v, %v", fixed, err)
	}
	sameContents(t, contents(t, dir), want)
	flip(t, filepath.Join(dir, hurt), 70, 4)
	flip(t, filepath.Join(dir, r.Manifest.Files[2].Name), 70, 4)
	_, err = Repair(t.Context(), dir, listClasses)
	if damage := (*DamageError)(nil); !errors.As(err, &damage) || damage.File != r.Manifest.Files[2].Name {
		t.Errorf("error %v, want the damaged shard", err)
	}
}

// TestRepairRebuildsTheCompanionFiles damages each companion file that the shards can restore, and
// all of them at once.
func TestRepairRebuildsTheCompanionFiles(t *testing.T) {
	dir := t.TempDir()
	src := newSource(t, 30)
	src.put(&src.items[4], []byte("no image"))
	mustBuild(t, src, dir, small())
	want := contents(t, dir)
	every := []string{FailuresFile, AttributionFile, StatsFile, TaxonomyFile}
	for _, harmed := range append([][]string{every},
		[][]string{{FailuresFile}, {AttributionFile}, {StatsFile}, {TaxonomyFile}}...) {
		for i, name := range harmed {
			if i%2 == 0 {
				flip(t, filepath.Join(dir, name), 20, 1)
			} else if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		fixed, err := Repair(t.Context(), dir, listClasses)
		if err != nil || !slices.Equal(fixed, harmed) {
			t.Errorf("harmed %v, repaired %v, %v", harmed, fixed, err)
		}
		sameContents(t, contents(t, dir), want)
	}
}

func TestRepairRefusesFilesThatShardsCannotRestore(t *testing.T) {
	dir := t.TempDir()
	mustBuild(t, newSource(t, 30), dir, small())
	before := contents(t, dir)
	flip(t, filepath.Join(dir, StatsFile), 20, 1)
	flip(t, filepath.Join(dir, BuildFile), 20, 1)
	fixed, err := Repair(t.Context(), dir, listClasses)
	wantError(t, err, BuildFile, "build the data set again")
	if !errors.As(err, new(*DamageError)) || !slices.Equal(fixed, []string{StatsFile}) {
		t.Errorf("repaired %v, %v", fixed, err)
	}
	mustBuild(t, newSource(t, 30), dir, small())
	sameContents(t, contents(t, dir), before)
	flip(t, filepath.Join(dir, TaxonomyFile), 5, 1)
	_, err = Repair(t.Context(), dir, nil) // no taxonomy writer
	wantError(t, err, TaxonomyFile)
}

// BUILD.json precedes taxonomy.skos.ttl in the manifest.
func TestRepairContinuesAfterAFailure(t *testing.T) {
	dir := t.TempDir()
	mustBuild(t, newSource(t, 30), dir, small())
	must.Do(t, disk(dir).remove(BuildFile, TaxonomyFile))
	fixed, err := Repair(t.Context(), dir, listClasses)
	wantError(t, err, BuildFile)
	if !slices.Equal(fixed, []string{TaxonomyFile}) {
		t.Errorf("repaired %v", fixed)
	}
}
