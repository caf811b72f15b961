// Package fakecommons is a fake Wikimedia: an http.Handler that serves category pages and the
// APIs of Commons and Wikidata. Pages and replies have the shape of real ones. The caller
// chooses tags and faults, and the server enforces Wikimedia's limits. The tests of stage 1,
// the demo and `hgld dev fake-wikimedia` serve it on the loopback address.
//
// The markup follows a real infobox (Category:Happy Valley Racecourse, landmark 0 of GLDv2's
// train split). The page around it is shortened.
package fakecommons

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"hgld/labels"
	"hgld/scrape/polite"
)

// Category is one landmark's category page.
type Category struct {
	Landmark labels.LandmarkID // in WriteCSV
	Title    string            // canonical: "Category:Eiffel Tower"
	Values   []Value           // of "instance of"
	Variant  Variant           // form of the page
	Target   string            // target of a redirect; of a missing page, where it was moved
	Item     string            // Wikidata item, "" for none
	Topic    string            // main topic of Item; the values are those of the topic
	Merged   string            // item into which Item was merged; the values are those of Merged
	Revision int64             // 0: a number derived from the position
	Faults   []Fault           // served one per request, before the page

	Claims map[string][]Claim // API: further statements of the item with the values; nil: some of every kind
}

// Value is a value of "instance of" as the infobox prints it.
type Value struct {
	Text       string   // byte for byte
	Qualifiers []string // printed in parentheses after it
	Link       string   // target of the link; "" for plain text
	Class      string   // API: its item; "": an item derived from the text
	Rank       string   // API: "preferred", "deprecated", "" for normal; a page does not print a deprecated value
}

// Variant is the form of a category page.
type Variant int

// The forms that real pages take.
const (
	Plain           Variant = iota // an infobox with the row "Instance of"
	SpanningHeader                 // its header spans both columns, the value follows in the next row
	NoList                         // its value stands in the cell without a list
	SeveralBoxes                   // infoboxes one after another; the first counts
	NestedBoxes                    // an infobox of infoboxes; the first row counts
	NoTag                          // an infobox without that row, but with "Subclass of"
	NoInfobox                      // no infobox
	SoftRedirect                   // {{Category redirect|Target}}
	RedRedirect                    // the same, with a target that does not exist: a red link
	HardRedirect                   // #REDIRECT: the server shows Target under this address
	HTTPRedirect                   // 301 to Target
	Disambiguation                 // in Category:Disambiguation categories
	Missing                        // 404 with a whole page as body
	MissingButKnown                // 200, but wgArticleId is 0
)

// Fault is an answer that is served instead of the page.
type Fault struct {
	Status     int           // 0: 200
	RetryAfter string        // header, as written
	Type       string        // Content-Type; "": text/html; charset=UTF-8
	Body       string        // "": a short error page, or the page itself where Status is 0
	Cut        int           // > 0: the connection ends after so many bytes of the body
	Delay      time.Duration // before the answer
}

// Robots is the part of Wikimedia's robots.txt that applies to wikis.
const Robots = "User-agent: *\nAllow: /w/api.php?action=mobileview&\nAllow: /w/load.php?\n" +
	"Disallow: /w/\nDisallow: /api/\nDisallow: /trap/\nDisallow: /wiki/Special:\n"

// Server serves categories. It is safe for concurrent use. Set its fields before the first
// request.
type Server struct {
	Robots string                           // robots.txt
	Always func(title string) (Fault, bool) // may be nil; returns a fault to serve instead of a page, if any

	Limits   Limits        // rules for clients; none by default
	Failures float64       // share of requests that fail, in ways chosen by Seed
	Seed     uint64        // of the failures
	Latency  time.Duration // before every answer
	Clock    polite.Clock  // for Limits and Latency; nil: the system's
	API      API           // how the APIs behave

	pages map[string]*Category
	items map[string]*Category // by Item, Topic and Merged
	graph map[string]*Item     // by id

	traffic traffic
	classes classes

	mu       sync.Mutex
	requests map[string]int
	faults   map[string]int
}

// New returns a server for some categories. All other titles are missing.
func New(categories []Category) *Server {
	s := &Server{Robots: Robots, pages: map[string]*Category{}, items: map[string]*Category{},
		requests: map[string]int{}, faults: map[string]int{}}
	for i, c := range categories {
		if c.Revision == 0 {
			c.Revision = 900_000_000 + int64(i)
		}
		s.pages[c.Title] = &c
		for _, item := range []string{c.Item, c.Topic, c.Merged} {
			if item != "" {
				s.items[item] = &c
			}
		}
		s.name(c.Claims)
		for _, v := range c.Values { // so that ids do not depend on the order of requests
			s.classes.add(v)
			for _, q := range v.Qualifiers {
				if !years.MatchString(q) {
					s.classes.id(q)
				}
			}
		}
	}
	return s
}

// Requests returns how often the page of each title was requested.
func (s *Server) Requests() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.requests)
}

// ServeHTTP serves /robots.txt, /wiki/… and /w/api.php, the last for both Commons and
// Wikidata.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, page := strings.CutPrefix(r.URL.Path, "/wiki/")
	switch {
	case r.URL.Path == "/w/api.php":
		s.serveAPI(w, r)
	case r.URL.Path == "/robots.txt":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, s.Robots)
	case page && r.Method == http.MethodGet:
		s.serveTitle(w, r, strings.ReplaceAll(name, "_", " "))
	default:
		http.NotFound(w, r)
	}
}

// serveTitle serves a page.
func (s *Server) serveTitle(w http.ResponseWriter, r *http.Request, title string) {
	x := s.begin(w, r, &s.traffic.pages, s.Limits.Pages, []string{title})
	if x == nil {
		return
	}
	defer x.end()
	c := s.pages[title]
	if c == nil {
		c = &Category{Title: title, Variant: Missing}
	}
	fault, faulty := s.fault(c)
	if !x.wait(s.Latency + fault.Delay) {
		return
	}
	if faulty && (fault.Status != 0 || fault.Body != "" || fault.Cut > 0) {
		s.serveFault(x, c, fault)
	} else if f := s.failure(r, pageFailures); f != nil {
		x.fail(f)
	} else {
		s.servePage(x, c)
	}
}

// fault counts a request and returns the fault to serve, if any.
func (s *Server) fault(c *Category) (Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[c.Title]++
	if n := s.faults[c.Title]; n < len(c.Faults) {
		s.faults[c.Title]++
		return c.Faults[n], true
	}
	if s.Always != nil {
		return s.Always(c.Title)
	}
	return Fault{}, false
}

func (s *Server) serveFault(x *exchange, c *Category, f Fault) {
	body := f.Body
	if body == "" && f.Status == 0 {
		body = string(s.shown(c).HTML(0))
	} else if body == "" {
		body = fmt.Sprintf("<!DOCTYPE html>\n<html><head><title>%d</title></head><body><p>Too many requests or a server "+
			"error.</p></body></html>\n", f.Status)
	}
	h := x.w.Header()
	h.Set("Content-Type", "text/html; charset=UTF-8")
	if f.Type != "" {
		h.Set("Content-Type", f.Type)
	}
	if f.RetryAfter != "" {
		h.Set("Retry-After", f.RetryAfter)
		s.pauseUntil(x.r, x.on, x.pace, f.RetryAfter)
	}
	x.note("fault")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(max(f.Status, http.StatusOK))
	if f.Cut > 0 && f.Cut < len(body) { // the server closes the connection over the difference
		body = body[:f.Cut]
	}
	x.write([]byte(body))
}

func (s *Server) servePage(x *exchange, c *Category) {
	x.note("")
	if c.Variant == HTTPRedirect {
		x.end()
		http.Redirect(x.w, x.r, path(c.Target), http.StatusMovedPermanently)
		return
	}
	x.w.Header().Set("Content-Type", "text/html; charset=UTF-8")
	status := http.StatusOK
	if c.Variant == Missing {
		status = http.StatusNotFound
	}
	x.send(status, s.shown(c).HTML(0))
}

// shown returns the page that is served under a title.
func (s *Server) shown(c *Category) *Category {
	if target := s.pages[c.Target]; c.Variant == HardRedirect && target != nil {
		return target
	}
	return c
}

// WriteCSV writes the categories as a *_label_to_category.csv of GLDv2.
func WriteCSV(w io.Writer, categories []Category) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"landmark_id", "category"}); err != nil {
		return err
	}
	for _, c := range categories {
		if err := out.Write([]string{strconv.Itoa(int(c.Landmark)), labels.CategoryURL(c.Title)}); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
