package scrape_test

import (
	"bytes"
	"slices"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/labels"
	"hgld/scrape/testing/fakecommons"
	"hgld/scrape/testing/sourcetest"
)

func TestAPIAndPagesGiveTheSameTags(t *testing.T) {
	t.Parallel()
	s := sourcetest.NewSite(t, sourcetest.Places(8*sourcetest.Kinds))
	var records [][]labels.Record
	for _, source := range sourcetest.Sources {
		_, data := sourcetest.Run(t, s.Config(t, source, t.TempDir()))
		records = append(records, sourcetest.Records(t, data))
	}
	for i, want := range records[0] {
		got := records[1][i]
		if got.Outcome != want.Outcome || got.Tag != want.Tag || !slices.Equal(got.Redirects, want.Redirects) ||
			len(want.Values) > 0 && got.Outcome == labels.OK && !slices.Equal(got.Values[len(got.Values)-1].Qualifiers,
				want.Values[len(want.Values)-1].Qualifiers) {
			t.Errorf("%s:\nAPI   %+v\npages %+v", got.Title, got, want)
		}
	}
	s.KeptRules(t)
	for key, n := range s.Answered() {
		if n > 1 {
			t.Errorf("%s was asked for %d times", key, n)
		}
	}
}

// With failures in 20 % of all requests, no tag is lost or wrong and no rule is broken. The same
// command fetches what an aborted page has left open.
func TestFailuresOfTheSiteLoseNoTag(t *testing.T) {
	t.Parallel()
	for _, source := range sourcetest.Sources {
		t.Run(source.Name, func(t *testing.T) {
			t.Parallel()
			size := map[string]int{"page": 200, "api": 800}[source.Name] // the API answers for 50 titles at a time
			if effort.Exhaustive() {
				size = 1500
			}
			places := fakecommons.Corpus(size)
			_, want := sourcetest.Run(t, sourcetest.NewSite(t, places).Config(t, source, t.TempDir()))
			outcomes, tags := fakecommons.Expected(places)
			for i, rec := range sourcetest.Records(t, want) {
				if rec.Outcome != outcomes[i] || rec.Tag != tags[i] {
					t.Errorf("%s: %s %q, want %s %q", rec.Title, rec.Outcome, rec.Tag, outcomes[i], tags[i])
				}
			}
			rough := sourcetest.NewSite(t, places)
			rough.Failures, rough.Seed = 0.2, 11
			cfg := rough.Config(t, source, t.TempDir())
			report, got := sourcetest.Run(t, cfg)
			runs := 1
			for ; len(report.Failed) > 0 && runs < 10; runs++ {
				report, got = sourcetest.Run(t, cfg)
			}
			if !bytes.Equal(got, want) || len(report.Failed) > 0 {
				t.Errorf("tags.jsonl differs after %d runs; failed %+v", runs, report.Failed)
			}
			rough.KeptRules(t)
			failed := map[string]int{}
			for _, r := range rough.Log() {
				if r.Failed != "" {
					failed[r.Failed]++
				}
			}
			t.Logf("%d runs, %d requests, failures %v", runs, len(rough.Log()), failed)
			if len(failed) < 8 {
				t.Errorf("only these failures were met: %v", failed)
			}
		})
	}
}
