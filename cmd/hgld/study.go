package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/internal/texttable"
	"hgld/train/study"
)

const studyExamples = "  hgld study list                         the studies that hgld contains\n" +
	"  hgld study show alpha                   what a study asks, needs and varies\n" +
	"  hgld study run alpha                    train its runs, and write studies/alpha/report.html\n" +
	"  hgld study run --small --steps 20 --data shards rank-losses/table-5\n" +
	"                                          a small form of a paper's table on one's own shards\n" +
	"  hgld study run my-study.yaml            a study of one's own: hgld study show --yaml demo > my-study.yaml\n" +
	"  sbatch --array=1-8 --wrap 'hgld study slice alpha auto/8'"

func studyCommand() *cli.Command {
	return group("study", "many training runs and one report: a paper's table, or an ablation", studyExamples,
		studyListCommand(), studyShowCommand(), studyPlanCommand(), studyRunCommand(), studySliceCommand(),
		studyStatusCommand(), studyReportCommand())
}

// studyOutFlag names the folder of a study.
func studyOutFlag() cli.Flag {
	return &cli.StringFlag{Name: "out", Usage: "folder of the study `DIR` (default: studies/NAME)"}
}

// scaleFlags are the flags that change a study, usually to make it smaller.
func scaleFlags() []cli.Flag {
	return []cli.Flag{studyOutFlag(), overrideFlag(),
		&cli.StringFlag{Name: "data", Usage: "folder of shards `DIR` for all runs, instead of the study's"},
		&cli.IntFlag{Name: "steps", Usage: "length of all runs in `N` steps, instead of the study's"},
		&cli.IntFlag{Name: "limit", Usage: "trial: only the first `N` variants"},
		&cli.IntFlag{Name: "seeds", Usage: "train `N` seeds instead of the study's; more seeds continue its numbers"},
		&cli.BoolFlag{Name: "small", Usage: "small networks, images and batches, measured on a third of the classes"},
	}
}

// scaleOf reads scaleFlags.
func scaleOf(c *cli.Context) (study.Scale, error) {
	s := study.Scale{Small: c.Bool("small"), Limit: c.Int("limit"), Seeds: c.Int("seeds")}
	if data := c.String("data"); data != "" {
		s.Set = append(s.Set, "data="+data)
	}
	if c.IsSet("steps") {
		if c.Int("steps") < 1 {
			return s, usagef("--steps is %d; want 1 or more", c.Int("steps"))
		}
		s.Set = append(s.Set, fmt.Sprintf("steps=%d", c.Int("steps")))
	}
	s.Set = append(s.Set, c.StringSlice(pipeline.OverrideFlag)...)
	return s, withCode(exitUsage, s.Check())
}

// studyNamed is study.Get with the exit code and hint for an unknown name.
func studyNamed(name string) (*study.Study, error) {
	s, err := study.Get(name)
	if err != nil {
		err = withHint(withCode(exitUsage, err), "hgld study list lists them; a name ending in .yaml is a file")
	}
	return s, err
}

// studyPlan makes the plan of the study that the first argument names.
func studyPlan(c *cli.Context, j *job, scale study.Scale) (*study.Plan, error) {
	s, err := studyNamed(j.args[0])
	if err != nil {
		return nil, err
	}
	return s.Make(studyFolder(c, j, s), scale, j.project.Join)
}

// studyFolder returns the folder of a study.
func studyFolder(c *cli.Context, j *job, s *study.Study) string {
	if out := c.String("out"); out != "" {
		return out
	}
	return j.project.Join(filepath.Join("studies", filepath.FromSlash(s.Name)))
}

// recordedPlan makes the plan that was last run.
func recordedPlan(c *cli.Context, j *job) (*study.Plan, error) {
	s, err := studyNamed(j.args[0])
	if err != nil {
		return nil, err
	}
	scale, begun, err := study.Recorded(studyFolder(c, j, s))
	if err != nil {
		return nil, err
	}
	if !begun {
		return nil, withHint(usagef("%s has no %s: the study has not begun", studyFolder(c, j, s), study.File),
			"hgld study run %s begins it; --out names another folder", word(j.args[0]))
	}
	return studyPlan(c, j, scale)
}

func studyListCommand() *cli.Command {
	return &cli.Command{Name: "list", Usage: "list the studies", Flags: commonFlags(),
		Description: "  hgld study list",
		Action: actionWithArgs(0, 0, "no argument", func(c *cli.Context, j *job) error {
			list, err := study.All()
			if err != nil {
				return err
			}
			rows := [][]string{{"study", "runs", "title"}}
			for _, s := range list {
				p, err := s.Make("", study.Scale{}, j.project.Join)
				if err != nil {
					return err
				}
				rows = append(rows, []string{s.Name, fmt.Sprint(len(p.Runs)), s.Title})
			}
			return j.show(list, texttable.Lines(rows, texttable.Column{Left: true, Least: 24},
				texttable.Column{Least: 5, Gap: 1}, texttable.Column{Left: true, Gap: 2}))
		}),
	}
}

func studyShowCommand() *cli.Command {
	return &cli.Command{Name: "show", Usage: "show what a study asks, needs and varies", ArgsUsage: "NAME",
		Description: "  hgld study show alpha\n  hgld study show --yaml alpha > mine.yaml",
		Flags:       append(commonFlags(), &cli.BoolFlag{Name: "yaml", Usage: "print the file"}),
		Action: actionWithArgs(1, 1, "one study", func(c *cli.Context, j *job) error {
			p, err := studyPlan(c, j, study.Scale{})
			if err != nil {
				return err
			}
			if c.Bool("yaml") {
				j.print("%s", p.Study.Text)
				return nil
			}
			return j.show(p.Study, p.Notes())
		}),
	}
}

func studyPlanCommand() *cli.Command {
	return &cli.Command{Name: "plan", Usage: "list the runs of a study, how far they are, and what is missing",
		ArgsUsage: "NAME",
		Description: "  hgld study plan alpha\n  hgld study plan --small --steps 20 --data shards rank-losses/table-5\n" +
			"  hgld study plan --missing 8 alpha       the slices out of 8 with runs that are not finished, such as 2,5,7",
		Flags: append(append(commonFlags(), scaleFlags()...),
			&cli.IntFlag{Name: "missing", Usage: "print only which of `T` slices must still run, such as 2,5,7"}),
		Action: actionWithArgs(1, 1, "one study", func(c *cli.Context, j *job) error {
			scale, err := scaleOf(c)
			if err != nil {
				return err
			}
			p, err := studyPlan(c, j, scale)
			if err == nil {
				err = p.Check()
			}
			if err != nil {
				return err
			}
			of := c.Int("missing")
			if !c.IsSet("missing") {
				return showStates(j, p)
			}
			if of < 1 {
				return usagef("--missing is %d; want the number of slices, 1 or more", of)
			}
			list, err := p.MissingSlices(of)
			if err != nil {
				return err
			}
			return j.show(list, strings.Join(list, ",")+"\n")
		}),
	}
}

func studyStatusCommand() *cli.Command {
	return &cli.Command{Name: "status", Usage: "say how far the runs of a study are", ArgsUsage: "NAME",
		Description: "  hgld study status alpha",
		Flags:       append(commonFlags(), studyOutFlag()),
		Action: actionWithArgs(1, 1, "one study", func(c *cli.Context, j *job) error {
			p, err := recordedPlan(c, j)
			if err != nil {
				return err
			}
			return showStates(j, p)
		}),
	}
}

// showStates prints the runs of a plan with their states.
func showStates(j *job, p *study.Plan) error {
	states, err := p.States()
	if err != nil {
		return err
	}
	var files []string
	for _, r := range p.Runs {
		files = append(files, r.Files()...)
	}
	missing := pipeline.Missing(files)
	if j.json {
		return writeJSON(j, map[string]any{"study": p.Study.Name, "dir": p.Dir, "scale": p.Scale, "runs": states,
			"missing": unique(missing)})
	}
	j.print("%s", p.StatesText(states))
	for _, path := range unique(missing) {
		j.say("missing: %s", path)
	}
	return nil
}

func studyReportCommand() *cli.Command {
	return &cli.Command{Name: "report", Usage: "write the report of the finished runs, and print its tables",
		ArgsUsage: "NAME",
		Description: "  hgld study report alpha                 studies/alpha/report.html, .md and .tex, results.csv,\n" +
			"                                          differences.csv, figure-1.svg, .png, .pdf and .csv\n" +
			"  hgld study report --format latex alpha  print the tables for a paper",
		Flags: append(commonFlags(), studyOutFlag(),
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` of what is printed: text, markdown, latex or csv"}),
		Action: actionWithArgs(1, 1, "one study", func(c *cli.Context, j *job) error {
			if err := texttable.CheckFormat(c.String("format")); err != nil {
				return withCode(exitUsage, fmt.Errorf("--format: %w", err))
			}
			p, err := recordedPlan(c, j)
			if err != nil {
				return err
			}
			if err := p.WriteReport(); err != nil {
				return err
			}
			return printReport(j, p, c.String("format"))
		}),
	}
}

// printReport prints the tables of a report and says where its files are.
func printReport(j *job, p *study.Plan, format string) error {
	r, err := p.Report()
	if err != nil {
		return err
	}
	if j.json {
		return writeJSON(j, r)
	}
	if err := r.Text(asTable(j.stdout, format), format); err != nil {
		return err
	}
	j.say("report: %s (%s)", filepath.Join(p.Dir, study.PageFile), strings.Join(r.Files(), ", "))
	return nil
}

// unique returns a list without repetitions.
func unique(list []string) []string {
	out := []string{}
	seen := map[string]bool{}
	for _, text := range list {
		if !seen[text] {
			seen[text] = true
			out = append(out, text)
		}
	}
	return out
}
