package scrape_test

import (
	"encoding/csv"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/labels"
	"hgld/scrape/fakecommons"
	"hgld/scrape/testing/sourcetest"
)

// realRows returns places for the 919 real rows of GLDv2's train split. 850 have the tag that
// others have scraped, 76 their item.
func realRows(t *testing.T) (places []fakecommons.Category, urls []string) {
	t.Helper()
	f, err := os.Open(goldens.Shared(t, "data", "wikimedia", "real_rows.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != 920 || strings.Join(rows[0][:5],
		",") != "split,landmark_id,category,wikidata_id,supercategory" {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, row := range rows[1:] {
		id, err := strconv.Atoi(row[1])
		if err != nil {
			t.Fatal(err)
		}
		title, err := labels.Title(row[2])
		if err != nil {
			t.Fatal(err)
		}
		c := fakecommons.Category{Landmark: labels.LandmarkID(id), Title: title, Item: row[3], Variant: fakecommons.NoTag}
		if c.Item == "" {
			c.Item = fmt.Sprint("Q", 300_000_000+i)
		}
		if tag := row[4]; tag != "" {
			c.Variant, c.Values = fakecommons.Plain, []fakecommons.Value{{Text: tag}}
			// a qualifier
			if head, inner, printed := strings.Cut(strings.TrimSuffix(tag, ")"), " ("); printed && strings.HasSuffix(tag, ")") {
				c.Values = []fakecommons.Value{{Text: head, Qualifiers: []string{inner}}}
			}
		}
		places, urls = append(places, c), append(urls, row[2])
	}
	return places, urls
}

// Both sources must give the 919 real rows the tags that others have scraped, byte for byte; with
// --paper-text, as the page printed them.
func TestRealRowsHaveTheirTags(t *testing.T) {
	t.Parallel()
	places, urls := realRows(t)
	s := sourcetest.NewSite(t, places)
	for _, source := range sourcetest.Sources {
		cfg := s.Config(t, source, t.TempDir())
		cfg.Out.PaperText = true
		report, data := sourcetest.Run(t, cfg)
		tagged := 0
		for i, rec := range sourcetest.Records(t, data) {
			place := places[i]
			outcome, raw, printed := labels.NoTag, "", ""
			if place.Values != nil {
				outcome, raw = labels.OK, place.Values[0].Text
				printed = strings.Join(append([]string{raw}, place.Values[0].Qualifiers...), " (")
				if place.Values[0].Qualifiers != nil {
					printed += ")"
				}
				tagged++
			}
			if raw == "Wikimedia category" { // landmark 101373: the item of a category without a main topic
				outcome, raw, printed = labels.CategoryItem, "", ""
			}
			if rec.Landmark != place.Landmark || rec.Category != urls[i] || rec.Title != place.Title || rec.Outcome != outcome ||
				rec.Raw != raw || rec.Tag != printed || rec.Item != place.Item {
				t.Errorf("%s: %+v\nwant %s %q", source.Name, rec, outcome, printed)
			}
		}
		if tagged != 850 || report.Splits[0].Tagged != 849 {
			t.Errorf("%s: %d tags, %d in the report; want 850, and one less", source.Name, tagged, report.Splits[0].Tagged)
		}
	}
	s.KeptRules(t)
}
