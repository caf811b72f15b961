package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
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
	Items       string            `yaml:"items" flag:"-" path:"out" kind:"items of Wikidata" usage:"api: file for the classes above the tags, and the places; \"\": they are not fetched"`
	State       string            `yaml:"state" path:"out" kind:"the state of a scrape" usage:"folder for the responses; a stopped run resumes from it"`
	Source      string            `yaml:"source" usage:"page (category pages, as in the paper) or api (fifty per request)"`
	BaseURL     string            `yaml:"base_url" flag:"-" usage:"URL of Commons"`
	WikidataURL string            `yaml:"wikidata_url" flag:"-" usage:"api: URL of Wikidata"`
	Language    string            `yaml:"language" usage:"api: language of tags, classes, places and descriptions"`
	Contact     string            `yaml:"contact" usage:"your e-mail address or URL; Wikimedia blocks robots without one"`
	Policy      string            `yaml:"policy" usage:"which of several values to take: first, drop-multi, all, best-rank, paper"`
	PaperText   bool              `yaml:"paper_text" flag:"-" usage:"keep qualifiers in the tag: church building (1172–1954)"`
	Trace       bool              `yaml:"trace_missing" flag:"-" usage:"api: look up missing categories in the log; follow moves"`
	Rate        *float64          `yaml:"rate" range:"0 1000" usage:"requests per second: page 2 (at most 20), api 1 (at most 3); 0: no limit, for an imitation of the site"`

	changes string // lists the changed tags, beside the tags
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
			Items: "items.jsonl", Language: "en", State: "scrape",
			Source: site.Kinds[0].Name, Policy: scrape.Policies[0].Name,
			BaseURL: "https://commons.wikimedia.org", WikidataURL: "https://www.wikidata.org"},
		Complete: func(p *pipeline.Project, s *scrapeSettings) error {
			s.changes = filepath.Join(filepath.Dir(s.Out), "changes.jsonl")
			move := besideOut(p, "scrape", s.Out, "tags.jsonl")
			move("items", &s.Items, "_items.jsonl")
			move("", &s.changes, "_changes.jsonl")
			return nil
		},
		Files: func(s *scrapeSettings) (in, out []string) {
			if s.items() != "" {
				return s.Categories, []string{s.Out, s.Items}
			}
			return s.Categories, []string{s.Out}
		},
		Run:   onJob(run),
		Check: (*scrapeSettings).check,
		Note: func(p *pipeline.Project, s *scrapeSettings, st pipeline.State) (string, error) {
			_, err := os.Lstat(filepath.Join(s.State, "scrape.db"))
			switch {
			case st.State != pipeline.Absent || errors.Is(err, fs.ErrNotExist):
				return "", nil
			case err != nil:
				return "", err
			}
			return p.Named([]string{s.State})[0] + " has the responses of a stopped scrape: repeat its command to go on", nil
		},
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
		dryRunFlag(),
		&cli.StringSliceFlag{Name: "retry", Usage: "fetch the finished titles of a group again; `WHAT` is one of " +
			strings.Join(scrape.Retries.Names(), ", ")},
		&cli.BoolFlag{Name: "update",
			Usage: "check all revisions, fetch the pages that changed, and list the changed tags in changes.jsonl"},
		&cli.BoolFlag{Name: "reparse", Usage: "parse the stored responses again; send no requests"})
	run.Action = runScrapeCommand
	return group("scrape", "stage 1: category pages -> \"instance of\" tags", examples, run, scrapeShowCommand(),
		scrapeCheckCommand(), scrapeImportCommand())
}

// runScrapeCommand is `hgld scrape run` with its flags.
func runScrapeCommand(c *cli.Context) error {
	retry, update := c.StringSlice("retry"), c.Bool("update")
	switch {
	case c.Bool("dry-run") && c.Bool("reparse"):
		return usagef("--dry-run and --reparse exclude each other")
	case (update || len(retry) > 0) && (c.Bool("dry-run") || c.Bool("reparse")):
		return usagef("--retry and --update send requests, but --dry-run and --reparse do not: leave one out")
	case c.Bool("dry-run"):
		return action(planScrape)(c)
	case c.Bool("reparse"):
		return stageAction(scrapeStageOf(reparse).Stage)(c)
	}
	asks := func(j *job, s *scrapeSettings) error { return runCrawl(j, s, retry, update) }
	return stageAction(scrapeStageOf(asks).Stage)(c)
}

// runScrape is `hgld scrape run` as a stage of `hgld run`.
func runScrape(j *job, s *scrapeSettings) error { return runCrawl(j, s, nil, false) }

// runCrawl is `hgld scrape run`. retry selects finished titles to fetch again; update fetches
// the pages that have changed.
func runCrawl(j *job, s *scrapeSettings, retry []string, update bool) (err error) {
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
	if cfg.Since = update; update {
		if _, ok := access.Source.(scrape.Watcher); !ok {
			return usagef("--update needs --source api: the source page cannot ask for revisions alone")
		}
		cfg.Out.Changes = s.changes
		if err := j.checkOutputs("scrape run", s.Categories,
			pipeline.Output{Path: cfg.Out.Changes, Kind: kindChanges}); err != nil {
			return err
		}
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
	case update:
		j.log("%s; checking at %s for changes", plan.Line(), s.BaseURL)
	default:
		j.log("%s; fetching %d from %s%s", plan.Line(), plan.Titles-plan.Done, s.BaseURL,
			plan.Pace(access.Polite.Rate))
	}
	bar := j.progress("scraping", plan.Titles)
	cfg.Progress = showCrawl(bar, plan.Done)
	report, err := scrape.Run(j.ctx, cfg)
	bar.End()
	if err != nil {
		return scrapeError(s, err)
	}
	j.log("%s sent", count(int(access.Transport.Requests()), "request"))
	return printScrape(j, s, report)
}

// reparse is `hgld scrape run --reparse`.
func reparse(j *job, s *scrapeSettings) error {
	cfg, err := offlineConfig(j, s)
	if err != nil {
		return err
	}
	j.log("parsing the responses in %s again", s.State)
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

// scrapeAdvice has the exit codes and next steps for errors of a scrape.
var scrapeAdvice = []advice{
	kind(exitUsage, func(e *scrape.MismatchError) string {
		hint := "keep both in separate folders: --state another-folder"
		if have, err := strconv.Unquote(e.Have); err == nil && strings.HasSuffix(e.Setting, "_url") {
			return "continue it: -o " + e.Setting + "=" + word(have) + "; or " + hint
		}
		return hint
	}),
	kind(exitIntegrity, func(*scrape.DamageError) string {
		return "`hgld scrape run` without --reparse fetches the damaged pages again"
	}),
	sentinel(scrape.ErrMoreNeeded, exitTemporary, "`hgld scrape run` without --reparse fetches the rest"),
	sentinel(scrape.ErrNoTagsBefore, exitOK, "run without --update first"),
}
