package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"hgld/internal/atomicfile"
	"hgld/internal/pipeline"
	"hgld/internal/terminal"
	"hgld/labels"
	"hgld/shards"
	"hgld/shards/dataset"
)

// shardsFolder returns the folder of shards to inspect: the argument if there is one,
// otherwise the project's.
func shardsFolder(j *job) (string, error) {
	if len(j.args) == 1 {
		return j.args[0], nil
	}
	if len(j.args) > 1 {
		return "", usagef("want at most one folder of shards; got %d", len(j.args))
	}
	s, err := shardsStage().Load(j.project, nil)
	return s.Out, err
}

func shardsShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "list files and rows, and the classes of each level with their images", ArgsUsage: "[FOLDER]",
		Description: "  hgld shards show                 the project's shards\n" +
			"  hgld shards show --json other    MANIFEST.json without the hashes",
		Flags: append(commonFlags(), &cli.IntFlag{Name: "limit",
			Usage: "print the first `N` classes of a level (0: all)", Value: 10}),
		Action: action(func(c *cli.Context, j *job) error {
			dir, err := shardsFolder(j)
			if err != nil {
				return err
			}
			m, err := shards.ReadManifest(j.ctx, dir)
			if err != nil {
				return shardsError(err)
			}
			return j.show(m.Summary(), m.Text(j.limit, "--limit 0 prints all"))
		}),
	}
}

func shardsCatCommand() *cli.Command {
	return &cli.Command{
		Name: "cat", Usage: "print rows as JSON lines without the images, or write one image to a file",
		ArgsUsage: "[FOLDER]",
		Description: "  hgld shards cat --split train                           all rows of a split\n" +
			"  hgld shards cat --split test --row 17 --count 3         three rows\n" +
			"  hgld shards cat --split test --row 17 --out 17.jpg      the image of a row\n" +
			"  hgld shards cat --id 75b4b5c0de1d9cb8                    the row of an image, of any split",
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "split", Usage: "`SPLIT` to read; default: the only one"},
			&cli.StringFlag{Name: "id", Usage: "the row of the image with this `ID`, or with --out its image"},
			&cli.IntFlag{Name: "row", Usage: "the `N`th row, counted from 0"},
			&cli.IntFlag{Name: "count", Usage: "print `N` rows (default: 1 with --row, all without)"},
			&cli.StringFlag{Name: "out", Usage: "write the image of --row or --id to this `FILE`"},
			replaceFlag(),
		),
		Action: action(func(c *cli.Context, j *job) error {
			return shardsError(runShardsCat(c, j))
		}),
	}
}

func runShardsCat(c *cli.Context, j *job) (err error) {
	dir, err := shardsFolder(j)
	if err != nil {
		return err
	}
	set, err := shards.Open(j.ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	if c.IsSet("id") {
		return catImage(c, j, set)
	}
	split := labels.Split(c.String("split"))
	if splits := set.Manifest().Splits(); split == "" && len(splits) == 1 {
		split = splits[0]
	} else if split == "" {
		return usagef("name the split: --split, one of %v", splits)
	}
	view, err := set.Split(split)
	if err != nil {
		return withCode(exitUsage, err)
	}
	if c.IsSet("out") {
		if !c.IsSet("row") || c.IsSet("count") {
			return usagef("--out writes the image of one row: name it with --row or --id, without --count")
		}
		return writeImage(j, view, c.Int("row"), c.String("out"))
	}
	from, n := c.Int("row"), view.Len()
	if c.IsSet("row") {
		n = 1
	}
	if c.IsSet("count") {
		n = c.Int("count")
	}
	if from < 0 || n < 0 || from > view.Len() || c.IsSet("row") && from == view.Len() {
		return usagef("--row is %d, but split %s has rows 0 to %d", from, split, view.Len()-1)
	}
	var rows []int
	for i := from; i < min(from+n, view.Len()); i++ {
		rows = append(rows, i)
	}
	if len(rows) == 0 {
		return nil
	}
	return printRows(j, view.Filter(rows), set.Manifest().Landmarks)
}

// catImage prints the row of the image with an id, in the given split or any, or writes the image.
func catImage(c *cli.Context, j *job, set *shards.Set) error {
	id := c.String("id")
	for _, other := range []string{"row", "count"} {
		if c.IsSet(other) {
			return usagef("--id and --%s exclude each other", other)
		}
	}
	if _, ok := shards.ParseImageID(id); !ok {
		return usagef("--id is %.80q; want 16 hexadecimal digits, as `hgld shards cat` prints them", id)
	}
	splits := set.Manifest().Splits()
	if split := labels.Split(c.String("split")); split != "" {
		splits = []labels.Split{split}
	}
	for _, split := range splits {
		view, err := set.Split(split)
		if err != nil {
			return withCode(exitUsage, err)
		}
		for i := range view.Len() {
			if view.ID(i) != id {
				continue
			}
			if c.IsSet("out") {
				return writeImage(j, view, i, c.String("out"))
			}
			return printRows(j, view.Filter([]int{i}), set.Manifest().Landmarks)
		}
	}
	return usagef("no image has the id %s in %v", id, splits)
}

func writeImage(j *job, view *shards.View, row int, out string) error {
	if row < 0 || row >= view.Len() {
		return usagef("--row is %d, but the split has rows 0 to %d", row, view.Len()-1)
	}
	if err := j.checkOutputs("shards cat", nil, pipeline.Output{Path: out, Kind: kindForeign}); err != nil {
		return err
	}
	data, err := view.Image(j.ctx, row)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(out, data); err != nil {
		return err
	}
	j.log("image %s, %s, written to %s", view.ID(row), shards.FormatSize(int64(len(data))), out)
	return nil
}

func printRows(j *job, view *shards.View, landmarks bool) error {
	enc := json.NewEncoder(j.stdout)
	enc.SetEscapeHTML(false)
	for row, err := range view.Rows(j.ctx, false) {
		if err != nil || j.unread() {
			return err
		}
		if err := enc.Encode(view.Describe(row, landmarks)); err != nil {
			return err
		}
	}
	return nil
}

func shardsCheckCommand() *cli.Command {
	return &cli.Command{
		Name: "check", ArgsUsage: "[FOLDER]",
		Usage: "compare every file and image with its hash; exit code 4 if one differs or cannot be read",
		Description: "  hgld shards check                      everything\n" +
			"  hgld shards check --slice 2/7          every seventh shard, for example one slice per weekday\n" +
			"  hgld shards check --repair             rebuild companion files: .idx, STATS.json …",
		Flags: append(commonFlags(),
			sliceFlag(""),
			&cli.BoolFlag{Name: "repair", Usage: "rebuild missing or damaged companion files from the shards"},
		),
		Action: action(func(c *cli.Context, j *job) error {
			return runShardsCheck(c, j)
		}),
	}
}

func runShardsCheck(c *cli.Context, j *job) error {
	dir, err := shardsFolder(j)
	if err != nil {
		return err
	}
	part, err := sliceOf(c)
	if err != nil {
		return err
	}
	o := shards.VerifyOptions{Slice: part.n, Of: part.of}
	v, err := verifyShards(j, dir, o)
	if err == nil && c.Bool("repair") && len(v.Damage) > 0 {
		if err := repairShards(j, dir, v.Damage); err != nil {
			return err
		}
		v, err = verifyShards(j, dir, o)
	}
	if err != nil {
		return err
	}
	if err := j.show(v, v.Text()); err != nil {
		return err
	}
	if len(v.Damage) == 0 {
		return nil
	}
	return withHint(withCode(exitIntegrity, fmt.Errorf("shards check: %s is damaged", dir)),
		"`hgld shards build` with the same inputs rebuilds the damaged shards and keeps the others")
}

func verifyShards(j *job, dir string, o shards.VerifyOptions) (*shards.Verified, error) {
	j.log("checking %s", dir)
	var bar *terminal.Progress
	o.Progress = func(done, total int, shard string) {
		if bar == nil {
			bar = j.progress("shards", total)
		}
		bar.Set(done, shard)
	}
	v, err := shards.Verify(j.ctx, dir, o)
	if bar != nil {
		bar.End()
	}
	if errors.Is(err, os.ErrNotExist) {
		if dataset.FirstImage(dir) != "" {
			return nil, withHint(err, "%s", buildFirst(dir))
		}
		return nil, withHint(err, "`hgld shards build` writes a data set")
	}
	return v, err
}

func repairShards(j *job, dir string, damage []*shards.DamageError) error {
	var files []string
	for _, d := range damage {
		files = append(files, d.File)
	}
	fixed, err := shards.Repair(j.ctx, dir, writeTaxonomy, files...)
	for _, name := range fixed {
		j.print("%s rebuilt\n", name)
	}
	return shardsError(err)
}
