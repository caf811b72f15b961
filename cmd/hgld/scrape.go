package main

import (
	"errors"
	"runtime/debug"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/internal/settings"
	"hgld/scrape"
	"hgld/scrape/site"
)

// scrapeSettings are the settings of the stage scrape.
type scrapeSettings struct {
	Categories  settings.TextList `yaml:"categories" path:"in" usage:"files that list landmarks and their categories"`
	Split       string            `yaml:"split" usage:"split of landmarks, if their file does not name one"`
	Out         string            `yaml:"out" path:"out" kind:"tags" usage:"file for the tags, one line per landmark"`
	Items       string            `yaml:"items" path:"out" kind:"items of Wikidata" usage:"api: file for the classes above the tags, and the places; \"\": they are not fetched"`
	Changes     string            `yaml:"changes" path:"out" kind:"a list of changes" usage:"with --since: file that lists the changed tags, before and after"`
	State       string            `yaml:"state" path:"out" kind:"the state of a scrape" usage:"folder for the responses; a stopped run resumes from it"`
	Source      string            `yaml:"source" usage:"page (category pages, as in the paper) or api (fifty per request)"`
	BaseURL     string            `yaml:"base_url" usage:"URL of Commons"`
	WikidataURL string            `yaml:"wikidata_url" usage:"api: URL of Wikidata"`
	Language    string            `yaml:"language" usage:"api: language of tags, classes, places and descriptions"`
	Contact     string            `yaml:"contact" usage:"your e-mail address or URL; Wikimedia blocks robots without one"`
	Policy      string            `yaml:"policy" usage:"for several values: first, drop-multi, all, best-rank, paper"`
	PaperText   bool              `yaml:"paper_text" usage:"keep qualifiers in the tag: church building (1172–1954)"`
	Trace       bool              `yaml:"trace_missing" usage:"api: look up missing categories in the log; follow moves"`
	Rate        *float64          `yaml:"rate" range:"0 1000" usage:"per second: page 2 (at most 20), api 1 (at most 3); 0: any"`
	InFlight    *int              `yaml:"in_flight" range:"1 64" usage:"concurrent requests: page 2 (at most 10), api 1"`
	MaxRequests int64             `yaml:"max_requests" range:"0 1e12" usage:"stop after this many requests; 0: no limit"`
}

// crawlGC is the GOGC of a crawl, in percent. The titles of GLDv2 take 130 MB, which the
// default of 100 would double. A crawl mostly waits for its site, so it has the time.
const crawlGC = 25

// drain is how long a crawl waits for pending responses after a signal.
const drain = 10 * time.Second

// scrapeStageOf returns the stage that runs run.
func scrapeStageOf(run func(*job, *scrapeSettings) error) pipeline.StageOf[scrapeSettings] {
	return pipeline.New(pipeline.Spec[scrapeSettings]{
		Name: "scrape", Command: "scrape run",
		Defaults: scrapeSettings{Categories: settings.TextList{"categories.csv"}, Out: "tags.jsonl",
			Items: "items.jsonl", Changes: "changes.jsonl", Language: "en", State: "scrape",
			Source: site.Kinds[0].Name, Policy: scrape.Policies[0].Name,
			BaseURL: "https://commons.wikimedia.org", WikidataURL: "https://www.wikidata.org"},
		Files: func(s *scrapeSettings) (in, out []string) {
			if s.items() != "" {
				return s.Categories, []string{s.Out, s.Items}
			}
			return s.Categories, []string{s.Out}
		},
		Run:   onJob(run),
		Check: (*scrapeSettings).check,
	})
}

// check finds unknown names in the settings.
func (s *scrapeSettings) check() error {
	if _, err := s.kind(); err != nil {
		return err
	}
	_, err := scrape.Policies.Get("policy", s.Policy)
	return err
}

func scrapeStage() pipeline.StageOf[scrapeSettings] { return scrapeStageOf(runScrape) }

func scrapeCommand() *cli.Command {
	const examples = "  hgld scrape run --contact you@university.edu      fetch the tag of every landmark from Commons\n" +
		"  hgld scrape run --source api --contact …          use the APIs: an hour for GLDv2 instead of a day\n" +
		"  hgld scrape run --dry-run                         print the number of requests, and the time they take\n" +
		"  hgld scrape run --reparse --policy drop-multi     parse the stored pages again, offline"
	run := stageCommand(scrapeStage().Stage, "run", "find the \"instance of\" tag of every category", examples+"\n"+
		"  hgld scrape run --limit 50 --contact …            a trial with the first 50 landmarks; its responses are kept")
	run.Flags = append(run.Flags,
		&cli.BoolFlag{Name: "dry-run", Usage: "print what is left to do, and stop"},
		&cli.StringSliceFlag{Name: "retry", Usage: "fetch the finished titles of a group again; `WHAT` is one of " +
			strings.Join(scrape.Retries.Names(), ", ")},
		&cli.BoolFlag{Name: "since", Usage: "check all revisions, fetch the pages that changed, and list the changed tags"},
		&cli.BoolFlag{Name: "reparse", Usage: "parse the stored responses again; send no requests"})
	run.Action = runScrapeCommand
	return group("scrape", "stage 1: category pages -> \"instance of\" tags", examples, run, scrapeStatsCommand(),
		scrapeVerifyCommand(), scrapeImportCommand())
}

// runScrapeCommand is `hgld scrape run` with its flags.
func runScrapeCommand(c *cli.Context) error {
	retry, since := c.StringSlice("retry"), c.Bool("since")
	switch {
	case c.Bool("dry-run") && c.Bool("reparse"):
		return usagef("--dry-run and --reparse exclude each other")
	case (since || len(retry) > 0) && (c.Bool("dry-run") || c.Bool("reparse")):
		return usagef("--retry and --since send requests, but --dry-run and --reparse do not: leave one out")
	case c.Bool("dry-run"):
		return action(planScrape)(c)
	case c.Bool("reparse"):
		return stageAction(scrapeStageOf(reparse).Stage)(c)
	}
	asks := func(j *job, s *scrapeSettings) error { return runCrawl(j, s, retry, since) }
	return stageAction(scrapeStageOf(asks).Stage)(c)
}

// runScrape is `hgld scrape run` as a stage of `hgld run`.
func runScrape(j *job, s *scrapeSettings) error { return runCrawl(j, s, nil, false) }

// runCrawl is `hgld scrape run`. retry selects finished titles to fetch again; since fetches
// the pages that have changed.
func runCrawl(j *job, s *scrapeSettings, retry []string, since bool) (err error) {
	for _, name := range retry {
		if _, err := scrape.Retries.Get("retry", name); err != nil {
			return withCode(exitUsage, err)
		}
	}
	access, err := s.access(j)
	if err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(crawlGC))
	cfg, err := scrapeConfig(j, s, access)
	if err != nil {
		return err
	}
	cfg.Retry, cfg.Agent = retry, access.Polite.UserAgent
	if cfg.Since = since; since {
		if _, ok := access.Source.(scrape.Watcher); !ok {
			return usagef("--since needs --source api: the source page cannot ask for revisions alone")
		}
		cfg.Out.Changes = s.Changes
	}
	unlock, err := lockWikimedia(access.Polite.Hosts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	plan, err := scrape.NewPlan(cfg)
	if err != nil {
		return scrapeError(s, err)
	}
	switch {
	case since:
		j.say("%s; checking at %s for changes", plan.Line(), s.BaseURL)
	default:
		j.say("%s; fetching %d from %s%s", plan.Line(), plan.Titles-plan.Done, s.BaseURL,
			plan.Pace(access.Polite.Rate))
	}
	bar := j.progress("scraping", plan.Titles)
	cfg.Progress = showCrawl(bar, plan.Done)
	report, err := scrape.Run(j.ctx, cfg)
	bar.End()
	if err != nil {
		return scrapeError(s, err)
	}
	j.say("%s sent", count(int(access.Transport.Requests()), "request"))
	return printScrape(j, s, report)
}

// reparse is `hgld scrape run --reparse`.
func reparse(j *job, s *scrapeSettings) error {
	cfg, err := offlineConfig(j, s)
	if err != nil {
		return err
	}
	j.say("parsing the responses in %s again", s.State)
	bar := j.progress("reading", 0)
	cfg.Progress = showCrawl(bar, 0)
	report, err := scrape.Reparse(j.ctx, cfg)
	bar.End()
	if err != nil {
		return scrapeError(s, err)
	}
	return printScrape(j, s, report)
}

// planScrape is `hgld scrape run --dry-run`.
func planScrape(c *cli.Context, j *job) error {
	s, err := scrapeStage().Load(j.project, c)
	if err != nil {
		return err
	}
	cfg, err := offlineConfig(j, s)
	if err != nil {
		return err
	}
	plan, err := scrape.NewPlan(cfg)
	if err != nil {
		return scrapeError(s, err)
	}
	kind, err := s.kind()
	if err != nil {
		return err
	}
	rate := kind.Politeness(s.site()).Rate
	return j.show(map[string]any{"plan": plan, "base_url": s.BaseURL, "rate": rate,
		"seconds": plan.Duration(rate).Seconds()}, plan.Text(s.BaseURL, rate, kind.Rates))
}
