package main

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"hgld/shards"
)

func shardsCardCommand() *cli.Command {
	return &cli.Command{
		Name: "card", Usage: "write README.md for the Hub, croissant.json and labels.parquet beside finished shards",
		ArgsUsage: "[FOLDER]",
		Description: "  hgld shards card --title 'My landmarks' --license cc-by-4.0\n" +
			"  hgld shards card --replace other          overwrite README.md",
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "title", Usage: "name of the data set (default: the name of the folder)"},
			&cli.StringFlag{Name: "description", Usage: "describe the data set in a sentence or more"},
			&cli.StringFlag{Name: "license",
				Usage: "licence of the data set, by its name on the Hub, such as cc-by-4.0 (default: other)"},
			&cli.StringFlag{Name: "url", Usage: "URL where the data set is published"},
			&cli.StringFlag{Name: "citation", Usage: "how to cite the data set"},
			replaceFlag(),
		),
		Action: action(func(c *cli.Context, j *job) error {
			dir, err := shardsFolder(j)
			if err != nil {
				return err
			}
			if there, err := filepath.Glob(filepath.Join(dir, shards.CardFile)); err == nil && len(there) > 0 &&
				!j.replace {
				return withHint(usagef("%s exists and may have been edited", there[0]), "--replace overwrites it")
			}
			err = shards.WriteCard(j.ctx, dir, shards.Card{Title: c.String("title"), Description: c.String("description"),
				License: c.String("license"), URL: c.String("url"), Citation: c.String("citation")})
			if errors.Is(err, fs.ErrNotExist) {
				return withHint(err, "`hgld shards build` writes a data set")
			}
			if err != nil {
				return shardsError(err)
			}
			j.print("%s, %s and %s written to %s\n", shards.CardFile, shards.CroissantFile, shards.LabelsFile, dir)
			return nil
		}),
	}
}
