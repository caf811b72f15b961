package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hgld/labels"
	"hgld/scrape"
)

// maxRedirects limits the soft redirects and moves followed from one title.
const maxRedirects = 3

// The classes of items that do not describe a thing.
var (
	disambiguations = []string{"Q4167410", "Q15407973"}
	categoryClass   = "Q4167836"
)

// Read parses the replies to one Ask into facts.
func (s *Source) Read(step string, keys []string, answers []scrape.Answer) (map[string]scrape.Fact, error) {
	switch step {
	case stepTitle:
		return readTitles(keys, answers)
	case stepText:
		return readTexts(keys, answers)
	case stepItem:
		return readItems(keys, answers, s.languages())
	case stepClass:
		return readClasses(keys, answers, s.languages())
	case stepLog:
		return readLog(keys, answers)
	}
	return nil, fmt.Errorf("unknown step %.80q", step)
}

// Finding builds the record of a title. It follows the title to its item and the item's
// values.
func (s *Source) Finding(title string, facts scrape.Facts) (labels.Record, []scrape.Task) {
	f := &finder{facts: facts, trace: s.options.TraceMissing}
	f.find(title)
	if len(f.lacking) > 0 {
		return labels.Record{}, f.lacking
	}
	return f.rec, nil
}

// finder builds one record.
type finder struct {
	facts   scrape.Facts
	trace   bool
	rec     labels.Record
	lacking []scrape.Task
}

// get looks up a fact. It returns false if the fact is missing or cannot be decoded.
func (f *finder) get(step, key string, to any) bool {
	fact, known := f.facts(scrape.Task{Step: step, Key: key})
	if !known {
		f.lacking = append(f.lacking, scrape.Task{Step: step, Key: key})
		return false
	}
	if err := json.Unmarshal(fact, to); err != nil {
		f.rec.Outcome, f.rec.Error = labels.Malformed, "the stored fact of "+key+": "+err.Error()
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

// leads returns the title to which a page redirects or was moved, or "" if neither. The
// second result is false if the record is complete or a fact is missing.
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

// page continues with the page that the title led to.
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
	if item.Error != "" {
		f.end(labels.Malformed, page.Item+": "+item.Error)
		return
	}
	f.rec.Item, f.rec.Combines = item.ID, item.Combines
	if item.Topic != "" {
		var topic itemFact
		if !f.get(stepItem, item.Topic, &topic) {
			return
		}
		if topic.Error != "" {
			f.end(labels.Malformed, item.Topic+": "+topic.Error)
			return
		}
		if !topic.Missing {
			f.rec.Topic = topic.ID
			item = topic
		}
	}
	f.rec.ItemRevision, f.rec.ItemRevised, f.rec.About = item.Revision, item.Revised, item.About
	f.values(item.Values)
}

// values adds the values with their labels and sets the outcome.
func (f *finder) values(values []value) {
	shown, categories, ambiguous, size := 0, 0, false, 0
	for _, v := range values {
		t := f.value(v)
		if size += textSize(t); size > maxText {
			f.rec.Values = nil
			f.end(labels.Malformed, fmt.Sprintf("its values have more than %d bytes of text", maxText))
			return
		}
		f.rec.Values = append(f.rec.Values, t)
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

// textSize returns the number of bytes in the texts of a value.
func textSize(t labels.TagValue) int {
	size := len(t.Raw) + len(t.Text)
	for _, q := range t.Qualifiers {
		size += len(q)
	}
	for _, d := range t.Details {
		size += len(d.Property) + len(d.QID) + len(d.Text)
	}
	return size
}

// value converts a statement to a value as the infobox prints it: the label and, as
// qualifiers, start time, end time and "of".
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

// label returns the label of an item, or its id if it has none.
func (f *finder) label(id string) string {
	var class classFact
	switch {
	case !f.get(stepClass, id, &class):
	case class.Error != "":
		f.end(labels.Malformed, id+": "+class.Error)
	case class.Label != "":
		return class.Label
	}
	return id
}
