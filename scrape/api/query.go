package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"hgld/scrape"
)

// The categories that mark the kind of a page on Commons.
const (
	infoboxCategory        = "Category:Uses of Wikidata Infobox"
	redirectCategory       = "Category:Category redirects"
	disambiguationCategory = "Category:Disambiguation categories"
)

// titleFact is the fact of the step title.
type titleFact struct {
	Title    string    `json:"title,omitempty"` // of the page that the title leads to
	Via      []string  `json:"via,omitempty"`   // hard redirects followed; the last one is the page's own title
	ID       int64     `json:"page_id,omitempty"`
	Revision int64     `json:"revision,omitempty"`
	Revised  time.Time `json:"revised,omitzero"`
	Item     string    `json:"item,omitempty"`

	Infobox        bool   `json:"infobox,omitempty"`
	Redirect       bool   `json:"redirect,omitempty"` // the page is a soft redirect
	Disambiguation bool   `json:"disambiguation,omitempty"`
	Missing        bool   `json:"missing,omitempty"`
	Invalid        string `json:"invalid,omitempty"` // why the API rejects the title
}

// textFact is the fact of the step text: the target of a category redirect.
type textFact struct {
	Target string `json:"target,omitempty"`
	Error  string `json:"error,omitempty"` // why there is no target
}

// logFact is the fact of the step log: what happened to a missing category.
type logFact struct {
	Deleted bool   `json:"deleted,omitempty"`
	Moved   string `json:"moved,omitempty"` // title that the category was moved to
}

// query is the "query" of a reply, formatversion 2.
type query struct {
	Normalized []fromTo `json:"normalized"`
	Redirects  []fromTo `json:"redirects"`
	Pages      []page   `json:"pages"`
	LogEvents  []event  `json:"logevents"`
}

type fromTo struct{ From, To string }

type page struct {
	PageID        int64
	NS            int
	Title         string
	Missing       bool
	Invalid       bool
	InvalidReason string
	PageProps     struct {
		Item           string  `json:"wikibase_item"`
		Disambiguation *string `json:"disambiguation"`
	}
	Categories []struct{ Title string }
	Revisions  []struct {
		RevID     int64
		Timestamp time.Time
		Slots     map[string]struct{ Content string }
	}
}

type event struct {
	Type, Action string
	Params       struct {
		Target string `json:"target_title"`
	}
}

// merged combines the replies to one Ask. Continuations repeat the pages with further
// properties.
type merged struct {
	to    map[string]string // normalisations and redirects
	redir map[string]bool   // the titles that are redirects
	pages map[string]*page
	log   []event
}

func merge(answers []scrape.Answer) (*merged, error) {
	m := &merged{to: map[string]string{}, redir: map[string]bool{}, pages: map[string]*page{}}
	for _, a := range answers {
		frame, err := readFrame(a.Body)
		if err != nil {
			return nil, err
		}
		if frame.Error != nil {
			return nil, frame.Error
		}
		if frame.Query == nil {
			return nil, errors.New(`the API's reply has neither "query" nor "error"`)
		}
		var q query
		if err := json.Unmarshal(frame.Query, &q); err != nil {
			return nil, fmt.Errorf(`the API's reply: its "query": %w`, err)
		}
		for _, n := range q.Normalized {
			m.to[n.From] = n.To
		}
		for _, r := range q.Redirects {
			m.to[r.From], m.redir[r.From] = r.To, true
		}
		for _, p := range q.Pages {
			m.add(p)
		}
		m.log = append(m.log, q.LogEvents...)
	}
	return m, nil
}

func (m *merged) add(p page) {
	old := m.pages[p.Title]
	if old == nil {
		m.pages[p.Title] = &p
		return
	}
	old.Categories = append(old.Categories, p.Categories...)
	if p.PageProps.Item != "" {
		old.PageProps.Item = p.PageProps.Item
	}
	if p.PageProps.Disambiguation != nil {
		old.PageProps.Disambiguation = p.PageProps.Disambiguation
	}
	if len(p.Revisions) > 0 {
		old.Revisions = p.Revisions
	}
}

// maxLinks limits the normalisations and redirects followed from one title. MediaWiki sends one of
// each, and a few more redirects where a redirect leads to another.
const maxLinks = 32

// lead follows a title through normalisations and redirects. It stops where a circle closes.
func (m *merged) lead(title string) (end string, via []string, err error) {
	seen := []string{title}
	for {
		to, ok := m.to[title]
		switch {
		case !ok || slices.Contains(seen, to):
			return title, via, nil
		case len(seen) > maxLinks:
			return title, via, fmt.Errorf("the title leads over more than %d normalisations and redirects", maxLinks)
		case len(to) > maxName:
			return title, via, fmt.Errorf("the title leads to one of %d bytes", len(to))
		}
		if m.redir[title] {
			via = append(via, to)
		}
		title = to
		seen = append(seen, to)
	}
}

// readTitles parses the facts of titles. Titles that the replies omit get no fact.
func readTitles(keys []string, answers []scrape.Answer) (map[string]scrape.Fact, error) {
	return mergedFacts(keys, answers, func(m *merged, key string) (any, error) {
		title, via, err := m.lead(key)
		if err != nil {
			return titleFact{Title: key, Invalid: err.Error()}, nil
		}
		p := m.pages[title]
		if p == nil {
			if len(via) > 0 { // to another wiki
				return titleFact{Title: title, Via: via, Missing: true}, nil
			}
			return nil, nil
		}
		f := titleFact{Title: p.Title, Via: via, ID: p.PageID, Item: p.PageProps.Item, Missing: p.Missing,
			Disambiguation: p.PageProps.Disambiguation != nil}
		if p.Invalid {
			f.Invalid = "no title"
			if p.InvalidReason != "" {
				f.Invalid = shortened(p.InvalidReason)
			}
			return f, nil
		}
		if f.Item != "" && !scrape.ValidItem(f.Item) {
			return nil, fmt.Errorf("%s: its item %.40q is not an item id", key, f.Item)
		}
		for _, c := range p.Categories {
			f.Infobox = f.Infobox || c.Title == infoboxCategory
			f.Redirect = f.Redirect || c.Title == redirectCategory
			f.Disambiguation = f.Disambiguation || c.Title == disambiguationCategory
		}
		if len(p.Revisions) > 0 {
			f.Revision, f.Revised = p.Revisions[0].RevID, p.Revisions[0].Timestamp.UTC()
		}
		return f, nil
	})
}

// readTexts parses the targets of category redirects.
func readTexts(keys []string, answers []scrape.Answer) (map[string]scrape.Fact, error) {
	return mergedFacts(keys, answers, func(m *merged, key string) (any, error) {
		title, _, err := m.lead(key)
		p := m.pages[title]
		switch {
		case err != nil:
			return textFact{Error: err.Error()}, nil
		case p == nil:
			return nil, nil
		case p.Missing || len(p.Revisions) == 0: // deleted since the step before
			return textFact{Error: "the category redirect has no text"}, nil
		}
		target, err := redirectTarget(p.Revisions[0].Slots["main"].Content)
		if err != nil {
			return textFact{Error: err.Error()}, nil
		}
		return textFact{Target: target}, nil
	})
}

// readLog parses the log of a missing category. The latest event comes first.
func readLog(keys []string, answers []scrape.Answer) (map[string]scrape.Fact, error) {
	return mergedFacts(keys, answers, func(m *merged, _ string) (any, error) {
		for _, e := range m.log {
			switch {
			case e.Type == "move" && e.Params.Target != "":
				if title, err := scrape.Title(e.Params.Target); err == nil && len(title) <= maxName {
					return logFact{Moved: title}, nil
				}
			case e.Type == "delete" && e.Action == "delete":
				return logFact{Deleted: true}, nil
			case e.Type == "delete":
				return logFact{}, nil
			}
		}
		return logFact{}, nil
	})
}

// mergedFacts makes a fact of each key from the merged replies.
func mergedFacts(keys []string, answers []scrape.Answer, of func(m *merged, key string) (any, error)) (
	map[string]scrape.Fact, error) {
	m, err := merge(answers)
	if err != nil {
		return nil, err
	}
	return facts(keys, func(key string) (any, error) { return of(m, key) })
}

// facts encodes the result of of for each key. nil means no fact.
func facts(keys []string, of func(key string) (any, error)) (map[string]scrape.Fact, error) {
	all := map[string]scrape.Fact{}
	for _, key := range keys {
		v, err := of(key)
		if err != nil {
			return nil, err
		}
		if v == nil {
			continue
		}
		if all[key], err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	return all, nil
}
