package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"hgld/scrape"
)

// Version returns the revision of a stored fact. The version of a title includes its item,
// which can change without an edit of the page. Texts have no version of their own.
func (s *Source) Version(step string, fact scrape.Fact) string {
	switch step {
	case stepTitle:
		var f titleFact
		if json.Unmarshal(fact, &f) == nil {
			return titleVersion(f)
		}
	case stepItem:
		var f itemFact
		if json.Unmarshal(fact, &f) == nil {
			return itemVersion(f.ID, f.Revision, f.Missing)
		}
	case stepClass:
		var f classFact
		if json.Unmarshal(fact, &f) == nil {
			return itemVersion("", f.Revision, f.Missing)
		}
	}
	return ""
}

func titleVersion(f titleFact) string {
	return fmt.Sprintf("%s %d %s %v", f.Title, f.Revision, f.Item, f.Missing)
}

func itemVersion(id string, revision int64, missing bool) string {
	return fmt.Sprintf("%s %d %v", id, revision, missing)
}

// Versions requests revisions only, fifty per request, without claims and categories.
func (s *Source) Versions(ctx context.Context, step string, keys []string) (map[string]string, error) {
	all := map[string]string{}
	asked := keys
	for range maxReplies {
		values := url.Values{"format": {"json"}, "formatversion": {"2"}, "action": {"wbgetentities"}, "props": {"info"},
			"ids": {joined(asked)}}
		host := s.options.Wikidata
		if step == stepTitle {
			host = s.options.Commons
			values = url.Values{"format": {"json"}, "formatversion": {"2"}, "action": {"query"}, "redirects": {"1"},
				"prop":   {"pageprops|revisions"},
				"ppprop": {"wikibase_item"}, "rvprop": {"ids|timestamp"}, "titles": {joined(asked)}}
		}
		answer, err := s.fetch(ctx, host, values)
		if err != nil {
			return nil, err
		}
		if err := readVersions(step, asked, answer, all); err != nil {
			return nil, err
		}
		next, err := followUp(answer.Body, asked)
		if err != nil || next.done || len(next.more) > 0 || len(next.keys) == 0 {
			return all, err
		}
		asked = next.keys
	}
	return nil, fmt.Errorf("the API rejects more than %d ids", maxReplies)
}

// readVersions adds the versions in one reply to all.
func readVersions(step string, keys []string, answer scrape.Answer, all map[string]string) error {
	if step == stepTitle {
		facts, err := readTitles(keys, []scrape.Answer{answer})
		if err != nil {
			return err
		}
		for key, fact := range facts {
			var f titleFact
			if err := json.Unmarshal(fact, &f); err != nil {
				return err
			}
			all[key] = titleVersion(f)
		}
		return nil
	}
	return entities(keys, []scrape.Answer{answer}, func(key string, e entity) error {
		id := e.ID
		if step == stepClass {
			id = ""
		}
		all[key] = itemVersion(id, e.Revision, e.missing)
		return nil
	})
}
