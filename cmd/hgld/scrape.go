package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hgld/internal/filelock"
	"hgld/labels"
	"hgld/scrape"
	"hgld/scrape/page"
	"hgld/scrape/polite"
)

// scrapeSettings is the section "scrape" of hgld.yaml.
type scrapeSettings struct {
	Categories  string  `yaml:"categories" path:"in" usage:"list of landmarks and their category pages, as GLDv2's train_label_to_category.csv"`
	Split       string  `yaml:"split" usage:"split of the landmarks, where neither a column nor the file's name says it"`
	Out         string  `yaml:"out" path:"out" usage:"tags to write, a line a landmark"`
	State       string  `yaml:"state" path:"out" usage:"folder that keeps what was fetched, so that a stopped run goes on"`
	BaseURL     string  `yaml:"base_url" usage:"site to ask"`
	Contact     string  `yaml:"contact" usage:"e-mail address or URL of who runs this, for the user agent; Wikimedia blocks robots without"`
	Policy      string  `yaml:"policy" usage:"tag of a page with several values: first, drop-multi, all, best-rank"`
	PaperText   bool    `yaml:"paper_text" usage:"keep the qualifiers in the tag, as printed: church building (1172–1954)"`
	Rate        float64 `yaml:"rate" usage:"requests a second, at most 20 for Wikimedia; 0: no limit, for a site of your own"`
	InFlight    int     `yaml:"in_flight" usage:"requests at a time, at most 10 for Wikimedia"`
	MaxRequests int64   `yaml:"max_requests" usage:"stop after so many requests, robots.txt and repeats included; 0: no limit"`
}

// drain is how long answers under way are waited for after a signal.
const drain = 10 * time.Second

// scrapeStageOf is the stage with one of its two ways to work.
func scrapeStageOf(run func(*job, *scrapeSettings) error) stage {
	defaults := polite.Defaults()
	return newStage("scrape", "scrape run",
		scrapeSettings{Categories: "categories.csv", Out: "tags.jsonl", State: "scrape", BaseURL: "https://commons.wikimedia.org",
			Policy: scrape.Policies[0].Name, Rate: defaults.Rate, InFlight: defaults.InFlight},
		func(s *scrapeSettings) (in, out []string) { return []string{s.Categories}, []string{s.Out} }, run, (*scrapeSettings).check)
}

func scrapeStage() stage { return scrapeStageOf(runScrape) }

func scrapeCommand() *cli.Command {
	const examples = "  hgld scrape run --contact you@university.edu      ask Commons for the tag of every landmark\n" +
		"  hgld scrape run --dry-run                         how many requests, and how long they take\n" +
		"  hgld scrape run --reparse --policy drop-multi     the same pages again, without a network"
	run := scrapeStage().subcommand("run", "read category pages and take their \"instance of\"", examples+"\n"+
		"  hgld scrape run --limit 50 --contact …            a trial with the first 50 landmarks; what it fetched is kept")
	run.Flags = append(run.Flags,
		&cli.BoolFlag{Name: "dry-run", Usage: "say what is left to do, and do nothing"},
		&cli.StringSliceFlag{Name: "retry", Usage: "ask again for `WHAT` has a finding: " + strings.Join(scrape.Retries.Names(), ", ")},
		&cli.BoolFlag{Name: "reparse", Usage: "read the pages again that were fetched before, and ask for none"})
	run.Action = func(c *cli.Context) error {
		switch {
		case c.Bool("dry-run") && c.Bool("reparse"):
			return usagef("--dry-run and --reparse exclude each other")
		case len(c.StringSlice("retry")) > 0 && (c.Bool("dry-run") || c.Bool("reparse")):
			return usagef("--retry asks the site, which --dry-run and --reparse do not: leave one out")
		case c.Bool("dry-run"):
			return planScrape(c)
		case c.Bool("reparse"):
			return scrapeStageOf(reparse).action(c)
		}
		return scrapeStageOf(func(j *job, s *scrapeSettings) error { return askSite(j, s, c.StringSlice("retry")) }).action(c)
	}
	return group("scrape", "stage 1: category pages -> \"instance of\" tags", examples, run, scrapeImportCommand())
}

// runScrape is `hgld scrape run` as a stage of `hgld run`.
func runScrape(j *job, s *scrapeSettings) error { return askSite(j, s, nil) }

// askSite is `hgld scrape run`. retry names what else is asked for again.
func askSite(j *job, s *scrapeSettings, retry []string) error {
	for _, name := range retry {
		if _, err := scrape.Retries.Get("retry", name); err != nil {
			return withCode(exitUsage, err)
		}
	}
	transport, err := scrapeTransport(s)
	if err != nil {
		return err
	}
	cfg, err := scrapeConfig(j, s, transport)
	if err != nil {
		return err
	}
	cfg.Retry = retry
	plan, err := scrape.NewPlan(cfg)
	if err != nil {
		return scrapeError(s, err)
	}
	j.say("%s; asking %s for %d%s", planLine(plan), s.BaseURL, plan.Titles-plan.Done, pace(plan, s.Rate))
	bar := j.progress("scraping", plan.Titles)
	cfg.Progress = showCrawl(bar, plan.Done)
	report, err := scrape.Run(j.ctx, cfg)
	bar.end()
	if err != nil {
		return scrapeError(s, err)
	}
	j.say("%s sent", count(int(transport.Requests()), "request"))
	return printScrape(j, s, report)
}

// reparse is `hgld scrape run --reparse`.
func reparse(j *job, s *scrapeSettings) error {
	cfg, err := scrapeConfig(j, s, offline{})
	if err != nil {
		return err
	}
	j.say("reading the pages in %s again", s.State)
	bar := j.progress("reading", 0)
	cfg.Progress = showCrawl(bar, 0)
	report, err := scrape.Reparse(j.ctx, cfg)
	bar.end()
	if err != nil {
		return scrapeError(s, err)
	}
	return printScrape(j, s, report)
}

// planScrape is `hgld scrape run --dry-run`.
func planScrape(c *cli.Context) error {
	j, err := newJob(c)
	if err != nil {
		return err
	}
	s := scrapeStage().settings().(*scrapeSettings)
	if err := j.project.load(c, "scrape", s); err != nil {
		return err
	}
	cfg, err := scrapeConfig(j, s, offline{})
	if err != nil {
		return err
	}
	plan, err := scrape.NewPlan(cfg)
	if err != nil {
		return scrapeError(s, err)
	}
	if j.json {
		return writeJSON(j, map[string]any{"plan": plan, "base_url": s.BaseURL, "rate": s.Rate, "seconds": plan.Duration(s.Rate).Seconds()})
	}
	j.print("%s\n%d requests to %s are left, beside redirects and repeats%s\n", planLine(plan), plan.Requests, s.BaseURL, pace(plan, s.Rate))
	return nil
}

// pace says how long it takes, if there is a limit.
func pace(p scrape.Plan, rate float64) string {
	if rate == 0 {
		return ""
	}
	return fmt.Sprintf(": %v at %g a second", p.Duration(rate), rate)
}

func planLine(p scrape.Plan) string {
	line := fmt.Sprintf("%s, %s", count(p.Landmarks, "landmark"), count(p.Titles, "category page"))
	if p.Done > 0 {
		line += fmt.Sprintf(", %d done", p.Done)
	}
	if p.Retry > 0 {
		line += fmt.Sprintf(", %d failed last time", p.Retry)
	}
	if p.Unusable > 0 {
		line += fmt.Sprintf(", %s without a usable URL", count(p.Unusable, "landmark"))
	}
	return line
}

// offline is the transport of the commands that ask nobody: they need no contact.
type offline struct{}

func (offline) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no request is sent here")
}

// scrapeConfig reads the input and puts the crawl together.
func scrapeConfig(j *job, s *scrapeSettings, transport http.RoundTripper) (scrape.Config, error) {
	var cfg scrape.Config
	clock, err := answerClock()
	if err != nil {
		return cfg, err
	}
	source, err := page.New(s.BaseURL, transport, clock)
	if err != nil {
		return cfg, withCode(exitUsage, err)
	}
	out := scrape.Output{Tags: s.Out, Policy: s.Policy, PaperText: s.PaperText, Tool: "hgld " + version}
	if err := out.Check(); err != nil {
		return cfg, withCode(exitUsage, fmt.Errorf("scrape: %w", err))
	}
	j.say("reading %s", s.Categories)
	input, err := readCategories(s.Categories, labels.Split(s.Split))
	if err != nil {
		return cfg, err
	}
	return scrape.Config{
		State: s.State, Input: input, Source: source, Settings: map[string]string{"base_url": strings.TrimSuffix(s.BaseURL, "/")},
		Workers: s.InFlight, Limit: j.limit, Grace: drain,
		Out: out,
	}, nil
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
		return nil, usagef("SOURCE_DATE_EPOCH: %q is no number of seconds since 1970", text)
	}
	return func() time.Time { return time.Unix(seconds, 0) }, nil
}

// scrapeTransport is the polite way to the site, and to no other.
func scrapeTransport(s *scrapeSettings) (*polite.Transport, error) {
	base, err := url.Parse(s.BaseURL)
	if err != nil || base.Host == "" {
		return nil, usagef("base_url %q is no address of a site; want https://commons.wikimedia.org", s.BaseURL)
	}
	p := polite.Defaults()
	p.Hosts, p.Rate, p.InFlight, p.MaxRequests = []string{base.Host}, s.Rate, s.InFlight, s.MaxRequests
	if s.Contact != "" {
		if p.UserAgent, err = polite.UserAgent(version, s.Contact); err != nil {
			return nil, withCode(exitUsage, err)
		}
	}
	connections := http.DefaultTransport.(*http.Transport).Clone()
	connections.MaxIdleConnsPerHost = s.InFlight
	transport, err := polite.New(p, connections)
	if err != nil && s.Contact == "" && polite.Wikimedia(base.Host) {
		return nil, withHint(withCode(exitUsage, err), "say who you are: --contact you@university.edu, or contact: in the section scrape of hgld.yaml")
	}
	return transport, withCode(exitUsage, err)
}

// readCategories reads the landmarks of a label file of any form that has their
// categories.
func readCategories(path string, split labels.Split) (scrape.Input, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return scrape.Input{}, err
	}
	table, err := labels.ParseCSV(bytes.NewReader(data), path, labels.ReadOptions{Split: split})
	if unknown := (*labels.SplitUnknownError)(nil); errors.As(err, &unknown) {
		return scrape.Input{}, withHint(withCode(exitUsage, err), "say it: --split train, or split: in the section scrape of hgld.yaml")
	}
	if err != nil {
		return scrape.Input{}, withCode(exitUsage, err)
	}
	sum := sha256.Sum256(data)
	input := scrape.Input{Name: path, SHA256: hex.EncodeToString(sum[:])}
	for _, l := range table.Rows {
		input.Landmarks = append(input.Landmarks, scrape.Landmark{ID: l.Landmark, Split: l.Split, Category: l.Category})
	}
	if !slices.ContainsFunc(input.Landmarks, func(l scrape.Landmark) bool { return l.Category != "" }) {
		return input, withHint(usagef("%s: no landmark has a category", path), "hgld reads GLDv2's train_label_to_category.csv and its like: columns landmark_id, category")
	}
	return input, nil
}

// showCrawl counts outcomes beside the bar of a crawl of which so many titles were
// done before.
func showCrawl(bar *progress, before int) func(scrape.Progress) {
	bar.from(before)
	tagged, failed := 0, 0
	return func(p scrape.Progress) {
		for _, o := range p.Outcomes {
			switch o {
			case labels.OK:
				tagged++
			case labels.Retryable, labels.Failed, labels.Malformed:
				failed++
			}
		}
		note := fmt.Sprintf("%d with a tag", tagged)
		if failed > 0 {
			note += fmt.Sprintf(", %d failed", failed)
		}
		bar.set(p.Done, note)
	}
}

// scrapeError gives the errors of a crawl their exit codes and next steps.
func scrapeError(s *scrapeSettings, err error) error {
	var (
		locked     *filelock.LockedError
		mismatch   *scrape.MismatchError
		damage     *scrape.DamageError
		unread     *scrape.ReadError
		incomplete *scrape.IncompleteError
		stop       *polite.StopError
		malformed  *scrape.MalformedRunError
	)
	switch {
	case errors.As(err, &locked):
		return withHint(withCode(exitLocked, err), "wait for it to end; it saves what it has when it is interrupted")
	case errors.As(err, &mismatch):
		return withHint(withCode(exitUsage, err), "--state another-folder keeps both")
	case errors.As(err, &unread) && errors.Is(err, fs.ErrNotExist):
		return withHint(withCode(exitIntegrity, err), "put back what is gone from %s; if that is impossible, `hgld scrape run --retry lost` asks for its pages again", filepath.Join(s.State, "raw"))
	case errors.As(err, &unread):
		return withHint(err, "nothing was thrown away: once the file can be read, run the same command again")
	case errors.As(err, &damage):
		return withHint(withCode(exitIntegrity, err), "`hgld scrape run` without --reparse fetches the damaged pages again")
	case errors.Is(err, scrape.ErrMoreNeeded):
		return withHint(withCode(exitTemporary, err), "`hgld scrape run` without --reparse fetches the rest")
	case errors.As(err, &malformed):
		return withHint(withCode(exitTemporary, err), "see what %s answers in a browser; the same command goes on, with --retry malformed from those titles", s.BaseURL)
	case errors.As(err, &incomplete) && errors.As(err, &stop):
		when := "now"
		if !incomplete.RetryAt.IsZero() {
			when = "after " + incomplete.RetryAt.Local().Format("15:04:05 on 2 January 2006")
		}
		return withHint(withCode(exitTemporary, err), "what was fetched is kept in %s; run the same command again %s", s.State, when)
	}
	return err
}

// printScrape prints the summary; landmarks that failed are an error.
func printScrape(j *job, s *scrapeSettings, r *scrape.Report) error {
	if j.json {
		if err := writeJSON(j, r); err != nil {
			return err
		}
	} else {
		printCoverage(j, s, r)
	}
	if len(r.Stale) > 0 {
		err := withCode(exitSomeFailed, fmt.Errorf("%s could not be had again, the first %s; what was known of them stands", count(len(r.Stale), "title"), r.Stale[0]))
		return worthRepeating(withHint(err, "the same command asks for them again"))
	}
	if len(r.Failed) == 0 {
		return nil
	}
	if !j.json {
		for i, f := range r.Failed {
			if i == 10 {
				j.print("  … and %d more\n", len(r.Failed)-i)
				break
			}
			j.print("  %s/%d %s: %s\n", f.Split, f.Landmark, f.Outcome, f.Error)
		}
	}
	err := withCode(exitSomeFailed, fmt.Errorf("%s failed; %s lists them", count(len(r.Failed), "landmark"), filepath.Join(s.State, "report.json")))
	if slices.ContainsFunc(r.Failed, func(f scrape.Failure) bool { return f.Outcome == labels.Retryable }) {
		return worthRepeating(withHint(err, "the same command asks again for those with error_retryable"))
	}
	return err
}

func printCoverage(j *job, s *scrapeSettings, r *scrape.Report) {
	for _, split := range r.Splits {
		j.print("%s: %d of %s have a tag (%.1f %%)", split.Split, split.Tagged, count(split.Landmarks, "landmark"), 100*split.Coverage)
		if split.PaperTagged > 0 && split.Landmarks == split.PaperLandmarks { // else it is no comparison
			j.print("; the paper: %d of %d (%.1f %%)", split.PaperTagged, split.PaperLandmarks, 100*float64(split.PaperTagged)/float64(split.PaperLandmarks))
		}
		j.print("\n")
		outcomes := slices.SortedFunc(maps.Keys(split.Outcomes), func(a, b labels.Outcome) int {
			return slices.Index(labels.Outcomes, a) - slices.Index(labels.Outcomes, b)
		})
		for _, o := range outcomes {
			j.print("  %7d  %s\n", split.Outcomes[o], o)
		}
	}
	j.print("%s with several values; without a tag for it:", count(r.Several, "landmark"))
	for i, p := range r.Policies {
		if i > 0 {
			j.print(",")
		}
		j.print(" %s %d", p.Policy, p.Dropped)
	}
	j.print(" (policy: %s)\n%s written: %s\n", r.Policy, s.Out, count(r.Tags, "distinct tag"))
}
