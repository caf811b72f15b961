package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"unicode"

	"github.com/rogpeppe/go-internal/testscript"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/scrape/testing/fakecommons"
)

// parks are the categories of the site that the scripts of testdata/scrape ask.
func parks() []fakecommons.Category {
	return []fakecommons.Category{
		{Landmark: 0, Title: "Category:Happy Valley Racecourse",
			Values: []fakecommons.Value{{Text: "horse racing venue", Link: "/wiki/Category:Racecourses"}}, Item: "Q837662"},
		{Landmark: 1, Title: "Category:Luitpoldpark (München)", Variant: fakecommons.SoftRedirect,
			Target: "Category:Luitpoldpark"},
		{Landmark: 2, Title: "Category:St. Mary's, Old & New",
			Values: []fakecommons.Value{{Text: "church building", Qualifiers: []string{"1172–1954"}},
				{Text: "tourist attraction"}}},
		{Landmark: 3, Title: "Category:Nobody knows", Variant: fakecommons.NoTag},
		{Landmark: 4, Title: "Category:Gone", Variant: fakecommons.Missing},
		{Title: "Category:Luitpoldpark", Values: []fakecommons.Value{{Text: "park"}}},
	}
}

// sights are the categories of the site that testdata/scrape/since.txt asks, and
// what has become of them later: a chapel is a church building, a bay a lagoon, the
// class of castles has another label, and there is a lighthouse.
func sights(later bool) []fakecommons.Category {
	tags := []fakecommons.Value{{Text: "church building"}, {Text: "church building"}, {Text: "chapel"}, {Text: "lake"},
		{Text: "lake"}, {Text: "bay"},
		{Text: "road bridge"}, {Text: "railway bridge"}, {Text: "castle", Class: "Q23413"}, {Text: "castle", Class: "Q23413"},
		{}}
	if later {
		tags[2].Text, tags[5].Text, tags[8].Text, tags[9].Text, tags[10].Text = "church building", "lagoon", "castle or fort",
			"castle or fort", "lighthouse"
	}
	var all []fakecommons.Category
	for i, tag := range tags {
		c := fakecommons.Category{Landmark: labels.LandmarkID(i), Title: fmt.Sprintf("Category:Sight %d", i),
			Item:   fmt.Sprintf("Q%d", 1000+i),
			Values: []fakecommons.Value{tag}, Revision: 900_000_000 + int64(i)}
		if later && (i == 2 || i == 5 || i == 10) { // the label of a class is no edit of the item
			c.Revision += 1000
		}
		all = append(all, c)
	}
	return all
}

// TestScrapeScripts runs the command lines of testdata/scrape, which ask a fake
// Commons at $COMMONS; $CORPUS has classes and places above those of its landmarks, $DOWN
// answers 403 to everything, and the command "later" changes $SIGHTS.
func TestScrapeScripts(t *testing.T) {
	type changing struct {
		atomic.Pointer[fakecommons.Server]
	}
	later := func(ts *testscript.TestScript, _ bool, _ []string) {
		ts.Value("sights").(*changing).Store(fakecommons.New(sights(true)))
	}
	testscript.Run(t, testscript.Params{Dir: filepath.Join("testdata", "scrape"), RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"later": later}, Setup: func(e *testscript.Env) error {
			site, down := fakecommons.New(parks()), fakecommons.New(nil)
			down.Always = func(string) (fakecommons.Fault, bool) { return fakecommons.Fault{Status: 403}, true }
			corpus := fakecommons.Corpus(300)
			linked := fakecommons.New(corpus)
			linked.Add(fakecommons.CorpusItems(corpus)...)
			for name, handler := range map[string]*fakecommons.Server{"COMMONS": site, "DOWN": down, "CORPUS": linked} {
				server := httptest.NewServer(handler)
				e.Defer(server.Close)
				e.Setenv(name, server.URL)
			}
			now := &changing{}
			now.Store(fakecommons.New(sights(false)))
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
				r *http.Request) {
				now.Load().ServeHTTP(w, r)
			}))
			e.Defer(server.Close)
			e.Setenv("SIGHTS", server.URL)
			e.Values["sights"] = now
			return errors.Join(writeCategories(filepath.Join(e.WorkDir, "categories.csv"), parks()[:5]),
				writeCategories(filepath.Join(e.WorkDir, "train_corpus.csv"), corpus),
				writeCategories(filepath.Join(e.WorkDir, "train_sights.csv"), sights(false)))
		}})
}

func writeCategories(path string, places []fakecommons.Category) error {
	var table bytes.Buffer
	if err := fakecommons.WriteCSV(&table, places); err != nil {
		return err
	}
	return os.WriteFile(path, table.Bytes(), 0o644)
}

// crawlSite is a site of n pages in a folder of its own, which becomes the current
// one, with its list of categories.
func crawlSite(t *testing.T, n int) (*fakecommons.Server, string) {
	t.Helper()
	var pages []fakecommons.Category
	for i := range n {
		pages = append(pages, fakecommons.Category{Landmark: labels.LandmarkID(i), Title: fmt.Sprintf("Category:Place %d", i),
			Values: []fakecommons.Value{{Text: "place"}}})
	}
	t.Chdir(t.TempDir())
	must.Do(t, writeCategories("train_categories.csv", pages))
	site := fakecommons.New(pages)
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	return site, server.URL
}

// scrapeRun runs the command in this process and returns its exit code and what
// it printed.
func scrapeRun(url string, more ...string) (int, string) {
	var out bytes.Buffer
	args := append([]string{"hgld", "scrape", "run", "--categories", "train_categories.csv", "-o", "base_url=" + url,
		"--rate", "0"}, more...)
	return hgld(args, &out, &out), out.String()
}

func TestScrapeExitCodes(t *testing.T) {
	site, url := crawlSite(t, 12)
	var broken, refusing atomic.Bool
	site.Always = func(title string) (fakecommons.Fault, bool) {
		if refusing.Load() {
			return fakecommons.Fault{Status: 403}, true
		}
		return fakecommons.Fault{Body: "<html>"}, broken.Load() && title == "Category:Place 5"
	}
	expect := func(want int, text string, more ...string) {
		t.Helper()
		if code, out := scrapeRun(url, more...); code != want || !strings.Contains(out, text) {
			t.Errorf("scrape run %v: exit code %d, want %d and %q:\n%s", more, code, want, text, out)
		}
	}
	expect(exitUsage, `did you mean "first"`, "--policy", "frist")
	expect(exitUsage, "the tags have no file name", "--out", "")
	expect(exitUsage, "the folder nowhere does not exist", "--out", "nowhere/tags.jsonl")
	expect(exitUsage, "--limit makes a trial", "--max-requests", "3")
	if len(site.Requests()) != 0 {
		t.Errorf("%v were asked for before the command line was right", site.Requests())
	}
	refusing.Store(true)
	expect(exitTemporary, "8 refusals in a row: HTTP 403 Forbidden")
	refusing.Store(false)
	broken.Store(true)
	expect(exitSomeFailed, "train/5 error_retryable: "+url+"/wiki/Category:Place_5: the page is truncated")
	broken.Store(false)
	expect(exitOK, "train: 12 of 12 landmarks have a tag (100.0 %)\n")
	before := must.Get(os.ReadFile("tags.jsonl"))(t)
	expect(exitUsage, "was created with base_url", "-o", "base_url=http://127.0.0.1:1")
	expect(exitUsage, "continue it: -o base_url="+url+"; or keep both", "-o", "base_url=http://127.0.0.1:1")
	expect(exitOK, "12 of 12", "--reparse")
	if after, err := os.ReadFile("tags.jsonl"); err != nil || !bytes.Equal(before, after) {
		t.Errorf("--reparse changed tags.jsonl (%v)", err)
	}
	kept, err := filepath.Glob(filepath.Join("scrape", "raw", "*", "*.gz"))
	if err != nil || len(kept) != 12 {
		t.Fatal(kept, err)
	}
	must.Do(t, os.Truncate(kept[0], 20))
	for range 2 { // one damaged body gives the same exit code every time
		expect(exitIntegrity, "without --reparse fetches the damaged pages again", "--reparse")
	}
	expect(exitOK, "12 of 12")
	expect(exitOK, "12 of 12", "--reparse")
}

func TestScrapeThatCannotReadItsPagesKeepsThem(t *testing.T) {
	site, url := crawlSite(t, 12)
	expect := func(want int, text string, more ...string) {
		t.Helper()
		if code, out := scrapeRun(url, more...); code != want || !strings.Contains(out, text) {
			t.Errorf("scrape run %v: exit code %d, want %d and %q:\n%s", more, code, want, text, out)
		}
	}
	expect(exitOK, "12 of 12")
	raw := filepath.Join("scrape", "raw")
	must.Do(t, os.Rename(raw, "elsewhere"))
	expect(exitIntegrity, "restore the missing files in "+raw, "--reparse")
	expect(exitIntegrity, "restore the missing files in "+raw)
	if err := os.Rename("elsewhere", raw); err != nil {
		t.Fatalf("the folder cannot be moved back: %v", err)
	}
	expect(exitOK, "12 of 12", "--reparse")
	expect(exitUsage, "leave one out", "--reparse", "--retry", "missing")
	expect(exitUsage, `did you mean "missing"`, "--retry", "misssing")
	for title, n := range site.Requests() {
		if n != 1 {
			t.Errorf("%s was asked for %d times", title, n)
		}
	}
}

func TestScrapeOfALoginPageStops(t *testing.T) {
	site, url := crawlSite(t, 40)
	site.Always = func(string) (fakecommons.Fault, bool) {
		return fakecommons.Fault{Body: "<html><form></form></html>"}, true
	}
	code, out := scrapeRun(url)
	if code != exitTemporary || !strings.Contains(out, "20 answers in a row could not be read") ||
		!strings.Contains(out, "--retry malformed") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// What a site sends is shown, never obeyed, and no more of it than a line.
func TestScrapeShowsTerminalEscapesEscaped(t *testing.T) {
	site, url := crawlSite(t, 1)
	site.Always = func(string) (fakecommons.Fault, bool) {
		return fakecommons.Fault{Body: "<html></html>", Type: "text/\u009b31m\u202e" + strings.Repeat("x", 5000)}, true
	}
	code, out := scrapeRun(url)
	if code != exitSomeFailed || !strings.Contains(out, `train/0 malformed: Content-Type`) {
		t.Errorf("exit code %d\n%s", code, out)
	}
	for _, line := range strings.Split(out, "\n") {
		if len(line) > 400 || strings.ContainsFunc(line, unicode.IsControl) || strings.ContainsRune(line, '\u202e') {
			t.Errorf("printed: %q", line)
		}
	}
	tags, err := os.ReadFile("tags.jsonl")
	if err != nil || strings.ContainsRune(string(tags), '\u202e') || len(tags) > 2000 {
		t.Errorf("%v; the file has\n%q", err, tags)
	}
}
