package scrape_test

import (
	"encoding/csv"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/scrape/testing/fakecommons"
	"hgld/scrape/testing/sourcetest"
)

// categoryItem is the tag of landmark 101373: the item of a category without a main topic.
const categoryItem = "Wikimedia category"

// realRows returns places for the 919 real rows of GLDv2's train split. 850 have the tag that
// others have scraped, 76 their item. A test that is not exhaustive gets one in ten of those that
// have a tag without a qualifier and no item.
func realRows(t *testing.T) (places []fakecommons.Category, urls []string) {
	t.Helper()
	f := must.Get(os.Open(goldens.Shared(t, "data", "wikimedia", "real_rows.csv")))(t)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != 920 || strings.Join(rows[0][:5],
		",") != "split,landmark_id,category,wikidata_id,supercategory" {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	tagged := 0
	for i, row := range rows[1:] {
		id := must.Get(strconv.Atoi(row[1]))(t)
		title := must.Get(labels.Title(row[2]))(t)
		c := fakecommons.Category{Landmark: labels.LandmarkID(id), Title: title, Item: row[3], Variant: fakecommons.NoTag}
		if c.Item == "" {
			c.Item = fmt.Sprint("Q", 300_000_000+i)
		}
		if tag := row[4]; tag != "" {
			tagged++
			c.Variant, c.Values = fakecommons.Plain, []fakecommons.Value{{Text: tag}}
			// a qualifier
			if head, inner, printed := strings.Cut(strings.TrimSuffix(tag, ")"), " ("); printed && strings.HasSuffix(tag, ")") {
				c.Values = []fakecommons.Value{{Text: head, Qualifiers: []string{inner}}}
			}
		}
		plain := row[3] == "" && c.Values != nil && c.Values[0].Qualifiers == nil && row[4] != categoryItem
		if effort.Exhaustive() || !plain || i%10 == 0 {
			places, urls = append(places, c), append(urls, row[2])
		}
	}
	if tagged != 850 {
		t.Fatalf("%d rows with a tag", tagged)
	}
	return places, urls
}

// Both sources must give the real rows the tags that others have scraped, byte for byte; with
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
			if raw == categoryItem {
				outcome, raw, printed = labels.CategoryItem, "", ""
			}
			if rec.Landmark != place.Landmark || rec.Category != urls[i] || rec.Title != place.Title || rec.Outcome != outcome ||
				rec.Raw != raw || rec.Tag != printed || rec.Item != place.Item {
				t.Errorf("%s: %+v\nwant %s %q", source.Name, rec, outcome, printed)
			}
		}
		if report.Splits[0].Tagged != tagged-1 {
			t.Errorf("%s: %d tags, %d in the report; want one less", source.Name, tagged, report.Splits[0].Tagged)
		}
	}
	s.KeptRules(t)
}
