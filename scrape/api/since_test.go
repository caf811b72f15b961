package api_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/scrape"
	"hgld/scrape/testing/fakecommons"
	"hgld/scrape/testing/sourcetest"
)

// TestSinceFetchesChangedPages changes five of 300 landmarks and crawls again.
func TestSinceFetchesChangedPages(t *testing.T) {
	t.Parallel()
	places := sourcetest.Places(300)
	s := sourcetest.NewSite(t, places)
	dir := t.TempDir()
	_, _, before := mustRun(t, s.Config(t, through, dir))

	changed := sourcetest.Places(300)
	for i := range changed {
		changed[i].Revision = 900_000_000 + int64(i)
	}
	edit := func(i int, values ...fakecommons.Value) {
		changed[i].Values, changed[i].Revision = values, 950_000_000
	}
	edit(0, fakecommons.Value{Text: "cathedral"})        // another tag; 6 and 9 lead to it
	edit(2)                                              // no value any more
	edit(15, fakecommons.Value{Text: "church building"}) // its qualifier has gone: the tag stays
	changed[30].Item = "Q7777777"                        // another item, without an edit of the page
	changed[34] = fakecommons.Category{Title: places[34].Title, Item: "Q8", Landmark: 34,
		Values: []fakecommons.Value{{Text: "pier"}}} // was missing
	s.Serve(changed)
	cfg := s.Config(t, through, dir)
	cfg.Since, cfg.Out.Changes = true, filepath.Join(dir, "changes.jsonl")
	report, _, after := mustRun(t, cfg)

	f := must.Get(os.Open(cfg.Out.Changes))(t)
	defer f.Close()
	got := map[labels.LandmarkID]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c scrape.Change
		must.Do(t, json.Unmarshal(lines.Bytes(), &c))
		if c.Before == nil || c.Before.Tag != before[c.Landmark].Tag || c.After.Tag != after[c.Landmark].Tag {
			t.Errorf("change %+v", c)
		}
		got[c.Landmark] = c.Before.Tag + " -> " + string(c.After.Outcome) + " " + c.After.Tag
	}
	want := map[labels.LandmarkID]string{0: "church building -> ok cathedral", 6: "church building -> ok cathedral",
		9: "church building -> ok cathedral",
		2: "lake -> no_tag ", 34: " -> ok pier"}
	for id, change := range want {
		if got[id] != change {
			t.Errorf("landmark %d: %q, want %q", id, got[id], change)
		}
	}
	if len(got) != len(want) || report.Changes != len(want) {
		t.Errorf("changes %v, want %v", got, want)
	}
	claims := 0
	for key := range s.Answered() {
		if strings.HasPrefix(key, "wbgetentities claims") {
			claims++
		}
	}
	if claims > 6 {
		t.Errorf("claims of %d items were asked for again, want those that have changed", claims)
	}
	// Nothing has changed since then.
	if report, _, _ := mustRun(t, cfg); report.Changes != 0 {
		t.Errorf("%d changes since the last run", report.Changes)
	}
}
