package main

import (
	"reflect"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/internal/settings"
)

// flagsOf returns a flag for each setting in the struct that ptr points to.
func flagsOf(ptr any) []cli.Flag {
	var flags []cli.Flag
	for _, f := range settings.Fields(ptr) {
		if !f.HasFlag() {
			continue
		}
		var aliases []string
		if a := f.Tag.Get("alias"); a != "" {
			aliases = strings.Split(a, ",")
		}
		name, usage, text := f.Flag(), f.Usage(), settings.Text(f.Value)
		switch f.Value.Kind() {
		case reflect.Bool:
			flags = append(flags, &cli.BoolFlag{Name: name, Aliases: aliases, Usage: usage, Value: f.Value.Bool()})
		case reflect.Slice:
			flags = append(flags, &cli.StringSliceFlag{Name: name, Aliases: aliases, Usage: usage, DefaultText: text})
		default:
			flags = append(flags, &cli.StringFlag{Name: name, Aliases: aliases, Usage: usage, DefaultText: text})
		}
	}
	return flags
}

// stageFlags returns the flags that every stage takes.
func stageFlags() []cli.Flag {
	return append(commonFlags(), limitFlag(), acceptFlag(), overrideFlag())
}

// sharedFlags returns the flags that mean the same in every command that has them. The help of a command names them in
// one paragraph, and that of hgld explains them.
func sharedFlags() []cli.Flag {
	return append(commonFlags(), overrideFlag(), limitFlag(), acceptFlag(), dryRunFlag(), replaceFlag(), deviceFlag(),
		storeFlag())
}

// isShared reports whether a flag is one of [sharedFlags]. A flag with one of their names and another usage is not.
func isShared(f cli.Flag) bool {
	return slices.ContainsFunc(sharedFlags(), func(s cli.Flag) bool {
		return slices.Equal(s.Names(), f.Names()) && describeFlag(s) == describeFlag(f)
	})
}

// limitFlag makes a trial of the first items.
func limitFlag() cli.Flag {
	return &cli.IntFlag{Name: "limit", Usage: "trial: take only the first `N` items"}
}

// dryRunFlag prints what a command would do.
func dryRunFlag() cli.Flag {
	return &cli.BoolFlag{Name: "dry-run", Usage: "print what is to be done, and stop"}
}

// replaceFlag allows a command to replace what it would keep.
func replaceFlag() cli.Flag {
	return &cli.BoolFlag{Name: "replace", Usage: "overwrite files that hgld did not write, or that other work depends on"}
}

// overrideFlag sets any setting, including those without a flag.
func overrideFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: pipeline.OverrideFlag, Aliases: []string{"o"},
		Usage: "set any setting of the command: `KEY=VALUE`"}
}

// acceptFlag accepts inputs that changed after a stage wrote them.
func acceptFlag() cli.Flag {
	return &cli.BoolFlag{Name: "accept-changed",
		Usage: "accept stage inputs that were modified since they were written; the stamp records it"}
}

// storeFlag allows the places in object stores that files name. It is no setting, so that no file can give it.
func storeFlag() cli.Flag {
	return &cli.BoolFlag{Name: "allow-store",
		Usage: "use the places in object stores that files of the project name, now and later"}
}

// commonFlags returns the flags of every command that works in a project.
func commonFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "project", Aliases: []string{"C"},
			Usage: "`FOLDER` with hgld.yaml (default: the current folder or the nearest parent that has one)"},
		&cli.BoolFlag{Name: "json", Usage: "print data as JSON"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print results and errors only"},
	}
}

// flagBounds holds the bounds of numeric flags that are not settings. A setting declares
// its bounds in the tag of its field.
var flagBounds = map[string]settings.Bounds{
	"iterations": {Least: 1, Most: 1e6}, "seeds": {Least: 1, Most: 1000},
	"eval-landmarks": {Least: 1, Most: 1e6}, "neighbours": {Least: 1, Most: 1e7}, "top-k": {Least: 1, Most: 1e7},
	"side": {Least: 0, Most: 8192}, "dims": {Least: 0, Most: 65536},
	"per-landmark": {Least: 0, Most: 1e7}, "images-per-shard": {Least: 0, Most: 1e8},
}

// checkFlagBounds returns an error for a numeric flag that is out of bounds.
func checkFlagBounds(c *cli.Context) error {
	for _, f := range c.Command.Flags {
		number, is := f.(*cli.IntFlag)
		if !is || !c.IsSet(number.Name) {
			continue
		}
		if want, bounded := flagBounds[number.Name]; bounded {
			if x := float64(c.Int(number.Name)); x < want.Least || x > want.Most {
				return withCode(exitUsage, &settings.BoundsError{Key: "--" + number.Name, Value: x, Want: want,
					Whole: true})
			}
		}
	}
	return nil
}
