package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"hgld/internal/atomicfile"
	"hgld/internal/pipeline"
)

func initCommand() *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "start a project: a folder with a commented hgld.yaml", ArgsUsage: "DIR",
		Description: "  hgld init my-project                       makes the folder and its hgld.yaml\n" +
			"  hgld init .                                in the current folder\n" +
			"  hgld init --images photos my-project       images in class folders: photos/fruit/apple/1.jpg\n" +
			"  hgld init --images photos.csv --levels fine,coarse my-project",
		Flags:  append(imagesFlags(), &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print results only"}),
		Action: startProject,
	}
}

// startProject runs `hgld init`.
func startProject(c *cli.Context) error {
	if c.NArg() != 1 {
		return withHint(usagef("init takes one folder, the project's, after its flags"), "hgld init my-project")
	}
	dir := c.Args().First()
	path := filepath.Join(dir, projectFile)
	if _, err := os.Stat(path); err == nil {
		return withHint(usagef("%s exists already and stays as it is", path), "hgld status -C %s", dir)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	project, next := pipeline.NewProject{Head: commentedHead}, landmarksNext
	if c.String("images") != "" {
		own, err := imageProject(c, dir)
		if err != nil {
			return err
		}
		project, next = *own, "look through its settings"
	} else if c.IsSet("levels") || c.IsSet("split-folders") || c.IsSet("uneven") {
		return usagef("--levels, --split-folders and --uneven need --images, the folder or table that they describe")
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
(for GLDv2: train_label_to_category.csv)`
)

const commentedHead = `# A project of hgld. Every setting is listed with its default; remove the # in
# front of those that you change. Each line stands for itself: input.size is the
# key size of the group input. A flag beats a HGLD_* variable beats this file:
# --k beats HGLD_CLUSTER_K beats cluster.k. Files are relative to this folder.
#   hgld config show --origin    what is in force, and why
#   hgld config check            is this file right?

hgld: 1                # format version

# what computes: auto (a card where one is usable), cpu, cuda, or cuda:N for card N
#device: auto
`
