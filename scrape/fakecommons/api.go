package fakecommons

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// API says how the fake APIs behave, beside the pages that they tell of.
type API struct {
	Latency       time.Duration // before every answer
	PerKey        time.Duration // and for every title or id in it
	ContinueAfter int           // > 0: a reply has categories for so many titles only, and the rest is asked for by "continue"
	Truncate      int           // > 0: a reply has so many entities at most, and a warning
	Lag           func() bool   // if set: whether the servers lag, which a request with maxlag hears of

	// Failures is the share of requests that fail, each in one of the ways of
	// apiFailures, chosen by Seed.
	Failures float64
	Seed     uint64

	Limits Limits
}

// classes numbers the texts that values and qualifiers have: each is the label of an
// item of its own.
type classes struct {
	mu    sync.Mutex
	ids   map[string]string
	texts map[string]string
}

// firstClass is the number of the first class, above those of categories in tests.
const firstClass = 500_000_000

// The items by which Wikidata says that a page is not about a thing.
var special = map[string]string{
	"Wikimedia disambiguation page": "Q4167410", "Wikimedia disambiguation category": "Q15407973", "Wikimedia category": "Q4167836",
}

func (c *classes) id(text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids == nil {
		c.ids, c.texts = map[string]string{}, map[string]string{}
	}
	if c.ids[text] == "" {
		id := special[text]
		for n := hash(text) % 1_500_000_000; id == ""; n++ { // the same in every server
			if free := "Q" + strconv.FormatUint(firstClass+n, 10); c.texts[free] == "" {
				id = free
			}
		}
		c.ids[text], c.texts[id] = id, text
	}
	return c.ids[text]
}

// hash is FNV-1a.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

func (c *classes) text(id string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, ok := c.texts[id]
	return text, ok
}

type object map[string]any

// serveAPI answers a request to /w/api.php.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	done := s.traffic.begin(r, s.API.Limits)
	defer done()
	keys := values(r.Form.Get("titles"), r.Form.Get("ids"))
	pause := s.API.Latency + time.Duration(len(keys))*s.API.PerKey
	if f := s.failure(r); f != nil {
		s.traffic.refused(r, f)
		f.serve(w, r)
		return
	}
	if pause > 0 {
		select {
		case <-time.After(pause):
		case <-r.Context().Done():
			return
		}
	}
	if s.API.Lag != nil && s.API.Lag() && r.Form.Get("maxlag") != "" {
		lagging.serve(w, r)
		return
	}
	var reply object
	switch {
	case len(keys) > 50:
		reply = failed("toomanyvalues", "Too many values supplied. The limit is 50.")
	case r.Form.Get("action") == "wbgetentities":
		reply = s.entities(r, keys)
	case r.Form.Get("list") == "logevents":
		reply = s.log(r.Form.Get("letitle"))
	case r.Form.Get("action") == "query":
		reply = s.query(r, keys)
	default:
		reply = failed("badvalue", "Unrecognized value for parameter \"action\".")
	}
	s.traffic.answered(r, keys)
	writeJSON(w, reply)
}

func writeJSON(w http.ResponseWriter, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // maps of strings and numbers
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if e, ok := v.(object); ok && e["error"] != nil {
		w.Header().Set("MediaWiki-API-Error", e["error"].(object)["code"].(string))
	}
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.Write(b.Bytes())
}

func failed(code, info string) object {
	return object{"error": object{"code": code, "info": info, "docref": "See https://commons.wikimedia.org/w/api.php for API usage."}}
}

// values splits a list as MediaWiki does.
func values(lists ...string) []string {
	for _, list := range lists {
		if rest, ok := strings.CutPrefix(list, "\x1f"); ok {
			return strings.Split(rest, "\x1f")
		}
		if list != "" {
			return strings.Split(list, "|")
		}
	}
	return nil
}

// query answers action=query with prop=….
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
		for hops := 0; c != nil && (c.Variant == HardRedirect || c.Variant == HTTPRedirect) && r.Form.Get("redirects") != "" && hops < 5; hops++ {
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

// normal writes a title as MediaWiki does.
func normal(title string) string {
	name, ok := strings.CutPrefix(strings.ReplaceAll(title, "_", " "), "Category:")
	if !ok || name == "" {
		return title
	}
	first, size := utf8.DecodeRuneInString(name)
	return "Category:" + string(unicode.ToUpper(first)) + name[size:]
}

// page is one of the "pages".
func (s *Server) page(title string, c *Category, props []string) object {
	if strings.ContainsAny(title, "[]{}<>") {
		return object{"title": title, "invalid": true, "invalidreason": "The requested page title contains invalid characters."}
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
				rev = object{"revid": c.Revision, "slots": object{"main": object{"contentmodel": "wikitext", "contentformat": "text/x-wiki", "content": c.wikitext()}}}
			}
			p["revisions"] = []object{rev}
		}
	}
	return p
}

// stampOf is the time of a revision, one second a revision.
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
		events = append(events, object{"ns": 14, "title": title, "type": "move", "action": "move", "timestamp": stampOf(c.Revision),
			"params": object{"target_ns": 14, "target_title": c.Target, "suppressredirect": true}})
	default:
		events = append(events, object{"ns": 14, "title": title, "type": "delete", "action": "delete", "timestamp": stampOf(c.Revision), "params": object{}})
	}
	return object{"batchcomplete": true, "query": object{"logevents": events}}
}

// entities answers action=wbgetentities.
func (s *Server) entities(r *http.Request, ids []string) object {
	all := object{}
	for _, id := range ids {
		if n, err := strconv.Atoi(strings.TrimPrefix(id, "Q")); err != nil || n > 1<<31-1 || id[0] != 'Q' {
			e := failed("no-such-entity", fmt.Sprintf("Could not find an entity with the ID %q.", id))
			e["error"].(object)["id"] = id
			return e
		}
		if s.API.Truncate > 0 && len(all) == s.API.Truncate {
			return object{"entities": all, "success": 1, "warnings": object{"result": object{"warnings": "This result was truncated because it would otherwise be larger than the limit."}}}
		}
		all[id] = s.entity(id, r.Form.Get("props"))
	}
	return object{"entities": all, "success": 1}
}

func (s *Server) entity(id, props string) object {
	if text, ok := s.classes.text(id); ok {
		e := object{"type": "item", "id": id, "lastrevid": 1, "modified": stampOf(1)}
		switch {
		case !strings.Contains(props, "labels"):
			e["claims"] = object{}
		case strings.HasPrefix(text, "Q") && validNumber(text[1:]): // an item without a label
			e["labels"] = object{}
		case strings.HasPrefix(text, "mul "):
			e["labels"] = object{"mul": object{"language": "mul", "value": text}}
		default:
			e["labels"] = object{"en": object{"language": "en", "value": text}}
		}
		return e
	}
	c := s.items[id]
	if c == nil {
		return object{"id": id, "missing": ""}
	}
	e := object{"type": "item", "id": id, "lastrevid": c.Revision + 1, "modified": stampOf(c.Revision + 1), "claims": object{}}
	if c.Merged != "" && id == c.Item {
		e["redirects"] = object{"from": id, "to": c.Merged}
		e["id"] = c.Merged
		id = c.Merged
	}
	claims := e["claims"].(object)
	claims["P18"] = []object{{"mainsnak": object{"snaktype": "value", "property": "P18", "datavalue": object{"value": "A \"photo\" [1].jpg", "type": "string"}}, "type": "statement", "rank": "normal"}}
	if c.Topic != "" && id == c.Item {
		claims["P31"] = []object{s.statement("P31", Value{Text: "Wikimedia category"})}
		claims["P301"] = []object{{"mainsnak": itemSnak("P301", c.Topic), "type": "statement", "rank": "normal"}}
		return e
	}
	var list []object
	if c.Variant != NoTag {
		for _, v := range c.Values {
			if v.Text != "" {
				list = append(list, s.statement("P31", v))
			}
		}
	}
	if list != nil {
		claims["P31"] = list
	}
	return e
}

func validNumber(s string) bool { _, err := strconv.Atoi(s); return err == nil }

func itemSnak(property, id string) object {
	n, _ := strconv.Atoi(id[1:]) // of our own making
	return object{"snaktype": "value", "property": property, "hash": "0123456789abcdef", "datatype": "wikibase-item",
		"datavalue": object{"value": object{"entity-type": "item", "numeric-id": n, "id": id}, "type": "wikibase-entityid"}}
}

// years are qualifiers that stand for a start and an end: "1172–1954".
var years = regexp.MustCompile(`^(\d{1,4})?–(\d{1,4})?$`)

func timeSnak(property, year string) object {
	return object{"snaktype": "value", "property": property, "datatype": "time", "datavalue": object{"type": "time", "value": object{
		"time": fmt.Sprintf("+%04s-00-00T00:00:00Z", year), "timezone": 0, "before": 0, "after": 0, "precision": 9, "calendarmodel": "http://www.wikidata.org/entity/Q1985727"}}}
}

func (s *Server) statement(property string, v Value) object {
	rank := v.Rank
	if rank == "" {
		rank = "normal"
	}
	st := object{"mainsnak": itemSnak(property, s.classes.id(v.Text)), "type": "statement", "id": "Q1$1", "rank": rank}
	qualifiers, order := map[string][]object{}, []string{}
	add := func(property string, snak object) {
		if qualifiers[property] == nil {
			order = append(order, property)
		}
		qualifiers[property] = append(qualifiers[property], snak)
	}
	for _, q := range v.Qualifiers {
		m := years.FindStringSubmatch(q)
		if m == nil {
			add("P642", itemSnak("P642", s.classes.id(q)))
			continue
		}
		for i, property := range []string{"P580", "P582"} {
			if m[i+1] != "" {
				add(property, timeSnak(property, m[i+1]))
			}
		}
	}
	if len(order) > 0 {
		st["qualifiers"], st["qualifiers-order"] = qualifiers, order
	}
	return st
}
