package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"hgld/internal/atomicfile"
	"hgld/internal/pipeline"
)

func initCommand() *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "start a project: a folder with a commented hgld.yaml", ArgsUsage: "DIR",
		Description: "  hgld init my-project                       create the folder and its hgld.yaml\n" +
			"  hgld init .                                in the current folder\n" +
			"  hgld init --images photos my-project       for images in class folders: photos/fruit/apple/1.jpg\n" +
			"  hgld init --images photos.csv --levels fine,coarse my-project",
		Flags:  append(imagesFlags(), &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print results only"}),
		Action: startProject,
	}
}

// startProject runs `hgld init`.
func startProject(c *cli.Context) error {
	if c.NArg() != 1 {
		return withHint(usagef("init takes one argument, the folder of the project"), "hgld init my-project")
	}
	dir := c.Args().First()
	if err := pipeline.CheckHome("init", dir); err != nil {
		return err
	}
	path := filepath.Join(dir, projectFile)
	if _, err := os.Stat(path); err == nil {
		return withHint(usagef("%s already exists and was not changed", path), "hgld status -C %s", word(dir))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	project, next := pipeline.NewProject{Head: commentedHead}, landmarksNext
	if c.String("images") != "" {
		own, err := imageProject(c, dir)
		if err != nil {
			return err
		}
		project, next = *own, "look through the settings"
	} else if slices.ContainsFunc(imagesFlags()[1:], func(f cli.Flag) bool { return c.IsSet(f.Names()[0]) }) {
		return usagef("--levels, --split-folders, --partial-labels, --na-values and -o describe the images of --images, " +
			"which is not given")
	}
	text, err := stages().Text(project)
	if err != nil {
		return err
	}
	if err := atomicfile.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := atomicfile.WriteFile(path, []byte(text)); err != nil {
		return err
	}
	enter := ""
	if filepath.Clean(dir) != "." {
		enter = fmt.Sprintf("  cd %-13s every command works in the project around it\n", dir)
	}
	_, err = fmt.Fprintf(c.App.Writer, initNext, path, next, enter)
	return err
}

const (
	initNext = `%s written.

Next: %s, then

%s  hgld status      what is there, and the next command
  hgld run         every stage in order
`
	landmarksNext = `put the category list of your landmarks beside it as categories.csv
(for GLDv2: train_label_to_category.csv, which hgld shards fetch gldv2 --tables fetches)`
)

const commentedHead = `# A project of hgld. Every setting is listed with its default; remove the # in
# front of those that you change. A dotted name is a key of a group: input.size is
# the key size of input. Flags override HGLD_* variables, which override this file:
# --k comes before HGLD_CLUSTER_K, and that before cluster.k. Paths are relative to
# this folder.
#   hgld config show --origin    all settings, and where each value comes from
#   hgld config check            check this file

hgld: 1                # format version

# threads on the CPU; 0: one for each processor
#threads: 0

# where to compute: auto (a GPU if one is usable), cpu, cuda, or cuda:N for GPU N
#device: auto
`
