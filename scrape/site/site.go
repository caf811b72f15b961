// Package site is the part of stage 1 of hgld that opens a way to Wikimedia: it joins a
// source, the pages or the APIs, with a transport that follows the rules of its site.
package site

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hgld/internal/registry"
	"hgld/scrape"
	"hgld/scrape/api"
	"hgld/scrape/page"
	"hgld/scrape/polite"
)

// Settings say where a site is and how it is asked.
type Settings struct {
	// Commons is the URL of Commons.
	Commons string
	// Wikidata is the URL of Wikidata, which the APIs need.
	Wikidata string
	// TraceMissing makes the APIs look up missing categories in the log.
	TraceMissing bool
	// Contact is an e-mail address or a URL of the caller; Wikimedia refuses "".
	Contact string
	// Version is that of the program, for the user agent.
	Version string
	// Rate is in requests a second, 0 for any; nil for the default of the source.
	Rate *float64
	// InFlight is the number of concurrent requests; nil for the default of the source.
	InFlight *int
	// MaxRequests ends the crawl after this many requests; 0 for no limit.
	MaxRequests int64
}

// Kind is a way to ask Wikimedia.
type Kind struct {
	// Rates are requests a second that the site allows, slowest first.
	Rates []float64

	polite func() polite.Settings
	hosts  func(Settings) []string
	open   func(Settings, http.RoundTripper, api.Options) (scrape.Source, error)
}

// Kinds lists the ways. The name of each is that of its source.
var Kinds = registry.Table[Kind]{
	{Name: "page", About: "the category pages, one request each: the route of the paper", Value: Kind{
		polite: polite.Defaults, Rates: []float64{1, 2, 5, 10, polite.WikimediaRate},
		hosts: func(s Settings) []string { return []string{s.Commons} },
		open: func(s Settings, t http.RoundTripper, o api.Options) (scrape.Source, error) {
			return page.New(s.Commons, t, o.Now)
		}}},
	{Name: "api", About: "the APIs of Commons and Wikidata, fifty titles or items a request", Value: Kind{
		polite: polite.APIDefaults, Rates: []float64{1.0 / 6, 1, polite.WikimediaAPIRate},
		hosts: func(s Settings) []string { return []string{s.Commons, s.Wikidata} },
		open: func(s Settings, t http.RoundTripper, o api.Options) (scrape.Source, error) {
			o.Commons, o.Wikidata, o.TraceMissing = s.Commons, s.Wikidata, s.TraceMissing
			return api.New(o, t)
		}}},
}

// Politeness returns the rules that a crawl follows: the defaults of the source, changed
// by the settings.
func (k Kind) Politeness(s Settings) polite.Settings {
	p := k.polite()
	if s.Rate != nil {
		p.Rate = *s.Rate
	}
	if s.InFlight != nil {
		p.InFlight = *s.InFlight
	}
	p.MaxRequests = s.MaxRequests
	return p
}

// Names returns the settings that identify the site of a source in the state of a crawl.
func Names(s Settings, source scrape.Source) map[string]string {
	names := map[string]string{"base_url": strings.TrimSuffix(s.Commons, "/")}
	if source.Name() == "api" {
		names["wikidata_url"] = strings.TrimSuffix(s.Wikidata, "/")
	}
	return names
}

// Way is how a crawl asks its site.
type Way struct {
	// Polite are the rules it follows. Hosts are those of the settings, and no others.
	Polite polite.Settings
	// Transport sends the requests; nil for a way that sends none.
	Transport *polite.Transport
	// Source asks through the transport.
	Source scrape.Source
}

// Open opens the way. now is the clock of answers. slowed is called when the servers have
// lagged too long and the requests go on at half the rate. The error says which setting is
// wrong.
func (k Kind) Open(s Settings, now func() time.Time, slowed func(error)) (*Way, error) {
	w := &Way{Polite: k.Politeness(s)}
	for _, address := range k.hosts(s) {
		base, err := url.Parse(address)
		if err != nil || base.Host == "" {
			return nil, fmt.Errorf("%.80q is not the URL of a site; want one such as https://commons.wikimedia.org", address)
		}
		w.Polite.Hosts = append(w.Polite.Hosts, base.Host)
	}
	var err error
	if s.Contact != "" {
		if w.Polite.UserAgent, err = polite.UserAgent(s.Version, s.Contact); err != nil {
			return nil, err
		}
	}
	w.Polite.Took = func(d time.Duration) {
		if source, ok := w.Source.(*api.Source); ok {
			source.Took(d)
		}
	}
	connections := http.DefaultTransport.(*http.Transport).Clone()
	connections.MaxIdleConnsPerHost = w.Polite.InFlight
	if w.Transport, err = polite.New(w.Polite, connections); err != nil {
		return w, err
	}
	w.Source, err = k.open(s, w.Transport, api.Options{Now: now, Lagging: func(err error) {
		w.Transport.Slow()
		slowed(err)
	}})
	return w, err
}

// offline is the transport of a way that sends no requests. It needs no contact.
type offline struct{}

func (offline) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no request is sent here")
}

// Offline returns a way that sends no requests, for work on what is stored.
func (k Kind) Offline(s Settings) (*Way, error) {
	source, err := k.open(s, offline{}, api.Options{Now: time.Now})
	return &Way{Source: source, Polite: k.polite()}, err
}
