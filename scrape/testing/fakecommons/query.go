package fakecommons

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// query answers action=query with prop.
func (s *Server) query(r *http.Request, titles []string) object {
	q, more := object{}, object{}
	props := strings.Split(r.Form.Get("prop"), "|")
	var normalized, redirects, pages []object
	seen := map[string]bool{}
	from, continued := 0, r.Form.Get("clcontinue") != ""
	if continued {
		from, _ = strconv.Atoi(r.Form.Get("clcontinue"))
	}
	for i, asked := range titles {
		title := normal(asked)
		if title != asked {
			normalized = append(normalized, object{"fromencoded": false, "from": asked, "to": title})
		}
		c := s.pages[title]
		for hops := 0; c != nil && (c.Variant == HardRedirect ||
			c.Variant == HTTPRedirect) && r.Form.Get("redirects") != "" && hops < 5; hops++ {
			redirects = append(redirects, object{"from": title, "to": c.Target})
			title = c.Target
			c = s.pages[title]
		}
		if seen[title] {
			continue
		}
		seen[title] = true
		p := s.page(title, c, props)
		if s.API.ContinueAfter > 0 && slices.Contains(props, "categories") {
			switch {
			case !continued && i >= s.API.ContinueAfter:
				delete(p, "categories")
				more = object{"clcontinue": strconv.Itoa(s.API.ContinueAfter), "continue": "||pageprops|revisions"}
			case continued && i >= from:
				delete(p, "pageprops")
				delete(p, "revisions")
			case continued:
				delete(p, "pageprops")
				delete(p, "revisions")
				delete(p, "categories")
			}
		}
		pages = append(pages, p)
	}
	for name, list := range map[string][]object{"normalized": normalized, "redirects": redirects, "pages": pages} {
		if list != nil {
			q[name] = list
		}
	}
	if len(more) > 0 {
		return object{"continue": more, "query": q}
	}
	return object{"batchcomplete": true, "query": q}
}

// normal normalises a title as MediaWiki does.
func normal(title string) string {
	space, name, ok := strings.Cut(strings.ReplaceAll(title, "_", " "), ":")
	if !ok || name == "" || !strings.EqualFold(space, "Category") {
		return title
	}
	first, size := utf8.DecodeRuneInString(name)
	return "Category:" + string(unicode.ToUpper(first)) + name[size:]
}

// page returns one member of "pages".
func (s *Server) page(title string, c *Category, props []string) object {
	if strings.ContainsAny(title, "[]{}<>") {
		return object{"title": title, "invalid": true,
			"invalidreason": "The requested page title contains invalid characters."}
	}
	if c == nil || c.Variant == Missing || c.Variant == MissingButKnown {
		return object{"ns": 14, "title": title, "missing": true}
	}
	p := object{"pageid": c.Revision - 800_000_000, "ns": 14, "title": title}
	for _, prop := range props {
		switch prop {
		case "pageprops":
			pp := object{}
			if c.Item != "" {
				pp["wikibase_item"] = c.Item
			}
			if c.Variant == Disambiguation {
				pp["disambiguation"] = ""
			}
			if len(pp) > 0 {
				p["pageprops"] = pp
			}
		case "categories":
			var list []object
			for _, name := range c.categories() {
				list = append(list, object{"ns": 14, "title": "Category:" + name})
			}
			if list != nil {
				p["categories"] = list
			}
		case "revisions":
			rev := object{"revid": c.Revision, "parentid": 0, "timestamp": stampOf(c.Revision)}
			if len(props) == 1 {
				rev = object{"revid": c.Revision,
					"slots": object{"main": object{"contentmodel": "wikitext", "contentformat": "text/x-wiki",
						"content": c.wikitext()}}}
			}
			p["revisions"] = []object{rev}
		}
	}
	return p
}

// stampOf returns the time of a revision: one second for each number.
func stampOf(revision int64) string {
	return time.Unix(1_000_000_000+revision, 0).UTC().Format(time.RFC3339)
}

func (c *Category) wikitext() string {
	if c.Variant == SoftRedirect || c.Variant == RedRedirect {
		return "<!-- moved -->\n{{Category redirect|" + strings.TrimPrefix(c.Target, "Category:") + "}}\n"
	}
	return "{{Wikidata Infobox}}\n[[Category:Places]]\n"
}

// log answers list=logevents.
func (s *Server) log(title string) object {
	events := []object{}
	switch c := s.pages[title]; {
	case c == nil || c.Variant != Missing:
	case c.Target != "":
		events = append(events, object{"ns": 14, "title": title, "type": "move", "action": "move",
			"timestamp": stampOf(c.Revision),
			"params":    object{"target_ns": 14, "target_title": c.Target, "suppressredirect": true}})
	default:
		events = append(events, object{"ns": 14, "title": title, "type": "delete", "action": "delete",
			"timestamp": stampOf(c.Revision), "params": object{}})
	}
	return object{"batchcomplete": true, "query": object{"logevents": events}}
}
