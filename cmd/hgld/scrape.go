package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/scrape"
)

// scrapeSettings is the section "scrape" of hgld.yaml.
type scrapeSettings struct {
	Categories  fileList `yaml:"categories" path:"in" usage:"lists of landmarks and their category pages, as GLDv2's train_label_to_category.csv and index_label_to_category.csv"`
	Split       string   `yaml:"split" usage:"split of the landmarks, where neither a column nor the file's name says it"`
	Out         string   `yaml:"out" path:"out" usage:"tags to write, a line a landmark"`
	Changes     string   `yaml:"changes" path:"out" usage:"with --since: list to write of the landmarks whose tag has changed, before and after"`
	State       string   `yaml:"state" path:"out" usage:"folder that keeps what was fetched, so that a stopped run can continue"`
	Source      string   `yaml:"source" usage:"how the site is asked: page (the category pages, as the paper did) or api (the APIs, fifty at a time)"`
	BaseURL     string   `yaml:"base_url" usage:"site to ask"`
	WikidataURL string   `yaml:"wikidata_url" usage:"api: site of the items"`
	Contact     string   `yaml:"contact" usage:"e-mail address or URL of who runs this, for the user agent; Wikimedia blocks robots without"`
	Policy      string   `yaml:"policy" usage:"tag of a page with several values: first, drop-multi, all, best-rank"`
	PaperText   bool     `yaml:"paper_text" usage:"keep the qualifiers in the tag, as printed: church building (1172–1954)"`
	Trace       bool     `yaml:"trace_missing" usage:"api: ask the log why a category is missing, one request each, and follow moves"`
	Rate        *float64 `yaml:"rate" range:"0 1000" usage:"requests a second: 2 for pages, 1 for the API if unset, at most 20 and 3 for Wikimedia; 0: no limit, for a site of your own"`
	InFlight    *int     `yaml:"in_flight" range:"1 64" usage:"requests at a time: 2 for pages, 1 for the API if unset, at most 10 and 1 for Wikimedia"`
	MaxRequests int64    `yaml:"max_requests" range:"0 1e12" usage:"stop after so many requests, robots.txt and repeats included; 0: no limit"`
}

// crawlGC is the growth of the heap, in percent, after which a crawl collects
// garbage. The titles of GLDv2 take 130 MB, which the usual 100 would double; a
// crawl waits for its site, and has the time.
const crawlGC = 25

// drain is how long a stopped crawl waits for pending answers.
const drain = 10 * time.Second

// scrapeStageOf returns the stage with the given action.
func scrapeStageOf(run func(*job, *scrapeSettings) error) pipeline.StageOf[scrapeSettings] {
	return pipeline.New(pipeline.Spec[scrapeSettings]{
		Name: "scrape", Command: "scrape run",
		Defaults: scrapeSettings{Categories: fileList{"categories.csv"}, Out: "tags.jsonl", Changes: "changes.jsonl",
			State: "scrape", Source: scrapeSources[0].Name, Policy: scrape.Policies[0].Name,
			BaseURL: "https://commons.wikimedia.org", WikidataURL: "https://www.wikidata.org"},
		Files:  func(s *scrapeSettings) (in, out []string) { return s.Categories, []string{s.Out} },
		Run:    onJob(run),
		Checks: []func(*scrapeSettings) error{(*scrapeSettings).check},
	})
}

func scrapeStage() pipeline.StageOf[scrapeSettings] { return scrapeStageOf(runScrape) }

func scrapeCommand() *cli.Command {
	const examples = "  hgld scrape run --contact you@university.edu      ask Commons for the tag of every landmark\n" +
		"  hgld scrape run --source api --contact …          the same through the APIs: an hour for GLDv2, not a day\n" +
		"  hgld scrape run --dry-run                         how many requests, and how long they take\n" +
		"  hgld scrape run --reparse --policy drop-multi     the same pages again, without a network"
	run := stageCommand(scrapeStage().Stage, "run", "find the \"instance of\" of every category", examples+"\n"+
		"  hgld scrape run --limit 50 --contact …            a trial with the first 50 landmarks; what it fetched is kept")
	run.Flags = append(run.Flags,
		&cli.BoolFlag{Name: "dry-run", Usage: "say what is left to do, and do nothing"},
		&cli.StringSliceFlag{Name: "retry", Usage: "ask again for `WHAT` has a finding: " +
			strings.Join(scrape.Retries.Names(), ", ")},
		&cli.BoolFlag{Name: "since", Usage: "ask for revisions, then again for what has changed, and list the tags that " +
			"are others now"},
		&cli.BoolFlag{Name: "reparse", Usage: "read the pages again that were fetched before, and ask for none"})
	run.Action = runScrapeCommand
	return group("scrape", "stage 1: category pages -> \"instance of\" tags", examples, run, scrapeStatsCommand(),
		scrapeVerifyCommand(), scrapeImportCommand())
}

// runScrapeCommand is `hgld scrape run` with the action that the flags choose.
func runScrapeCommand(c *cli.Context) error {
	retry, since := c.StringSlice("retry"), c.Bool("since")
	switch {
	case c.Bool("dry-run") && c.Bool("reparse"):
		return usagef("--dry-run and --reparse exclude each other")
	case (since || len(retry) > 0) && (c.Bool("dry-run") || c.Bool("reparse")):
		return usagef("--retry and --since ask the site, which --dry-run and --reparse do not: leave one out")
	case c.Bool("dry-run"):
		return planScrape(c)
	case c.Bool("reparse"):
		return stageAction(scrapeStageOf(reparse).Stage)(c)
	}
	asks := func(j *job, s *scrapeSettings) error { return askSite(j, s, retry, since) }
	return stageAction(scrapeStageOf(asks).Stage)(c)
}

// runScrape is `hgld scrape run` as a stage of `hgld run`.
func runScrape(j *job, s *scrapeSettings) error { return askSite(j, s, nil, false) }

// askSite is `hgld scrape run`. retry names what else is asked for again; since asks
// for what has changed.
func askSite(j *job, s *scrapeSettings, retry []string, since bool) (err error) {
	for _, name := range retry {
		if _, err := scrape.Retries.Get("retry", name); err != nil {
			return withCode(exitUsage, err)
		}
	}
	way, err := s.way(j)
	if err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(crawlGC))
	cfg, err := scrapeConfig(j, s, way)
	if err != nil {
		return err
	}
	cfg.Retry, cfg.Agent = retry, way.polite.UserAgent
	if cfg.Since = since; since {
		if _, ok := way.source.(scrape.Watcher); !ok {
			return usagef("--since needs --source api: pages do not tell their revisions apart from themselves")
		}
		cfg.Out.Changes = s.Changes
	}
	unlock, err := lockWikimedia(way.polite.Hosts)
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
		j.say("%s; asking %s what has changed", planLine(plan), s.BaseURL)
	default:
		j.say("%s; asking %s for %d%s", planLine(plan), s.BaseURL, plan.Titles-plan.Done, pace(plan, way.polite.Rate))
	}
	bar := j.progress("scraping", plan.Titles)
	cfg.Progress = showCrawl(bar, plan.Done)
	report, err := scrape.Run(j.ctx, cfg)
	bar.End()
	if err != nil {
		return scrapeError(s, err)
	}
	j.say("%s sent", count(int(way.transport.Requests()), "request"))
	return printScrape(j, s, report)
}

// reparse is `hgld scrape run --reparse`.
func reparse(j *job, s *scrapeSettings) error {
	cfg, err := offlineConfig(j, s)
	if err != nil {
		return err
	}
	j.say("reading the pages in %s again", s.State)
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
func planScrape(c *cli.Context) error {
	j, err := newJob(c)
	if err != nil {
		return err
	}
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
	source, err := scrapeSources.Get("source", s.Source)
	if err != nil {
		return err
	}
	rate := s.politeness(source.polite()).Rate
	if j.json {
		return writeJSON(j, map[string]any{"plan": plan, "base_url": s.BaseURL, "rate": rate,
			"seconds": plan.Duration(rate).Seconds()})
	}
	j.print("%s\n%d requests to %s are left, not counting redirects and repeats%s\n", planLine(plan), plan.Requests,
		s.BaseURL,
		pace(plan, rate))
	if len(plan.Stages) > 1 {
		for _, stage := range plan.Stages {
			j.print("  %7d  %-6s %s\n", stage.Requests, stage.Step, stage.About)
		}
	}
	if plan.Requests > 0 {
		j.print("at other rates that the site allows:")
		for i, r := range source.rates {
			j.print("%s %v at %.2g a second", map[bool]string{true: ",", false: ""}[i > 0], plan.Duration(r), r)
		}
		j.print("\n")
	}
	return nil
}

// pace estimates the duration if the rate is limited.
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
