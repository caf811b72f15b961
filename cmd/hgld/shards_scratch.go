package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"hgld/internal/regular"
	"hgld/shards/dataset"
)

// scratchFlag names a fast disk for the shards that are being written.
func scratchFlag() cli.Flag {
	return &cli.StringFlag{Name: "scratch", Usage: "`DIR` on a fast disk of this machine, where each shard lies until it is " +
		"complete; empty: beside its name, or in the cache of s3://"}
}

// checkScratch returns a usage error unless dir is empty or a folder of this machine outside of the data set.
func checkScratch(dir, out string) error {
	if dir == "" {
		return nil
	}
	if err := regular.CheckPath(dir); err != nil {
		return usagef("--scratch: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return withHint(usagef("--scratch is %s, which is no folder", dir), "make it, or name one that exists")
	}
	if inside, err := dataset.Within(out, dir); err != nil || inside {
		if err != nil {
			return err
		}
		return withHint(usagef("--scratch is %s, which is inside the data set %s", dir, out),
			"name a folder on a disk of this machine, such as $TMPDIR")
	}
	return nil
}
