package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/internal/texttable"
	"hgld/train/history"
	"hgld/train/recipe"
	"hgld/train/retrieval"
)

const trainRecipeExamples = "  hgld train recipe list                  the published runs, with the tables that " +
	"report them\n" +
	"  hgld train recipe show sop/happier      its row in the paper, where code and paper differ, what had to be " +
	"guessed\n" +
	"  hgld train recipe show --yaml sop/happier > hgld.yaml\n" +
	"  hgld train recipe tables V              a table of a paper with all its rows, also those that it quotes\n" +
	"  hgld train recipe run --data shards sop/happier\n" +
	"                                          train with it, and print the paper's row next to the result\n" +
	"  hgld train recipe --check               check that every recipe is valid"

func trainRecipeCommand() *cli.Command {
	cmd := group("recipe", "train with the settings of a published run, and compare with its numbers", trainRecipeExamples,
		&cli.Command{
			Name: "list", Usage: "list the published runs", ArgsUsage: "[DATA]",
			Description: "  hgld train recipe list\n  hgld train recipe list sop              of one data set",
			Flags:       commonFlags(), Action: action(listRecipes),
		},
		&cli.Command{
			Name: "show", Usage: "show a published run and its row in the paper", ArgsUsage: "NAME",
			Description: "  hgld train recipe show sop/happier\n" +
				"  hgld train recipe show --run runs/sop-happier sop/happier\n" +
				"                                          the result of a run next to the row\n" +
				"  hgld train recipe show --yaml sop/happier > hgld.yaml",
			Flags: append(commonFlags(),
				&cli.StringFlag{Name: "run", Usage: "run directory `DIR` to compare with the paper"},
				&cli.BoolFlag{Name: "yaml", Usage: "print the file, which is a complete hgld.yaml"}),
			Action: action(showRecipe),
		},
		&cli.Command{
			Name: "tables", Usage: "show the papers' tables, with the rows that they quote", ArgsUsage: "[TABLE]",
			Description: "  hgld train recipe tables                the tables\n" +
				"  hgld train recipe tables V              the rows of one",
			Flags: append(commonFlags(),
				&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT`: text, markdown, latex or csv"}),
			Action: actionWithArgs(0, 1, "one table", showTables),
		},
		recipeRunCommand())
	cmd.Flags = append(commonFlags(), &cli.BoolFlag{Name: "check", Usage: "check all recipes and their rows"})
	cmd.Action = func(c *cli.Context) error {
		if c.Bool("check") {
			return action(checkRecipes)(c)
		}
		return needsSubcommand(c)
	}
	return cmd
}

// recipeNamed is recipe.Get with the exit code and hint for an unknown name.
func recipeNamed(name string) (recipe.Recipe, error) {
	r, err := recipe.Get(name)
	return r, withHint(withCode(exitUsage, err), "hgld train recipe list lists them")
}

func listRecipes(c *cli.Context, j *job) error {
	list, err := recipe.All()
	if err != nil {
		return err
	}
	if len(j.args) > 0 {
		kept := list[:0]
		for _, r := range list {
			if strings.HasPrefix(r.Name, strings.TrimSuffix(j.args[0], "/")+"/") {
				kept = append(kept, r)
			}
		}
		if len(kept) == 0 {
			return withHint(usagef("there is no recipe for the data set %.80q", j.args[0]), "hgld train recipe list lists all")
		}
		list = kept
	}
	return j.show(list, recipe.ListText(list))
}

func showRecipe(c *cli.Context, j *job) error {
	if len(j.args) != 1 {
		return withHint(usagef("train recipe show takes one name; got %d", len(j.args)), "hgld train recipe list lists them")
	}
	r, err := recipeNamed(j.args[0])
	if err != nil {
		return err
	}
	if c.Bool("yaml") {
		j.print("%s", r.Text)
		return nil
	}
	var result *retrieval.Result
	if run := c.String("run"); run != "" {
		if result, err = readTestResult(run); err != nil {
			return err
		}
	}
	rows, err := recipe.Compare(r, result)
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
		recipe.Recipe
		Published []recipe.ComparedRow `json:"published"`
	}{r, rows}, r.Notes(run...)+recipe.RowsText(rows))
}

// showTables lists the published tables, or prints the rows of one.
func showTables(c *cli.Context, j *job) error {
	format := c.String("format")
	if err := texttable.CheckFormat(format); err != nil {
		return withCode(exitUsage, fmt.Errorf("--format: %w", err))
	}
	tables, err := recipe.Published()
	if err != nil {
		return err
	}
	if len(j.args) == 0 {
		return j.show(tables, recipe.TablesText(tables))
	}
	var names []string
	for _, t := range tables.Tables {
		if names = append(names, t.Name); t.Name != j.args[0] {
			continue
		}
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
		j.say("%s: %s", tables.Papers[t.Paper], strings.TrimSpace(t.About))
		return nil
	}
	err = withCode(exitUsage, registry.Unknown("table", j.args[0], names))
	return withHint(err, "hgld train recipe tables lists them")
}

// runNotes lists how a run differs from a recipe, which a reader must know to compare the
// numbers.
func runNotes(r recipe.Recipe, dir string) ([]string, error) {
	run, err := readPastRun(dir)
	if err != nil {
		return nil, err
	}
	published, err := recipeSettings(r)
	if err != nil {
		return nil, err
	}
	notes := []string{fmt.Sprintf("%s: %d queries, %d in the gallery", dir, run.Result.Queries, run.Result.Gallery)}
	for _, c := range recipe.Changes(published, run.Settings) {
		notes = append(notes, recipe.ChangeText(c))
	}
	return notes, nil
}

// recipeSettings returns the settings of a recipe: the defaults, overridden by its file.
func recipeSettings(r recipe.Recipe) (*trainSettings, error) {
	p, err := recipeProject(r)
	if err != nil {
		return nil, err
	}
	s := trainStage().Defaults()
	s.Out = filepath.Join("runs", strings.ReplaceAll(r.Name, "/", "-"))
	return s, p.LoadFile("train", s)
}

// checkRecipes resolves every recipe against the tables of backbones, losses,
// samplers, optimizers and metrics, and finds its rows.
func checkRecipes(c *cli.Context, j *job) error {
	list, err := recipe.All()
	if err != nil {
		return err
	}
	var failed []error
	for _, r := range list {
		s, err := recipeSettings(r)
		if err == nil {
			err = s.Config.Check(r.Classes...)
		}
		if err == nil {
			_, err = recipe.Compare(r, nil)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", r.Name, err))
		}
	}
	if len(failed) > 0 {
		return withCode(exitIntegrity, errors.Join(failed...))
	}
	return j.show(map[string]int{"recipes": len(list)},
		fmt.Sprintf("%d recipes: all settings and rows are known\n", len(list)))
}

// recipeRunCommand trains with a recipe in place of the defaults. hgld.yaml, the
// environment and flags override the recipe, and the command prints what they override.
func recipeRunCommand() *cli.Command {
	s := trainStage().Stage
	s.Command = "train recipe run"
	cmd := stageCommand(s, "run", "train with a recipe, and compare the result with the paper's row",
		"  hgld train recipe run --data shards sop/happier\n"+
			"  hgld train recipe run --data shards -o sampler.batch=64 --out runs/small sop/happier\n"+
			"  hgld train recipe run --data shards --seeds 3 sop/happier\n"+
			"                                          three runs, with mean and interval of each metric\n\n"+
			"What hgld.yaml says under train, the environment and flags override the recipe. The command prints\n"+
			"each setting that they change.")
	cmd.Flags, cmd.ArgsUsage = append(cmd.Flags, deviceFlag(), seedsFlag(), commandFlag()), "NAME"
	cmd.Action = action(func(c *cli.Context, j *job) error {
		if len(j.args) != 1 {
			return withHint(usagef("%s takes one recipe; got %d", s.Command, len(j.args)), "hgld train recipe list lists them")
		}
		r, err := recipeNamed(j.args[0])
		if err != nil {
			return err
		}
		return runRecipe(c, j, s, r)
	})
	return cmd
}

// runRecipe trains with a recipe and prints the paper's row next to the result.
func runRecipe(c *cli.Context, j *job, s pipeline.Stage, r recipe.Recipe) error {
	own, err := recipeSettings(r)
	if err != nil {
		return err
	}
	published, err := recipeSettings(r)
	if err != nil {
		return err
	}
	if err := j.project.Load(c, s.Name, own); err != nil {
		return err
	}
	recipe.Yield(published, own)
	j.say("recipe %s: %s", r.Name, r.About)
	changed := recipe.Changes(published, own)
	for _, c := range changed {
		j.say("  %s", recipe.ChangeText(c))
	}
	if n := c.Int("seeds"); n > 1 {
		return recipeSeeds(c, j, own, r, n)
	}
	if err := s.Execute(j, own); err != nil || j.json {
		return err
	}
	result, err := publishable(j, own.Out)
	if result == nil {
		return err
	}
	rows, err := recipe.Compare(r, result)
	if err != nil {
		return err
	}
	j.print("%s", recipe.RowsText(rows))
	j.say("the paper's images: %s; %d settings of this run differ from the recipe's", r.Data, len(changed))
	return nil
}

// publishable returns the result of a run on the test. Without one it says why nothing can be compared with
// the paper, and returns nil.
func publishable(j *job, run string) (*retrieval.Result, error) {
	if _, err := os.Stat(filepath.Join(run, history.EvaluationFile)); errors.Is(err, fs.ErrNotExist) {
		j.say("nothing was evaluated, so there is nothing to compare with the paper: name the test with train.query")
		return nil, nil
	}
	result, err := readEvaluation(run)
	if err == nil && result.On == "validation" {
		j.say("the result is on validation classes, but the paper reports a test, so they are not compared; " +
			"name the test with train.query")
		return nil, nil
	}
	return result, err
}

// recipeSeeds trains a recipe with several seeds, and prints the paper's row next to the results.
func recipeSeeds(c *cli.Context, j *job, own *trainSettings, r recipe.Recipe, n int) error {
	if err := trainSeeds(c, own, n); err != nil || j.json {
		return err
	}
	var names []string
	var results []*retrieval.Result
	for _, of := range own.Seeded(n) {
		result, err := publishable(j, of.Out)
		if result == nil {
			return err
		}
		names, results = append(names, fmt.Sprintf("seed %d", of.Seed)), append(results, result)
	}
	tables, err := recipe.ComparePaper(r, names, results)
	if err != nil {
		return err
	}
	for _, t := range tables {
		j.print("\n")
		if err := (history.Compared{Comparison: t}).Write(j.stdout, "text"); err != nil {
			return err
		}
	}
	return nil
}

// recipeProject reads a recipe's file as a project.
func recipeProject(r recipe.Recipe) (*pipeline.Project, error) {
	return stages().Parse(r.Name+".yaml", r.Text)
}

// readTestResult reads the test result of a run. It returns an error if the run was only evaluated
// on validation classes.
func readTestResult(run string) (*retrieval.Result, error) {
	result, err := readEvaluation(run)
	if err == nil && result.On == "validation" {
		err = withHint(usagef("%s of %s is on the validation classes, but the paper's numbers are on the test",
			history.EvaluationFile, run),
			"name the test with train.query to evaluate it when the run is complete, or evaluate it now with hgld eval run")
	}
	return result, err
}

// readEvaluation reads the last evaluation of a run.
func readEvaluation(run string) (*retrieval.Result, error) {
	path := filepath.Join(run, history.EvaluationFile)
	r, err := history.ReadResult(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, withHint(usagef("%s has no %s: the run was not evaluated", run, history.EvaluationFile),
			"hgld train run evaluates at the end if train.query or train.hold_out names the queries")
	}
	return r, err
}
