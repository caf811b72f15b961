package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hgld/labels"
	"hgld/scrape"
)

// maxRedirects bounds the soft redirects and moves that are followed from one title.
const maxRedirects = 3

// The classes by which Wikidata says that a page is not about a thing.
var (
	disambiguations = []string{"Q4167410", "Q15407973"}
	categoryClass   = "Q4167836"
)

// Read makes facts of the replies to one question.
func (s *Source) Read(step string, keys []string, answers []scrape.Answer) (map[string]scrape.Fact, error) {
	switch step {
	case stepTitle:
		return readTitles(keys, answers)
	case stepText:
		return readTexts(keys, answers)
	case stepItem:
		return readItems(keys, answers)
	case stepClass:
		return readClasses(keys, answers)
	case stepLog:
		return readLog(keys, answers)
	}
	return nil, fmt.Errorf("unknown step %.80q", step)
}

// Finding follows a title to its item and the item's values.
func (s *Source) Finding(title string, facts scrape.Facts) (labels.Record, []scrape.Task) {
	f := &finder{facts: facts, trace: s.options.TraceMissing}
	f.find(title)
	if len(f.lacking) > 0 {
		return labels.Record{}, f.lacking
	}
	return f.rec, nil
}

// finder makes one record.
type finder struct {
	facts   scrape.Facts
	trace   bool
	rec     labels.Record
	lacking []scrape.Task
}

// get looks a fact up. It is false where the fact is lacking, or is not what this
// source has written.
func (f *finder) get(step, key string, to any) bool {
	fact, known := f.facts(scrape.Task{Step: step, Key: key})
	if !known {
		f.lacking = append(f.lacking, scrape.Task{Step: step, Key: key})
		return false
	}
	if err := json.Unmarshal(fact, to); err != nil {
		f.rec.Outcome, f.rec.Error = labels.Malformed, "what was kept of "+key+": "+err.Error()
		return false
	}
	return true
}

func (f *finder) end(outcome labels.Outcome, why string) { f.rec.Outcome, f.rec.Error = outcome, why }

func (f *finder) find(title string) {
	chain := []string{title}
	for hop := 0; ; hop++ {
		var page titleFact
		if !f.get(stepTitle, chain[hop], &page) {
			return
		}
		f.rec.Redirects = append(f.rec.Redirects, page.Via...)
		target, followed := f.leads(chain[hop], &page)
		if !followed {
			return
		}
		if target == "" {
			f.page(&page)
			return
		}
		f.rec.Redirects = append(f.rec.Redirects, target)
		seen := slices.Contains(chain, target)
		chain = append(chain, target)
		if seen || hop >= maxRedirects {
			f.end(labels.RedirectLoop, strings.Join(chain, " → "))
			return
		}
	}
}

// leads returns the title that a page leads to, "" if it is the page itself. The
// second result is false where the record ends here, or a fact is lacking.
func (f *finder) leads(asked string, page *titleFact) (string, bool) {
	switch {
	case page.Invalid != "":
		f.end(labels.Failed, page.Invalid)
		return "", false
	case page.Missing && f.trace:
		var log logFact
		if !f.get(stepLog, page.Title, &log) {
			return "", false
		}
		if log.Moved != "" {
			return log.Moved, true
		}
		f.end(labels.Missing, "")
		if log.Deleted {
			f.end(labels.Deleted, "")
		}
		return "", false
	case page.Missing:
		f.end(labels.Missing, "")
		return "", false
	case !page.Redirect:
		return "", true
	}
	var text textFact
	if !f.get(stepText, page.Title, &text) {
		return "", false
	}
	if text.Target == "" {
		f.end(labels.Malformed, text.Error)
		return "", false
	}
	return text.Target, true
}

// page goes on from the page that a title has led to.
func (f *finder) page(page *titleFact) {
	f.rec.PageID, f.rec.Revision, f.rec.Revised, f.rec.Infobox = page.ID, page.Revision, page.Revised, &page.Infobox
	f.rec.Item = page.Item
	switch {
	case page.Disambiguation:
		f.end(labels.Disambiguation, "")
		return
	case page.Item == "":
		f.end(labels.NoItem, "")
		return
	}
	var item itemFact
	if !f.get(stepItem, page.Item, &item) {
		return
	}
	if item.Missing {
		f.end(labels.NoItem, page.Item+" does not exist")
		return
	}
	f.rec.Item, f.rec.Combines = item.ID, item.Combines
	if item.Topic != "" {
		var topic itemFact
		if !f.get(stepItem, item.Topic, &topic) {
			return
		}
		if !topic.Missing {
			f.rec.Topic = topic.ID
			item = topic
		}
	}
	f.rec.ItemRevision, f.rec.ItemRevised = item.Revision, item.Revised
	f.values(item.Values)
}

// values labels the values and judges them.
func (f *finder) values(values []value) {
	shown, categories, ambiguous := 0, 0, false
	for _, v := range values {
		f.rec.Values = append(f.rec.Values, f.value(v))
		if v.Rank == "deprecated" {
			continue
		}
		shown++
		if v.QID == categoryClass {
			categories++
		}
		ambiguous = ambiguous || slices.Contains(disambiguations, v.QID)
	}
	switch {
	case len(f.lacking) > 0 || f.rec.Outcome != "":
	case ambiguous:
		f.end(labels.Disambiguation, "")
	case shown == 0:
		f.end(labels.NoTag, "")
	case shown == categories:
		f.end(labels.CategoryItem, "")
	default:
		f.end(labels.OK, "")
	}
}

// value prints a statement as the infobox does: the label, and of the qualifiers the
// times and what it is a part "of".
func (f *finder) value(v value) labels.TagValue {
	label := f.label(v.QID)
	t := labels.TagValue{Raw: label, Text: scrape.Normal(label), QID: v.QID, Rank: v.Rank}
	times := map[string]string{}
	for _, q := range v.Qualifiers {
		d := labels.Qualifier{Property: q.Property, QID: q.QID, Text: q.Text}
		if q.QID != "" {
			d.Text = f.label(q.QID)
		}
		t.Details = append(t.Details, d)
		switch q.Property {
		case startTime, endTime:
			times[q.Property] = d.Text
		case ofQualifier:
			t.Qualifiers = append(t.Qualifiers, d.Text)
		}
	}
	if len(times) > 0 {
		t.Qualifiers = append([]string{times[startTime] + "–" + times[endTime]}, t.Qualifiers...)
	}
	return t
}

// label is the label of an item, or its id where it has none.
func (f *finder) label(id string) string {
	var class classFact
	if f.get(stepClass, id, &class) && class.Label != "" {
		return class.Label
	}
	return id
}
