package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"hgld/internal/filelock"
	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/labels"
	"hgld/scrape"
	"hgld/scrape/api"
	"hgld/scrape/page"
	"hgld/scrape/polite"
)

// fileList is a list of files. In YAML a single name may stand for a list of one.
type fileList []string

// UnmarshalYAML reads a list, or one name.
func (l *fileList) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode && node.ShortTag() != "!!null" {
		*l = fileList{node.Value}
		return nil
	}
	return node.Decode((*[]string)(l))
}

// MarshalYAML writes one name as such, as it was before there could be several.
func (l fileList) MarshalYAML() (any, error) {
	if len(l) == 1 {
		return l[0], nil
	}
	return []string(l), nil
}

// scrapeSource is an interface of Wikimedia: its pages or its API.
type scrapeSource struct {
	polite func() polite.Settings
	rates  []float64 // requests a second that the site allows, slowest first
	hosts  func(*scrapeSettings) []string
	open   func(*scrapeSettings, http.RoundTripper, api.Options) (scrape.Source, error)
}

// scrapeSources lists the ways.
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

// politeness returns the source's limits, overridden by the settings.
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

// way is how a crawl asks its site.
type way struct {
	polite    polite.Settings
	transport *polite.Transport
	source    scrape.Source
}

// way makes the polite way to the sites of the settings, and to no other.
func (s *scrapeSettings) way(j *job) (*way, error) {
	kind, err := scrapeSources.Get("source", s.Source)
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	clock, err := answerClock()
	if err != nil {
		return nil, err
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
		j.say("%v; going on at half the rate, without waiting for them", err)
	}})
	return w, withCode(exitUsage, err)
}

// offline is the transport of commands that send no requests and so need no contact.
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

// scrapeConfig reads the input and puts the crawl together.
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

// lockWikimedia keeps a second process of this machine from asking Wikimedia, whose
// limits are for all of them together. It ends with the process.
func lockWikimedia(hosts []string) (unlock func() error, err error) {
	if !slices.ContainsFunc(hosts, polite.Wikimedia) {
		return func() error { return nil }, nil
	}
	lock, err := filelock.Acquire(filepath.Join(os.TempDir(), "hgld-wikimedia.lock"))
	if locked := (*filelock.LockedError)(nil); errors.As(err, &locked) {
		return nil, withHint(withCode(exitLocked, fmt.Errorf("another process of this machine asks Wikimedia: %w", err)),
			"its limits hold for both together: wait for the other to end")
	}
	if err != nil {
		return nil, withHint(fmt.Errorf("one process a machine may ask Wikimedia: %w", err),
			"if nobody else does here, remove that file")
	}
	return lock.Remove, nil
}

// answerClock stamps answers: with the time, or with that of $SOURCE_DATE_EPOCH,
// so that the same pages give the same bytes.
func answerClock() (func() time.Time, error) {
	text, ok := os.LookupEnv("SOURCE_DATE_EPOCH")
	if !ok || text == "" {
		return time.Now, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, usagef("SOURCE_DATE_EPOCH: %.80q is no number of seconds since 1970", text)
	}
	return func() time.Time { return time.Unix(seconds, 0) }, nil
}

// readCategories reads the landmarks of label files of any form that has their
// categories.
func readCategories(paths []string, split labels.Split) (scrape.Input, error) {
	type id struct {
		split    labels.Split
		landmark labels.LandmarkID
	}
	input := scrape.Input{Name: strings.Join(paths, ", ")}
	from := map[id]string{}
	var sums []string
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return input, err
		}
		landmarks, err := parseCategories(data, path, split)
		if other := (*labels.SplitAskedError)(nil); len(paths) > 1 && errors.As(err, &other) {
			landmarks, err = parseCategories(data, path, "") // of several lists, split is that of those which say nothing
		}
		if err != nil {
			return input, err
		}
		for _, l := range landmarks {
			key := id{l.Split, l.ID}
			if first, twice := from[key]; twice {
				return input, withHint(usagef("%s: %s landmark %d stands in %s already", path, l.Split, l.ID, first),
					"each list has its own landmarks; a list of another split says so by its name or a column")
			}
			from[key] = path
		}
		input.Landmarks = append(input.Landmarks, landmarks...)
		sum := sha256.Sum256(data)
		sums = append(sums, hex.EncodeToString(sum[:]))
	}
	if len(paths) == 0 {
		return input, usagef("no list of categories; want --categories train_label_to_category.csv")
	}
	input.SHA256 = strings.Join(sums, " ")
	return input, nil
}

// parseCategories reads one list.
func parseCategories(data []byte, path string, split labels.Split) ([]scrape.Landmark, error) {
	table, err := labels.ParseCSV(bytes.NewReader(data), path, labels.ReadOptions{Split: split})
	if unknown := (*labels.SplitUnknownError)(nil); errors.As(err, &unknown) {
		return nil, withHint(withCode(exitUsage, err), "say it: --split train, or split: in the section scrape of hgld.yaml")
	}
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	var list []scrape.Landmark
	for _, l := range table.Rows {
		list = append(list, scrape.Landmark{ID: l.Landmark, Split: l.Split, Category: l.Category})
	}
	if !slices.ContainsFunc(list, func(l scrape.Landmark) bool { return l.Category != "" }) {
		return nil, withHint(usagef("%s: no landmark has a category", path),
			"hgld reads GLDv2's train_label_to_category.csv and its like: columns landmark_id, category")
	}
	return list, nil
}
