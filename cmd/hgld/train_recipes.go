package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/registry"
	"hgld/internal/settings"
	"hgld/internal/texttable"
	"hgld/train/experiment/plan"
	"hgld/train/experiment/report"
	"hgld/train/experiment/runs"
	"hgld/train/retrieval"
)

func trainRecipesCommand() *cli.Command {
	return &cli.Command{
		Name: "recipes", Usage: "list the published runs and the papers' tables, or show one", ArgsUsage: "[NAME|TABLE]",
		Description: "  hgld train recipes                      the published runs, and the papers' tables\n" +
			"  hgld train recipes sop                  the runs on one data set\n" +
			"  hgld train recipes sop/happier          its row in the paper, where code and paper differ, what was guessed\n" +
			"  hgld train recipes --run runs/sop-happier sop/happier\n" +
			"                                          the result of a run next to the row\n" +
			"  hgld train recipes --yaml sop/happier > hgld.yaml\n" +
			"  hgld train recipes V                    a table of a paper with all its rows, also quoted ones\n" +
			"  hgld train run --config sop/happier --data shards\n" +
			"                                          train with it, and print the paper's row next to the result",
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "run", Usage: "run directory `DIR` to compare with the paper"},
			&cli.BoolFlag{Name: "yaml", Usage: "print the file of a recipe, a complete hgld.yaml"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` of a table: text, markdown, latex or csv"}),
		Action: actionWithArgs(0, 1, "one recipe or table", showRecipes),
	}
}

// recipesHint is the advice on a name of no recipe.
const recipesHint = "hgld train recipes lists them"

// showRecipes lists recipes and tables, or shows the one that the argument names.
func showRecipes(c *cli.Context, j *job) error {
	if err := texttable.CheckFormat(c.String("format")); err != nil {
		return withCode(exitUsage, fmt.Errorf("--format: %w", err))
	}
	list, err := plan.Recipes()
	if err != nil {
		return err
	}
	tables, err := plan.Published()
	if err != nil {
		return err
	}
	if len(j.args) == 0 {
		return j.show(map[string]any{"recipes": list, "tables": tables.Tables},
			plan.ListText(list)+"\n"+plan.TablesText(tables))
	}
	var names []string
	var set []plan.Recipe // on a data set
	for _, r := range list {
		if r.Name == j.args[0] {
			return showRecipe(c, j, r)
		}
		if strings.HasPrefix(r.Name, strings.TrimSuffix(j.args[0], "/")+"/") {
			set = append(set, r)
		}
		names = append(names, r.Name)
	}
	for _, t := range tables.Tables {
		if t.Name == j.args[0] {
			return showTable(j, t, tables.Papers[t.Paper], c.String("format"))
		}
		names = append(names, t.Name)
	}
	if len(set) > 0 {
		return j.show(set, plan.ListText(set))
	}
	return withHint(withCode(exitUsage, registry.Unknown("recipe or table", j.args[0], names)), recipesHint)
}

// showRecipe prints a recipe and its rows, next to the result of --run.
func showRecipe(c *cli.Context, j *job, r plan.Recipe) error {
	if c.Bool("yaml") {
		j.print("%s", r.Text)
		return nil
	}
	var result *retrieval.Result
	var err error
	if run := c.String("run"); run != "" {
		if result, err = readTestResult(run); err != nil {
			return err
		}
	}
	rows, err := report.PaperRows(r, result)
	if err != nil {
		return err
	}
	var run []string
	if dir := c.String("run"); dir != "" && !j.json {
		if run, err = runNotes(r, dir); err != nil {
			return err
		}
	}
	return j.show(struct {
		plan.Recipe
		Published []report.ComparedRow `json:"published"`
	}{r, rows}, r.Notes(run...)+report.RowsText(rows))
}

// showTable prints the rows of a published table.
func showTable(j *job, t plan.PublishedTable, paper, format string) error {
	if j.json {
		return writeJSON(j, t)
	}
	for i, part := range t.Text() {
		if i > 0 {
			j.print("\n")
		}
		if err := part.Write(asTable(j.stdout, format), format); err != nil {
			return err
		}
	}
	j.log("%s: %s", paper, strings.TrimSpace(t.About))
	return nil
}

// runNotes lists how a run differs from a recipe, which a reader must know to compare the
// numbers.
func runNotes(r plan.Recipe, dir string) ([]string, error) {
	run, err := readPastRun(dir)
	if err != nil {
		return nil, err
	}
	published, err := recipeSettings(r)
	if err != nil {
		return nil, err
	}
	notes := []string{fmt.Sprintf("%s: %d queries, %d in the gallery", dir, run.Result.Queries, run.Result.Gallery)}
	for _, c := range plan.Changes(published, run.Settings) {
		notes = append(notes, plan.ChangeText(c))
	}
	return notes, nil
}

// recipeSettings returns the settings of a recipe: the defaults, overridden by its file.
func recipeSettings(r plan.Recipe) (*trainSettings, error) {
	p, err := stages().Parse(r.Name+".yaml", r.Text)
	if err != nil {
		return nil, err
	}
	s := trainStage().Defaults()
	s.Out = filepath.Join("runs", strings.ReplaceAll(r.Name, "/", "-"))
	return s, p.LoadFile("train", s)
}

// loadTrain fills s from --config, if given, and then from the usual sources. --config names a file, which stands for
// hgld.yaml, or a recipe, which stands for the defaults. It returns what was published of the recipe, or nil.
func loadTrain(line settings.Flags, j *job, s *trainSettings) (*publishedRun, error) {
	path := line.String("config")
	if path == "" {
		return nil, j.project.Load(line, "train", s)
	}
	r, unknown := plan.GetRecipe(path)
	if info, err := os.Stat(path); err == nil && (!info.IsDir() || unknown != nil) || filepath.Ext(path) != "" {
		if err := j.project.UseFile("train", path, s); err != nil {
			return nil, err
		}
		return nil, j.project.Load(line, "train", s)
	}
	if unknown != nil {
		return nil, withHint(withCode(exitUsage, unknown), "--config names a file or a recipe; "+recipesHint)
	}
	published, err := recipeSettings(r)
	if err != nil {
		return nil, err
	}
	own, err := recipeSettings(r)
	if err != nil {
		return nil, err
	}
	*s = *own
	if err := j.project.Load(line, "train", s); err != nil {
		return nil, err
	}
	plan.Yield(published, s)
	j.log("recipe %s: %s", r.Name, r.About)
	of := &publishedRun{r, plan.Changes(published, s)}
	for _, c := range of.changed {
		j.log("  %s", plan.ChangeText(c))
	}
	return of, nil
}

// publishedRun is the recipe of a run.
type publishedRun struct {
	plan.Recipe
	changed []runs.Change // what the run changes
}

// compare prints the paper's row next to the result of a run.
func (r *publishedRun) compare(j *job, run string) error {
	result, err := publishable(j, run)
	if result == nil {
		return err
	}
	rows, err := report.PaperRows(r.Recipe, result)
	if err != nil {
		return err
	}
	j.print("%s", report.RowsText(rows))
	j.log("the paper's images: %s; %d settings of this run differ from the recipe's", r.Data, len(r.changed))
	return nil
}

// compareSeeds prints the paper's row next to the results of runs with several seeds.
func (r *publishedRun) compareSeeds(j *job, own []trainSettings) error {
	var names []string
	var results []*retrieval.Result
	for _, of := range own {
		result, err := publishable(j, of.Out)
		if result == nil {
			return err
		}
		names, results = append(names, fmt.Sprintf("seed %d", of.Seed)), append(results, result)
	}
	tables, err := report.ComparePaper(r.Recipe, names, results)
	if err != nil {
		return err
	}
	for _, t := range tables {
		j.print("\n")
		if err := (report.Compared{Comparison: t}).Write(j.stdout, "text"); err != nil {
			return err
		}
	}
	return nil
}

// publishable returns the result of a run on the test. Without one it says why nothing can be compared with
// the paper, and returns nil.
func publishable(j *job, run string) (*retrieval.Result, error) {
	if _, err := os.Stat(filepath.Join(run, runs.EvaluationFile)); errors.Is(err, fs.ErrNotExist) {
		j.log("nothing was evaluated, so there is nothing to compare with the paper: name the test with train.query")
		return nil, nil
	}
	result, err := readEvaluation(run)
	if err == nil && result.On == "validation" {
		j.log("the result is on validation classes, but the paper reports a test, so they are not compared; " +
			"name the test with train.query")
		return nil, nil
	}
	return result, err
}

// readTestResult reads the test result of a run. It returns an error if the run was only evaluated
// on validation classes.
func readTestResult(run string) (*retrieval.Result, error) {
	result, err := readEvaluation(run)
	if err == nil && result.On == "validation" {
		err = withHint(usagef("%s of %s is on the validation classes, but the paper's numbers are on the test",
			runs.EvaluationFile, run),
			"name the test with train.query to evaluate it when the run is complete, or evaluate it now with hgld eval run")
	}
	return result, err
}

// readEvaluation reads the last evaluation of a run.
func readEvaluation(run string) (*retrieval.Result, error) {
	path := filepath.Join(run, runs.EvaluationFile)
	r, err := runs.ReadResult(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, withHint(usagef("%s has no %s: the run was not evaluated", run, runs.EvaluationFile),
			"hgld train run evaluates at the end if train.query or train.hold_out names the queries")
	}
	return r, err
}
