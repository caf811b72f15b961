package main

import (
	"reflect"
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
	return append(commonFlags(),
		&cli.IntFlag{Name: "limit", Usage: "trial: take only the first `N` items"},
		changedFlag(),
		overrideFlag(),
	)
}

// overrideFlag sets any setting, including those without a flag.
func overrideFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: pipeline.OverrideFlag, Aliases: []string{"o"},
		Usage: "set any setting of the stage: `key=value`"}
}

// changedFlag accepts inputs that changed after a stage wrote them.
func changedFlag() cli.Flag {
	return &cli.BoolFlag{Name: "changed",
		Usage: "accept inputs that changed after a stage wrote them, and record that"}
}

// commonFlags returns the flags of every command that works in a project.
func commonFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "project", Aliases: []string{"C"},
			Usage: "folder with hgld.yaml (default: the current folder or the nearest parent that has one)"},
		&cli.BoolFlag{Name: "json", Usage: "print data as JSON"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print results and errors only"},
	}
}

// flagBounds holds the bounds of numeric flags that are not settings. A setting declares
// its bounds in the tag of its field.
var flagBounds = map[string]settings.Bounds{
	"threads": {Least: 0, Most: 1024}, "iterations": {Least: 1, Most: 1e6}, "seeds": {Least: 1, Most: 1000},
	"measure": {Least: 1, Most: 1e6}, "trials": {Least: 2, Most: 1e4}, "eta": {Least: 2, Most: 100},
	"neighbours": {Least: 1, Most: 1e7}, "places": {Least: 1, Most: 1e7},
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

// threadsFlag limits the threads of a backend on the processor.
func threadsFlag() cli.Flag {
	return &cli.IntFlag{Name: "threads", Usage: "`N` threads on the CPU; 0: one for each processor"}
}
