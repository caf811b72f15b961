package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hgld/internal/filelock"
	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/labels"
	"hgld/scrape"
	"hgld/scrape/api"
	"hgld/scrape/page"
	"hgld/scrape/polite"
)

// scrapeSource is a way to fetch from Wikimedia.
type scrapeSource struct {
	polite func() polite.Settings
	rates  []float64 // requests a second that the site allows, slowest first
	hosts  func(*scrapeSettings) []string
	open   func(*scrapeSettings, http.RoundTripper, api.Options) (scrape.Source, error)
}

// scrapeSources lists the sources.
var scrapeSources = registry.Table[scrapeSource]{
	{Name: "page", About: "the category pages, one request each: the route of the paper", Value: scrapeSource{
		polite: polite.Defaults, rates: []float64{1, 2, 5, 10, polite.WikimediaRate},
		hosts: func(s *scrapeSettings) []string { return []string{s.BaseURL} },
		open: func(s *scrapeSettings, t http.RoundTripper, o api.Options) (scrape.Source, error) {
			return page.New(s.BaseURL, t, o.Now)
		}}},
	{Name: "api", About: "the APIs of Commons and Wikidata, fifty titles or items a request", Value: scrapeSource{
		polite: polite.APIDefaults, rates: []float64{1.0 / 6, 1, polite.WikimediaAPIRate},
		hosts: func(s *scrapeSettings) []string { return []string{s.BaseURL, s.WikidataURL} },
		open: func(s *scrapeSettings, t http.RoundTripper, o api.Options) (scrape.Source, error) {
			o.Commons, o.Wikidata, o.TraceMissing = s.BaseURL, s.WikidataURL, s.Trace
			return api.New(o, t)
		}}},
}

// politeness applies the settings to a source's default behaviour.
func (s *scrapeSettings) politeness(p polite.Settings) polite.Settings {
	if s.Rate != nil {
		p.Rate = *s.Rate
	}
	if s.InFlight != nil {
		p.InFlight = *s.InFlight
	}
	p.MaxRequests = s.MaxRequests
	return p
}

// way is how a crawl accesses its site.
type way struct {
	polite    polite.Settings
	transport *polite.Transport
	source    scrape.Source
}

// way returns access to the sites of the settings, and to no others.
func (s *scrapeSettings) way(j *job) (*way, error) {
	kind, err := scrapeSources.Get("source", s.Source)
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	clock, err := scrape.AnswerClock()
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	w := &way{polite: s.politeness(kind.polite())}
	for _, address := range kind.hosts(s) {
		base, err := url.Parse(address)
		if err != nil || base.Host == "" {
			return nil, usagef("%.80q is not the URL of a site; want one such as https://commons.wikimedia.org", address)
		}
		w.polite.Hosts = append(w.polite.Hosts, base.Host)
	}
	if s.Contact != "" {
		if w.polite.UserAgent, err = polite.UserAgent(version, s.Contact); err != nil {
			return nil, withCode(exitUsage, err)
		}
	}
	w.polite.Took = func(d time.Duration) {
		if source, ok := w.source.(*api.Source); ok {
			source.Took(d)
		}
	}
	connections := http.DefaultTransport.(*http.Transport).Clone()
	connections.MaxIdleConnsPerHost = w.polite.InFlight
	if w.transport, err = polite.New(w.polite, connections); err != nil {
		err = withCode(exitUsage, err)
		if s.Contact == "" && slices.ContainsFunc(w.polite.Hosts, polite.Wikimedia) {
			err = withHint(err, "say who you are: --contact you@university.edu, or contact: in the section scrape of hgld.yaml")
		}
		return nil, err
	}
	w.source, err = kind.open(s, w.transport, api.Options{Now: clock, Lagging: func(err error) {
		w.transport.Slow()
		j.say("%v; continuing at half the rate without waiting for them", err)
	}})
	return w, withCode(exitUsage, err)
}

// offline is the transport of commands that send no requests. They need no contact.
type offline struct{}

func (offline) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no request is sent here")
}

// offlineConfig is scrapeConfig for a command that sends no requests.
func offlineConfig(j *job, s *scrapeSettings) (scrape.Config, error) {
	kind, err := scrapeSources.Get("source", s.Source)
	if err != nil {
		return scrape.Config{}, withCode(exitUsage, err)
	}
	source, err := kind.open(s, offline{}, api.Options{Now: time.Now})
	if err != nil {
		return scrape.Config{}, withCode(exitUsage, err)
	}
	return scrapeConfig(j, s, &way{source: source, polite: kind.polite()})
}

// scrapeConfig reads the input and configures the crawl.
func scrapeConfig(j *job, s *scrapeSettings, w *way) (scrape.Config, error) {
	var cfg scrape.Config
	out := scrape.Output{Tags: s.Out, Policy: s.Policy, PaperText: s.PaperText, Tool: "hgld " + version}
	if err := out.Check(); err != nil {
		return cfg, pipeline.SettingError(fmt.Errorf("scrape: %w", err))
	}
	j.say("reading %s", strings.Join(s.Categories, ", "))
	input, err := readCategories(s.Categories, labels.Split(s.Split))
	if err != nil {
		return cfg, err
	}
	site := map[string]string{"base_url": strings.TrimSuffix(s.BaseURL, "/")}
	if w.source.Name() == "api" {
		site["wikidata_url"] = strings.TrimSuffix(s.WikidataURL, "/")
	}
	return scrape.Config{
		State: s.State, Input: input, Source: w.source, Settings: site,
		Workers: w.polite.InFlight, Limit: j.limit, Grace: drain,
		Out: out,
	}, nil
}

// lockWikimedia prevents a second process on this machine from sending requests to Wikimedia,
// because Wikimedia's limits apply to all of them together. The lock ends with the process.
func lockWikimedia(hosts []string) (unlock func() error, err error) {
	if !slices.ContainsFunc(hosts, polite.Wikimedia) {
		return func() error { return nil }, nil
	}
	lock, err := filelock.Acquire(filepath.Join(os.TempDir(), "hgld-wikimedia.lock"))
	if locked := (*filelock.LockedError)(nil); errors.As(err, &locked) {
		return nil, withHint(withCode(exitLocked, fmt.Errorf("another process on this machine is using Wikimedia: %w", err)),
			"its limits hold for both together: wait for the other to end")
	}
	if err != nil {
		return nil, withHint(fmt.Errorf("only one process on a machine may use Wikimedia: %w", err),
			"if nobody else does here, remove that file")
	}
	return lock.Remove, nil
}

// readCategories reads the input of a crawl.
func readCategories(paths []string, split labels.Split) (scrape.Input, error) {
	if len(paths) == 0 {
		return scrape.Input{}, usagef("no category file; want --categories train_label_to_category.csv")
	}
	input, err := scrape.ReadCategories(paths, split)
	var wrong *scrape.CategoriesError
	switch {
	case err == nil || errors.As(err, new(*fs.PathError)):
		return input, err
	case errors.As(err, new(*labels.SplitUnknownError)):
		err = withHint(err, "name the split: --split train, or split: in the section scrape of hgld.yaml")
	case errors.As(err, &wrong) && wrong.Twice:
		err = withHint(err, "a landmark may be in one file only; a file of another split names it in its name or in a column")
	case errors.As(err, &wrong):
		err = withHint(err, "hgld reads GLDv2's train_label_to_category.csv and its like: columns landmark_id, category")
	}
	return input, withCode(exitUsage, err)
}
