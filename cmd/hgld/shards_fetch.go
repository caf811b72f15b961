package main

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/urfave/cli/v2"

	"hgld/internal/download"
	"hgld/internal/objectstore/address"
	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/internal/settings"
	"hgld/labels"
	"hgld/shards"
	"hgld/shards/dataset"
)

const shardsFetchExamples = "  hgld shards fetch gldv2                      tables and TARs, 600 GB, into gldv2/\n" +
	"  hgld shards fetch gldv2 --tables             the pages and labels of landmarks alone, some 50 MB\n" +
	"  hgld shards fetch gldv2 --slice 2/4          every fourth file, on one of four machines\n" +
	"  hgld shards fetch --limit 1 --disk 5GB gldv2 a trial of one TAR of each split\n" +
	"  hgld shards fetch --from http://mirror/google-landmark gldv2\n\n" +
	"  Each TAR is compared with its published MD5 sum as it arrives. Existing files are kept. After a stop, run\n" +
	"  the same command again; it resumes in the middle of a file. hgld shards build --dataset gldv2 reads the\n" +
	"  TARs as they are."

func shardsFetchCommand() *cli.Command {
	return &cli.Command{
		Name: "fetch", Usage: "fetch the files of a published data set: gldv2", ArgsUsage: "gldv2",
		Description: shardsFetchExamples,
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "from", Value: dataset.GLDv2Address, Usage: "`URL` of the folder with metadata, md5sum, train …"},
			&cli.StringFlag{Name: "out", Value: "gldv2", Usage: "`DIR` to write"},
			&cli.BoolFlag{Name: "tables", Usage: "only the tables of landmarks: their pages on Commons and their labels"},
			&cli.StringSliceFlag{Name: "splits", Usage: "only the TARs of these `SPLITS`: train, index, test; empty: all"},
			&cli.StringFlag{Name: "disk", Usage: "let the folder hold at most this `SIZE`, such as 650GB; empty: any"},
			&cli.IntFlag{Name: "limit", Usage: "trial: only the first `N` TARs of each split"},
			sliceFlag("")),
		Action: actionWithArgs(1, 1, "the name of a data set, gldv2", runShardsFetch),
	}
}

func runShardsFetch(c *cli.Context, j *job) error {
	f, err := shardsFetch(c, j)
	if err != nil {
		return err
	}
	mine := (len(f.Files()) - f.Slice + f.Of) / f.Of
	bar := j.progress("files", mine)
	count, kept, bytes := 0, 0, int64(0)
	f.Progress = func(name string, done, total int64) {
		bar.Set(count, fmt.Sprintf("%s %d of %d MB", name, done/1e6, total/1e6))
	}
	f.Done = func(name string, size int64, there bool) {
		count++
		bytes += size
		if there {
			kept++
		}
		bar.Set(count, name)
	}
	err = dataset.FetchGLDv2(j.ctx, f)
	bar.End()
	var status *download.StatusError
	var disk *dataset.DiskError
	switch {
	case errors.As(err, &status) && status.Status == http.StatusNotFound:
		err = withHint(err, "--from is the folder that has metadata/, md5sum/ and train/")
	case errors.As(err, &disk):
		err = withHint(err, "make --disk larger, or name other --splits; finished files are kept")
	}
	if err != nil {
		j.log("%d of %d files are complete", count, mine)
		return err
	}
	if j.json {
		return writeJSON(j, map[string]any{"slice": f.Slice, "of": f.Of, "files": count, "kept": kept, "bytes": bytes})
	}
	j.print("%s: %d of %d files, %s, %d fetched before\n", f.Dir, count, len(f.Files()), shards.FormatSize(bytes), kept)
	return nil
}

// shardsFetch reads the flags.
func shardsFetch(c *cli.Context, j *job) (f dataset.Fetch, err error) {
	if name := j.args[0]; name != "gldv2" {
		return f, withCode(exitUsage, registry.Unknown("data set", name, []string{"gldv2"}))
	}
	f = dataset.Fetch{From: c.String("from"), Dir: j.project.Join(c.String("out")), First: j.limit, Slice: 1, Of: 1,
		Tables: c.Bool("tables")}
	if err := pipeline.CheckHome("shards fetch", f.Dir); err != nil {
		return f, err
	}
	if !download.IsAddress(f.From) {
		return f, usagef("--from is %.80q; want an address, http://… or https://…", address.WithoutSecret(f.From))
	}
	if f.Tables && (len(c.StringSlice("splits")) > 0 || j.limit > 0) {
		return f, usagef("--splits and --limit choose TARs, and --tables fetches none: leave out one")
	}
	known := []string{string(labels.Train), string(labels.Index), string(labels.Test)}
	for _, name := range settings.Split(c.StringSlice("splits")) {
		split := labels.Split(name)
		if split != labels.Train && split != labels.Index && split != labels.Test {
			return f, withCode(exitUsage, registry.Unknown("split", name, known))
		}
		f.Splits = append(f.Splits, split)
	}
	if text := c.String("disk"); text != "" {
		if f.Disk, err = shards.ParseSize(text); err != nil {
			return f, usagef("--disk: %w", err)
		}
	}
	part, err := sliceOf(c)
	if part.kind == slicePart {
		f.Slice, f.Of = part.n, part.of
	}
	return f, err
}
