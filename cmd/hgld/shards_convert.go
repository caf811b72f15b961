package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/objectstore/address"
	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/internal/terminal"
	"hgld/shards"
)

func shardsConvertCommand() *cli.Command {
	return &cli.Command{
		Name: "convert", Usage: "write finished shards in another format", ArgsUsage: "[FOLDER]",
		Description: "  hgld shards convert --to webdataset --out tars          TAR files, for the webdataset library\n" +
			"  hgld shards convert --to webdataset --out tars other    shards of a folder, or of " + address.Form,
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "to", Usage: "`FORMAT`: webdataset"},
			&cli.StringFlag{Name: "out", Usage: "`FOLDER` to write"},
			&cli.StringFlag{Name: "shard-size", Usage: "maximum `SIZE` of the images of a TAR file, such as 500MB", Value: "1GB"},
			&cli.IntFlag{Name: "images-per-shard", Usage: "images of a TAR file, at most `N`; 0: limited by --shard-size"},
		),
		Action: action(func(c *cli.Context, j *job) error { return shardsError(runShardsConvert(c, j)) }),
	}
}

func runShardsConvert(c *cli.Context, j *job) (err error) {
	to, out := c.String("to"), c.String("out")
	switch {
	case to == "":
		return withHint(usagef("shards convert: --to FORMAT is missing"), "--to webdataset")
	case to != "webdataset":
		return withCode(exitUsage, registry.Unknown("format", to, []string{"webdataset"}))
	case out == "":
		return usagef("shards convert: --out is missing; want the folder to write")
	}
	o := shards.WebDatasetOptions{Tool: "hgld " + version, ImagesPerShard: c.Int("images-per-shard")}
	if o.ShardBytes, err = shards.ParseSize(c.String("shard-size")); err != nil {
		return usagef("--shard-size: %w", err)
	}
	dir, err := shardsFolder(j)
	if err != nil {
		return err
	}
	err = j.checkOutputs("shards convert", []string{dir}, pipeline.Output{Path: out, Kind: kindWebDataset})
	if err != nil {
		return err
	}
	set, err := shards.Open(j.ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return withHint(err, "`hgld shards build` writes a data set")
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	var bar *terminal.Progress
	o.Progress = func(done, total int, file string) {
		if bar == nil {
			bar = j.progress("images", total)
		}
		bar.Set(done, file)
	}
	made, err := set.WriteWebDataset(j.ctx, out, o)
	if bar != nil {
		bar.End()
	}
	if err != nil {
		return err
	}
	return printConverted(j, made, out)
}

// printConverted prints the files by split, and the command that reads them.
func printConverted(j *job, d *shards.WebDataset, out string) error {
	var text strings.Builder
	for i := 0; i < len(d.Files); {
		split, rows, files, bytes := d.Files[i].Split, 0, 0, int64(0)
		for ; i < len(d.Files) && d.Files[i].Split == split; i++ {
			rows, files, bytes = rows+d.Files[i].Rows, files+1, bytes+d.Files[i].Bytes
		}
		fmt.Fprintf(&text, "%s: %s in %s, %s\n", split, count(rows, "image"), count(files, "TAR file"),
			shards.FormatSize(bytes))
	}
	fmt.Fprintf(&text, "%s written\n", out)
	if err := j.show(d, text.String()); err != nil {
		return err
	}
	partial := ""
	if d.Partial {
		partial = " --partial-labels keep"
	}
	j.log("`hgld shards build --dataset webdataset --input %s --hierarchy %s --short-side 0%s --out FOLDER` reads them",
		word(out), word(filepath.Join(out, shards.HierarchyFile)), partial)
	return nil
}
