package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/texttable"
	"hgld/train/experiment/plan"
	"hgld/train/experiment/report"
)

const studyExamples = "  hgld study list                         the studies that hgld contains\n" +
	"  hgld study list alpha                   what a study asks, needs and varies\n" +
	"  hgld study run alpha                    train its runs, and write studies/alpha/report.html\n" +
	"  hgld study run --dry-run alpha          how far its runs are, and which inputs are missing\n" +
	"  hgld study run --small --steps 20 --data shards rank-losses/table-5\n" +
	"                                          a small form of a paper's table on your own shards\n" +
	"  hgld study run my-study.yaml            your own study: hgld study list --yaml demo > my-study.yaml\n" +
	"  sbatch --array=1-8 --wrap 'hgld study run --slice auto/8 alpha'"

func studyCommand() *cli.Command {
	return group("study", "many training runs and one report: a paper's table, or an ablation", studyExamples,
		studyListCommand(), studyRunCommand(), studyReportCommand())
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
func scaleOf(c *cli.Context, j *job) (plan.Scale, error) {
	s := plan.Scale{Small: c.Bool("small"), Limit: c.Int("limit"), Seeds: c.Int("seeds")}
	if data := c.String("data"); data != "" {
		s.Set = append(s.Set, "data="+data)
	}
	if c.IsSet("steps") {
		if c.Int("steps") < 1 {
			return s, usagef("--steps is %d; want 1 or more", c.Int("steps"))
		}
		s.Set = append(s.Set, fmt.Sprintf("steps=%d", c.Int("steps")))
	}
	s.Set = append(s.Set, j.project.Assignments(c)...)
	return s, withCode(exitUsage, s.Check())
}

// studyNamed is plan.GetStudy with the exit code and hint for an unknown name.
func studyNamed(name string) (*plan.Study, error) {
	s, err := plan.GetStudy(name)
	if err != nil {
		err = withHint(withCode(exitUsage, err), "hgld study list lists them; a name ending in .yaml is a file")
	}
	return s, err
}

// studyPlan makes the plan of the study that the first argument names.
func studyPlan(c *cli.Context, j *job, scale plan.Scale) (*plan.Plan, error) {
	s, err := studyNamed(j.args[0])
	if err != nil {
		return nil, err
	}
	return s.Make(studyFolder(c, j, s), scale, j.project.Join)
}

// studyFolder returns the folder of a study.
func studyFolder(c *cli.Context, j *job, s *plan.Study) string {
	if out := c.String("out"); out != "" {
		return out
	}
	return j.project.Join(filepath.Join("studies", filepath.FromSlash(s.Name)))
}

// recordedPlan makes the plan that was last run. begun is false if there is none.
func recordedPlan(c *cli.Context, j *job) (p *plan.Plan, begun bool, err error) {
	s, err := studyNamed(j.args[0])
	if err != nil {
		return nil, false, err
	}
	scale, begun, err := plan.Recorded(studyFolder(c, j, s))
	if err == nil && begun {
		p, err = s.Make(studyFolder(c, j, s), scale, j.project.Join)
	}
	return p, begun, err
}

func studyListCommand() *cli.Command {
	return &cli.Command{Name: "list", Usage: "list the studies, or show what one asks, needs and varies",
		ArgsUsage:   "[NAME]",
		Description: "  hgld study list\n  hgld study list alpha\n  hgld study list --yaml alpha > mine.yaml",
		Flags:       append(commonFlags(), &cli.BoolFlag{Name: "yaml", Usage: "print the file of the study"}),
		Action: actionWithArgs(0, 1, "one study", func(c *cli.Context, j *job) error {
			if len(j.args) == 0 {
				return listStudies(j)
			}
			p, err := studyPlan(c, j, plan.Scale{})
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

// listStudies prints the studies of hgld.
func listStudies(j *job) error {
	list, err := plan.Studies()
	if err != nil {
		return err
	}
	rows := [][]string{{"study", "runs", "title"}}
	for _, s := range list {
		p, err := s.Make("", plan.Scale{}, j.project.Join)
		if err != nil {
			return err
		}
		rows = append(rows, []string{s.Name, fmt.Sprint(len(p.Runs)), s.Title})
	}
	return j.show(list, texttable.Format("%-24s %5s  %s", rows...))
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
			p, begun, err := recordedPlan(c, j)
			if err != nil {
				return err
			}
			if !begun {
				return withHint(usagef("the study %s has not begun: its folder has no %s", j.args[0], plan.File),
					"hgld study run %s begins it; --out names another folder", word(j.args[0]))
			}
			if err := report.WriteOf(p, j.pictures); err != nil {
				return err
			}
			return printReport(j, p, c.String("format"))
		}),
	}
}

// printReport prints the tables of a report and the names of its files.
func printReport(j *job, p *plan.Plan, format string) error {
	r, err := report.Of(p, j.pictures)
	if err != nil {
		return err
	}
	if j.json {
		return writeJSON(j, r)
	}
	if err := r.Text(asTable(j.stdout, format), format); err != nil {
		return err
	}
	j.log("report: %s (%s)", filepath.Join(p.Dir, report.PageFile), strings.Join(r.Files(), ", "))
	return nil
}

// studyAdvice has the exit codes and next steps for errors of a study.
var studyAdvice = []advice{
	kind(exitIntegrity, func(*plan.FormatError) string {
		return "restore the file; or delete it: hgld study run then writes it again and keeps the runs"
	}),
	kind(exitUsage, func(*plan.MismatchError) string {
		return "repeat the flags of its first command, or name another folder for this study: hgld study run --out DIR"
	}),
	kind(exitIntegrity, func(*plan.InputError) string {
		return "restore it, or start the study in another folder: hgld study run --out DIR"
	}),
	kind(exitIntegrity, func(*plan.RunError) string {
		return "restore the run; or delete its directory: hgld study run then trains it again"
	}),
}
