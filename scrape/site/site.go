// Package site is the part of stage 1 of hgld that configures access to Wikimedia. It joins
// a source (the pages or the APIs) with a transport that follows the rules of the site.
package site

import (
	"cmp"
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

// Settings configure the URLs of a site and the requests to it.
type Settings struct {
	// Commons is the URL of Commons.
	Commons string
	// Wikidata is the URL of Wikidata, which the APIs need.
	Wikidata string
	// TraceMissing makes the APIs look up missing categories in the log.
	TraceMissing bool
	// Items makes the APIs return what classes and places link to.
	Items bool
	// Language is that of the APIs' labels and descriptions; "" means English.
	Language string
	// Contact is an e-mail address or a URL of the operator. Wikimedia requires one.
	Contact string
	// Version is the version of the program, for the user agent.
	Version string
	// Rate is in requests a second; 0 means no limit, nil the default of the source.
	Rate *float64
}

// Kind is one of the ways to get tags from Wikimedia.
type Kind struct {
	// Rates are requests a second that the site allows, slowest first.
	Rates []float64

	polite func() polite.Settings
	hosts  func(Settings) []string
	open   func(Settings, http.RoundTripper, api.Options) (scrape.Source, error)
}

// Kinds lists all kinds, each under the name of its source.
var Kinds = registry.Table[Kind]{
	{Name: "page", About: "the category pages, one request each, as in the paper", Value: Kind{
		polite: polite.Defaults, Rates: []float64{1, 2, 5, 10, polite.WikimediaRate},
		hosts: func(s Settings) []string { return []string{s.Commons} },
		open: func(s Settings, t http.RoundTripper, o api.Options) (scrape.Source, error) {
			return page.New(s.Commons, t, o.Now)
		}}},
	{Name: "api", About: "the APIs of Commons and Wikidata, fifty titles or items per request", Value: Kind{
		polite: polite.APIDefaults, Rates: []float64{1.0 / 6, 1, polite.WikimediaAPIRate},
		hosts: func(s Settings) []string { return []string{s.Commons, s.Wikidata} },
		open: func(s Settings, t http.RoundTripper, o api.Options) (scrape.Source, error) {
			o.Commons, o.Wikidata, o.TraceMissing = s.Commons, s.Wikidata, s.TraceMissing
			o.Items, o.Language = s.Items, s.Language
			return api.New(o, t)
		}}},
}

// Politeness returns the rules that a crawl follows: the defaults of the source, changed by the settings. A rate of n a
// second comes with n requests in flight, as many as the site allows at most.
func (k Kind) Politeness(s Settings) polite.Settings {
	p := k.polite()
	if s.Rate != nil {
		p.Rate = *s.Rate
	}
	if s.Rate != nil && p.Rate > 0 {
		p.InFlight = p.Surface.InFlight(p.Rate)
	}
	return p
}

// Names returns the settings that identify the site of a source in the state of a crawl.
func Names(s Settings, source scrape.Source) map[string]string {
	names := map[string]string{"base_url": strings.TrimSuffix(s.Commons, "/")}
	if source.Name() == "api" {
		names["wikidata_url"] = strings.TrimSuffix(s.Wikidata, "/")
		names["language"] = cmp.Or(s.Language, "en")
	}
	return names
}

// Access is a source together with the transport and the rules of its site.
type Access struct {
	// Polite holds the rules of the transport. It allows only the hosts of the settings.
	Polite polite.Settings
	// Transport sends the requests. It is nil for offline access.
	Transport *polite.Transport
	// Source sends its requests through the transport.
	Source scrape.Source
}

// Open returns access to the site. now is the clock of answers. slowed is called when the
// servers have lagged too long and the rate was halved. Open returns an error if a setting
// is invalid.
func (k Kind) Open(s Settings, now func() time.Time, slowed func(error)) (*Access, error) {
	w := &Access{Polite: k.Politeness(s)}
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

// offline is a transport that sends no requests. It needs no contact.
type offline struct{}

func (offline) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("offline: the request was not sent")
}

// Offline returns access that sends no requests, for work on stored responses.
func (k Kind) Offline(s Settings) (*Access, error) {
	source, err := k.open(s, offline{}, api.Options{Now: time.Now})
	return &Access{Source: source, Polite: k.polite()}, err
}
