package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/atomicfile"
	"hgld/internal/settings"
)

func initCommand() *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "start a project: a folder with a commented hgld.yaml", ArgsUsage: "DIR",
		Description: "  hgld init my-project        makes the folder and its hgld.yaml\n" +
			"  hgld init .                 in the current folder",
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return withHint(usagef("init takes one folder"), "hgld init my-project")
			}
			dir := c.Args().First()
			path := filepath.Join(dir, projectFile)
			if _, err := os.Stat(path); err == nil {
				return withHint(usagef("%s exists already and stays as it is", path), "hgld status -C %s", dir)
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err := atomicfile.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			text, err := commented()
			if err != nil {
				return err
			}
			if err := atomicfile.WriteFile(path, []byte(text)); err != nil {
				return err
			}
			enter := ""
			if filepath.Clean(dir) != "." {
				enter = fmt.Sprintf("  cd %-13s every command works in the project around it\n", dir)
			}
			_, err = fmt.Fprintf(c.App.Writer, initNext, path, enter)
			return err
		},
	}
}

const initNext = `%s written.

Next: put the category list of your landmarks beside it as categories.csv
(for GLDv2: train_label_to_category.csv), then

%s  hgld status      what is there, and the next command
  hgld run         every stage in order
`

// commented returns a hgld.yaml that lists every setting with its default, commented
// out: a project holds only what it changes.
func commented() (string, error) {
	var b strings.Builder
	b.WriteString(commentedHead)
	for _, s := range sections() {
		fmt.Fprintf(&b, "\n%s:                # hgld %s\n", s.Name, s.Command)
		for _, f := range settings.Fields(s.Settings()) {
			line, err := f.Commented()
			if err != nil {
				return "", err
			}
			fmt.Fprintln(&b, line)
		}
	}
	return b.String(), nil
}

const commentedHead = `# A project of hgld. Every setting is listed with its default; remove the # in
# front of those that you change. Each line stands for itself: input.size is the
# key size of the group input. A flag beats a HGLD_* variable beats this file:
# --k beats HGLD_CLUSTER_K beats cluster.k. Files are relative to this folder.
#   hgld config show --origin    what is in force, and why
#   hgld config check            is this file right?

hgld: 1                # format version

# what computes: auto (a card where one is usable), cpu, cuda, or cuda:N for card N
# device: auto
`
