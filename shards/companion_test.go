package shards

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/testing/must"
	"hgld/labels"
)

// allRows reads the rows of all splits, images included.
func allRows(tb testing.TB, dir string) []*Row {
	tb.Helper()
	set := mustOpen(tb, dir)
	var all []*Row
	for _, split := range set.Manifest().Splits() {
		for row, err := range mustSplit(tb, set, split).Rows(tb.Context(), true) {
			must.Do(tb, err)
			copied := *row
			copied.Image = slices.Clone(row.Image)
			all = append(all, &copied)
		}
	}
	return all
}

// textRows reads a table of texts. NULL becomes "".
func textRows(tb testing.TB, f *parquet.File) [][]string {
	tb.Helper()
	var all [][]string
	for _, group := range f.RowGroups() {
		rows := group.Rows()
		for buf := make([]parquet.Row, 1); ; {
			n, err := rows.ReadRows(buf)
			if n == 1 {
				var texts []string
				for _, v := range buf[0] {
					if !v.IsNull() && len(v.ByteArray()) == 0 {
						tb.Errorf("row %d has an empty text, want NULL", len(all))
					}
					texts = append(texts, string(v.ByteArray()))
				}
				all = append(all, texts)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			must.Do(tb, err)
		}
		must.Do(tb, rows.Close())
	}
	return all
}

func TestAttributionHasARowForEveryImage(t *testing.T) {
	dir := t.TempDir()
	src := newSource(t, 60)
	src.put(&src.items[4], []byte("no image"))
	src.put(&src.items[5], photo(t, 200, 100, 1))
	src.items[7].Attributes = Attributes{}
	src.items[8].Attributes.SourceURL = "https://example.org/8"
	o := small()
	o.ShortSide, o.Quality = 50, 80
	m := mustBuild(t, src, dir, o).Manifest
	f := openParquet(t, filepath.Join(dir, AttributionFile))
	got := textRows(t, f)
	var want [][]string
	modified := 0
	for _, r := range allRows(t, dir) {
		a := r.Attributes
		want = append(want, []string{r.ID.String(), string(r.Split), a.Author, a.License, a.Title, a.SourceURL,
			a.Modifications})
		if a.Modifications != "" {
			modified++
		}
	}
	if len(got) != 59 || m.companion(AttributionFile).Rows != 59 || modified != 1 {
		t.Errorf("%d rows, %d in the manifest, %d modified", len(got), m.companion(AttributionFile).Rows, modified)
	}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("rows %q\nwant %q", got, want)
	}
	var names []string
	for _, c := range f.Schema().Columns() {
		names = append(names, strings.Join(c, "."))
	}
	if want := "image_id split author license title source_url modified"; strings.Join(names, " ") != want {
		t.Errorf("columns %v, want %s", names, want)
	}
}

// TestAttributionFileIsOmittedIfEmpty builds a data set without attributions over one that had
// them. A row needs more than the flag that an image was modified.
func TestAttributionFileIsOmittedIfEmpty(t *testing.T) {
	dir, fresh := t.TempDir(), t.TempDir()
	mustBuild(t, newSource(t, 20), dir, small())
	src := newSource(t, 20)
	src.levels = src.levels[:1]
	for i := range src.items {
		src.items[i].Attributes = Attributes{}
		src.items[i].Names = src.items[i].Names[:min(1, len(src.items[i].Names))]
	}
	o := small()
	o.ShortSide = 18
	mustBuild(t, src, dir, o)
	mustBuild(t, src, fresh, o)
	got := contents(t, dir)
	sameContents(t, got, contents(t, fresh))
	for _, name := range []string{AttributionFile, TaxonomyFile} { // one level is not a hierarchy
		if _, there := got[name]; there {
			t.Errorf("%s is there", name)
		}
	}
	if v := mustVerify(t, dir); len(v.Damage) > 0 {
		t.Error(v.Damage)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, AttributionFile), []byte("of another"), 0o644))
	if v := mustVerify(t, dir); len(v.Damage) != 1 || v.Damage[0].File != AttributionFile {
		t.Errorf("a strange %s is not found: %v", AttributionFile, v.Damage)
	}
}

// TestStatsAreThoseOfTheRows counts again, by definition.
func TestStatsAreThoseOfTheRows(t *testing.T) {
	dir := t.TempDir()
	src := newSource(t, 90)
	src.put(&src.items[1], []byte("no image"))
	lose(src.items[2:3])
	for i := range src.items {
		src.items[i].Attributes.License = []string{"CC BY 4.0", "", "CC0"}[i%3]
	}
	m := mustBuild(t, src, dir, small()).Manifest
	var stats Stats
	must.Do(t, json.Unmarshal([]byte(contents(t, dir)[StatsFile]), &stats))
	if failures := stats.Splits[0].Failures; len(failures) != 2 || failures[DecodeFailure] != 1 ||
		failures[MissingFailure] != 1 {
		t.Errorf("failures %v", failures)
	}
	rows := allRows(t, dir)
	for i, split := range m.Splits() {
		got := stats.Splits[i]
		var width, height, bytes []int
		licences, classes := map[string]int{}, []map[string]int{{}, {}}
		for _, r := range rows {
			if r.Split != split {
				continue
			}
			width, height, bytes = append(width, r.W), append(height, r.H), append(bytes, len(r.Image))
			licences[r.Attributes.License]++
			for l, c := range r.Labels {
				if c >= 0 {
					classes[l][m.Levels[l].Classes[c]]++
				}
			}
		}
		if got.Split != split || got.Images != len(width) || got.Images != m.Rows(split) {
			t.Errorf("%s: %d images of split %s", split, got.Images, got.Split)
		}
		sameDistribution(t, string(split)+" width", got.Width, width)
		sameDistribution(t, string(split)+" height", got.Height, height)
		sameDistribution(t, string(split)+" bytes", got.Bytes, bytes)
		for k, l := range got.Licenses {
			if licences[l.Value] != l.Images || k > 0 && l.Images > got.Licenses[k-1].Images {
				t.Errorf("%s: licences %v, want %v", split, got.Licenses, licences)
			}
		}
		for l, level := range got.Levels {
			var sizes []int
			labelled := 0
			for name, n := range classes[l] {
				sizes = append(sizes, n)
				labelled += n
				if level.ByClass[name] != n {
					t.Errorf("%s: %d images of %s, want %d", split, level.ByClass[name], name, n)
				}
			}
			if level.Classes != len(sizes) || level.Images != labelled || len(level.ByClass) != len(sizes) {
				t.Errorf("%s: level %+v, want %d images of %d classes", split, level, labelled, len(sizes))
			}
			sameDistribution(t, string(split)+" "+level.Name, level.PerClass, sizes)
		}
	}
}

// sameDistribution compares with the definition: the quantile q is the smallest value that is not
// exceeded by at least a share q of the values.
func sameDistribution(t *testing.T, what string, got Distribution, values []int) {
	t.Helper()
	sum := 0
	for _, v := range values {
		sum += v
	}
	quantile := func(q float64) int {
		best := math.MaxInt
		for _, v := range values {
			upTo := 0
			for _, w := range values {
				if w <= v {
					upTo++
				}
			}
			if float64(upTo) >= q*float64(len(values))-1e-9 { // q·n is exact except for rounding
				best = min(best, v)
			}
		}
		return best
	}
	want := Distribution{Min: slices.Min(values), P5: quantile(0.05), P25: quantile(0.25), Median: quantile(0.5),
		P75: quantile(0.75), P95: quantile(0.95),
		Max: slices.Max(values), Mean: float64(sum) / float64(len(values))}
	if got != want {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

func TestStatsOfAnEmptySplitAreZero(t *testing.T) {
	dir := t.TempDir()
	src := newSource(t, 5) // the last two are all of val and test
	for i := range src.items[3:] {
		src.put(&src.items[3+i], []byte("no image"))
	}
	mustBuild(t, src, dir, small())
	var stats Stats
	must.Do(t, json.Unmarshal([]byte(contents(t, dir)[StatsFile]), &stats))
	if len(stats.Splits) != 3 {
		t.Fatalf("%d splits", len(stats.Splits))
	}
	for _, s := range stats.Splits[1:] {
		if s.Images != 0 || s.Width != (Distribution{}) || s.Levels[0].PerClass != (Distribution{}) ||
			s.Failures[DecodeFailure] == 0 {
			t.Errorf("%+v", s)
		}
	}
}

func TestBuildRecordHasTheGivenProvenanceAndNoTime(t *testing.T) {
	dir := t.TempDir()
	o := small()
	o.Made = Provenance{Source: json.RawMessage(`{"dataset":"gldv2"}`), Curation: json.RawMessage(`{"logs":[{"sha256":"ab"}]}`),
		Clusters: &labels.Origin{Encoder: "clip", K: 150, Seed: 7, Prompt: "a photo of a {}"},
		Scrape:   &ScrapeOrigin{Records: 3, Sources: map[string]int{"api": 3}},
		Unknown:  []string{"<draft>: gone"}}
	m := mustBuild(t, newSource(t, 5), dir, o).Manifest
	text := contents(t, dir)[BuildFile]
	for _, want := range []string{`"tool": "test"`, `"images_per_shard": 10`, m.Inputs[0].SHA256.String(), `"dataset": "gldv2"`, `"sha256": "ab"`, `"k": 150`, `"seed": 7`,
		`"prompt": "a photo of a {}"`, `"api": 3`, `"<draft>: gone"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, time.Now().Format("2006-")) {
		t.Errorf("a time of this run is in\n%s", text)
	}
}

// TestChangedProvenanceReplacesOnlyTheBuildRecord also checks that all shards are kept.
func TestChangedProvenanceReplacesOnlyTheBuildRecord(t *testing.T) {
	dir := t.TempDir()
	o := small()
	mustBuild(t, newSource(t, 30), dir, o)
	before := contents(t, dir)
	o.Made.Unknown = []string{"labels.csv: changed"}
	if r := mustBuild(t, newSource(t, 30), dir, o); r.Kept != len(r.Manifest.Files) {
		t.Errorf("%d of %d shards kept", r.Kept, len(r.Manifest.Files))
	}
	after := contents(t, dir)
	for name := range before {
		if changes := slices.Contains([]string{BuildFile, ManifestFile, SumsFile},
			name); changes == (before[name] == after[name]) {
			t.Errorf("%s: changed is %v", name, !changes)
		}
	}
	if v := mustVerify(t, dir); len(v.Damage) > 0 {
		t.Error(v.Damage)
	}
}

// TestFailedCompanionFileKeepsTheOldDataSet stops a build with complete shards while it writes the
// last companion file.
func TestFailedCompanionFileKeepsTheOldDataSet(t *testing.T) {
	dir := t.TempDir()
	mustBuild(t, newSource(t, 30), dir, small())
	before := contents(t, dir)
	o := small()
	o.Made.Unknown = []string{"other"}
	o.Taxonomy = func(w io.Writer, _ *labels.Hierarchy) error {
		_, err := w.Write([]byte("half"))
		return errors.Join(err, errors.New("no more"))
	}
	_, err := Build(t.Context(), newSource(t, 30), dir, o)
	wantError(t, err, "no more")
	after := contents(t, dir)
	delete(after, LockName) // marks an unfinished build
	sameContents(t, after, before)
	if v := mustVerify(t, dir); len(v.Damage) > 0 {
		t.Error(v.Damage)
	}
}

func TestManifestWithWrongCompanionsIsRefused(t *testing.T) {
	for name, change := range map[string]func(m *Manifest){
		"outside":  func(m *Manifest) { m.Companions[0].Name = "../" + AttributionFile },
		"twice":    func(m *Manifest) { m.Companions[1] = m.Companions[0] },
		"order":    func(m *Manifest) { m.Companions[0], m.Companions[1] = m.Companions[1], m.Companions[0] },
		"empty":    func(m *Manifest) { m.Companions[0].Bytes = 0 },
		"no stats": func(m *Manifest) { m.Companions = slices.Delete(m.Companions, 1, 2) },
	} {
		dir := t.TempDir()
		m := mustBuild(t, newSource(t, 5), dir, small()).Manifest
		change(m)
		must.Do(t, m.write(disk(dir), disk(dir).write))
		if _, err := ReadManifest(t.Context(), dir); !errors.As(err, new(*DamageError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAttributionIsCutIntoRowGroups writes more rows than the Parquet library may buffer.
func TestAttributionIsCutIntoRowGroups(t *testing.T) {
	to := &companionWriter{dir: disk(t.TempDir())}
	f := must.Get(to.create(AttributionFile))(t)
	a := newAttribution(f)
	const rows = attributionGroup + 10
	for i := range rows {
		if err := a.write(&Row{ID: ImageID(i), Split: labels.Index,
			Attributes: Attributes{Title: "Bild " + ImageID(i).String()}}); err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, errors.Join(a.parquet.Close(), to.commit()))
	var groups []int64
	read := openParquet(t, filepath.Join(to.dir.String(), AttributionFile))
	for _, g := range read.RowGroups() {
		groups = append(groups, g.NumRows())
	}
	if !slices.Equal(groups, []int64{attributionGroup, 10}) {
		t.Errorf("row groups of %v rows", groups)
	}
	got := textRows(t, read)
	for i, row := range got {
		if id := ImageID(i).String(); !slices.Equal(row, []string{id, "index", "", "", "Bild " + id, "", ""}) {
			t.Fatalf("row %d: %q", i, row)
		}
	}
	if len(got) != rows || a.rows != rows || !a.any {
		t.Errorf("%d rows read, %d counted", len(got), a.rows)
	}
}
