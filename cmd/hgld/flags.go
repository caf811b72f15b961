package main

import (
	"reflect"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/settings"
)

// flagsOf returns the flags of a section. ptr points to the section's settings.
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
