package dataset

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/shards"
)

func TestTaxonomyAddsCoarserLevels(t *testing.T) {
	dir := t.TempDir()
	images, table := filepath.Join(dir, "images"), filepath.Join(dir, "makes.csv")
	for _, name := range []string{"Audi/A4/1.jpg", "Audi/TT/2.jpg", "Fiat/500/3.jpg"} {
		path := filepath.Join(images, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte("x"), 0o644))
	}
	var noClass []string
	read := func(text string) (names []string, src shards.Source, err error) {
		t.Helper()
		must.Do(t, os.WriteFile(table, []byte(text), 0o644))
		folders, err := Folder{}.Open(t.Context(), Settings{Input: images, Levels: []string{"model", "make"}})
		must.Do(t, err)
		t.Cleanup(func() { folders.Close() })
		if src, err = Below(t.Context(), folders, table, noClass); err != nil {
			return nil, nil, err
		}
		for item, err := range src.Items(t.Context()) {
			if err != nil {
				return nil, nil, err
			}
			names = append(names, strings.Join(item.Names, " < "))
		}
		return names, src, nil
	}
	got, src, err := read("Make;origin;continent\nFiat;Italy;Europe\nAudi;Germany;Europe\nFord;USA;America\n")
	want := []string{"A4 < Audi < Germany < Europe", "TT < Audi < Germany < Europe", "500 < Fiat < Italy < Europe"}
	levels := []string{"model", "make", "origin", "continent"}
	if err != nil || !slices.Equal(got, want) || !slices.Equal(src.Levels(), levels) {
		t.Fatalf("%v, %q of %v, want %q", err, got, src, want)
	}
	all, err := src.Inputs(t.Context(), func(int) bool { return true })
	if last := all[len(all)-1]; err != nil || last.Name != "makes.csv" || last.SHA256 == (shards.Hash{}) {
		t.Errorf("%v, the last input is %+v", err, last)
	}
	for text, want := range map[string]string{
		"make,origin\nFiat,Italy\n":                                   `makes.csv has no row for make "Audi"`,
		"brand,origin\nFiat,Italy\n":                                  "the columns are brand, origin; want make",
		"make\nFiat\n":                                                "the columns are make; want make",
		"make,model\nFiat,Italy\n":                                    `level "model" is there twice`,
		"make,origin\nFiat,\n":                                        `line 2: "Fiat,": want a class in every column, and origin is ""`,
		"make,origin\nFiat,Italy\nAudi,nan\n":                         `line 3: "Audi,nan": want a class in every column, and origin is "nan"`,
		"make,origin\nFiat,IT\nAudi,NA\n":                             `origin: "NA" means no class in most tables, but the classes are codes`,
		"make,origin\nFiat,Italy\nFiat,Spain\nAudi,Germany\n":         `"Fiat" has two parents: "Italy" (line 2) and "Spain" (line 3)`,
		"make,origin,continent\nFiat,Italy,Europe\nAudi,Italy,Asia\n": `"Italy" has two parents: "Europe" (line 2) and "Asia" (line 3)`,
		"make,origin\n":                                               "has no rows",
		"":                                                            "makes.csv",
	} {
		_, _, err := read(text)
		wantError(t, err, want)
	}
	noClass = []string{"-1"} // NA is a class
	want = []string{"A4 < Audi < NA", "TT < Audi < NA", "500 < Fiat < IT"}
	if got, _, err := read("make,origin\nFiat,IT\nAudi,NA\n"); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %q, want %q", err, got, want)
	}
}

// macOS writes é as e with an accent behind it, and a spreadsheet as one character.
func TestTaxonomyKnowsBothFormsOfALetter(t *testing.T) {
	dir := t.TempDir()
	table := filepath.Join(dir, "t.csv")
	must.Do(t, os.MkdirAll(filepath.Join(dir, "images", "Citroe\u0308n"), 0o755))
	for name, text := range map[string]string{"images/Citroe\u0308n/1.jpg": "x",
		"t.csv": "make,origin\nCitro\u00ebn,France\n"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	src, err := Folder{}.Open(t.Context(), Settings{Input: filepath.Join(dir, "images"), Levels: []string{"make"}})
	must.Do(t, err)
	defer src.Close()
	if src, err = Below(t.Context(), src, table, nil); err != nil {
		t.Fatal(err)
	}
	for item, err := range src.Items(t.Context()) {
		if err != nil || len(item.Names) != 2 || item.Names[1] != "France" {
			t.Errorf("%q, %v, want France", item.Names, err)
		}
	}
}
