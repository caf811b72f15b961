package main

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/licenses"
)

// version and commit are hgld's. A release build sets them through the linker; other builds know the
// commit from Go.
var version, commit = "0.1.0-dev", ""

// buildInfo is what `hgld version --json` prints.
type buildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func thisBuild() buildInfo {
	b := buildInfo{Version: version, Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	return b
}

// thisTool identifies the program in a result, by version and, if known, commit.
func thisTool() string { return strings.TrimSpace(version + " " + thisBuild().Commit) }

func versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "version, commit and platform",
		Description: "  hgld version\n  hgld version --json\n  hgld version --licenses",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print data as JSON"},
			&cli.BoolFlag{Name: "licenses", Usage: "print the licences of hgld and of the modules in it"},
		},
		Action: func(c *cli.Context) error {
			j := &job{stdout: c.App.Writer}
			if c.Bool("licenses") {
				j.print("%s", licenses.All())
				return nil
			}
			b := thisBuild()
			if c.Bool("json") {
				return writeJSON(j, b)
			}
			j.print("hgld %s %s %s\n", b.Version, b.Platform, b.Go)
			return nil
		},
	}
}
