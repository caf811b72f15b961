package shards

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

func TestCardListsSplitsClassesAndLicences(t *testing.T) {
	dir := t.TempDir()
	src := newSource(t, 30)
	for i := range src.items {
		src.items[i].Attributes.License = ""
		if i < 10 {
			src.items[i].Attributes.License = "CC BY | 2.0"
		}
	}
	m := mustBuild(t, src, dir, small()).Manifest
	card := Card{Title: `Places "of" <Earth>`, License: "cc-by-4.0", URL: "https://example.org", Citation: "Ann, 2026"}
	before := contents(t, dir)
	for range 2 { // the second card has the same bytes
		must.Do(t, WriteCard(t.Context(), dir, card))
	}
	after := contents(t, dir)
	readme := after[CardFile]
	for _, want := range []string{"license: \"cc-by-4.0\"\n", "size_categories:\n- n<1K\n", `| CC BY \| 2.0 | 10 |`, "| not stated in the rows | 20 |",
		"# Places \"of\" &lt;Earth>", "Ann, 2026", AttributionFile, BuildFile, m.Inputs[0].SHA256.String()} {
		if !strings.Contains(readme, want) {
			t.Errorf("no %q in\n%s", want, readme)
		}
	}
	for _, split := range m.Splits() {
		if want := "  - split: " + string(split) + "\n    path: data/" + string(split) +
			"-*.parquet\n"; !strings.Contains(readme, want) {
			t.Errorf("the head does not list split %s:\n%s", split, readme)
		}
	}
	var doc struct {
		Name         string
		Distribution []struct {
			ID     string `json:"@id"`
			SHA256 string
		}
		RecordSet []struct {
			Field []struct {
				Source struct{ Extract struct{ Column string } }
			}
		}
	}
	if err := json.Unmarshal([]byte(after[CroissantFile]), &doc); err != nil || doc.Name != card.Title {
		t.Fatalf("%v, %+v", err, doc)
	}
	hashes := map[string]string{}
	for _, d := range doc.Distribution {
		hashes[d.ID] = d.SHA256
	}
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte(after[LabelsFile]))); hashes[LabelsFile] != want {
		t.Errorf("croissant.json has hash %q of %s, want %s", hashes[LabelsFile], LabelsFile, want)
	}
	for _, f := range m.Files {
		if hashes[f.Name] != f.SHA256.String() {
			t.Errorf("croissant.json has hash %q of %s", hashes[f.Name], f.Name)
		}
	}
	for _, c := range m.Companions {
		if hashes[c.Name] != c.SHA256.String() {
			t.Errorf("croissant.json has hash %q of %s", hashes[c.Name], c.Name)
		}
	}
	set := mustOpen(t, dir)
	known := map[string]bool{"image": true}
	for _, c := range (&Schema{Classes: set.classes, Landmarks: m.Landmarks}).columns() {
		known[c.name] = true
	}
	for _, r := range doc.RecordSet {
		for _, f := range r.Field {
			if !known[f.Source.Extract.Column] {
				t.Errorf("croissant.json names column %q, which the shards do not have", f.Source.Extract.Column)
			}
		}
	}
	delete(after, CardFile)
	delete(after, LabelsFile)
	delete(after, CroissantFile)
	sameContents(t, after, before)
	if v := mustVerify(t, dir); len(v.Damage) > 0 {
		t.Errorf("the card is damage to verify: %v", v.Damage[0])
	}
}

func TestCardOfDamagedShardsIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	m := mustBuild(t, newSource(t, 10), dir, small()).Manifest
	flip(t, filepath.Join(dir, m.Files[0].Name), m.Files[0].Bytes/2, 1)
	if err := WriteCard(t.Context(), dir, Card{}); err == nil {
		t.Error("a card of damaged shards is written")
	}
	if _, err := os.Stat(filepath.Join(dir, CardFile)); err == nil {
		t.Error("the card is there")
	}
	if err := WriteCard(t.Context(), t.TempDir(), Card{}); err == nil {
		t.Error("a card of nothing is written")
	}
}

func TestSizeCategoryIsThatOfTheHub(t *testing.T) {
	for n, want := range map[int]string{0: "n<1K", 999: "n<1K", 1000: "1K<n<10K", 99999: "10K<n<100K",
		100000: "100K<n<1M", 1 << 30: "1M<n<10M"} {
		if got := sizeCategory(n); got != want {
			t.Errorf("%d rows: %s, want %s", n, got, want)
		}
	}
}

// Licences are spelled in many ways, and the Hub knows one of each.
func TestLicencesOfTheHubAreProposed(t *testing.T) {
	for name, want := range map[string]string{"CC BY 4.0": "cc-by-4.0", "Apache License 2.0": "apache-2.0",
		"MIT License": "mit", "Creative Commons Attribution 4.0 International": "cc-by-4.0", "GPL-3.0-only": "gpl-3.0",
		"CC0": "cc0-1.0", "BSD 3-Clause License": "bsd-3-clause", "ODbL": "odbl"} {
		err := WriteCard(t.Context(), t.TempDir(), Card{License: name})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("did you mean %q", want)) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if got := hubLicence("Public Domain"); got != "" {
		t.Errorf("the public domain is no licence, and not %q", got)
	}
}
