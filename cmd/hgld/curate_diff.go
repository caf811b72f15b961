package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/curate/format"
	"hgld/internal/terminal"
)

func curateDiffCommand() *cli.Command {
	return &cli.Command{
		Name: "diff", Usage: "how two curations differ", ArgsUsage: "A B",
		Description: "  hgld curate diff old.json hierarchy.json                    groups renamed, merged, split, new, " +
			"gone; tags moved\n" +
			"  hgld curate diff --draft draft.json anna.json ben.json      with the landmarks that each change touches\n" +
			"  hgld curate diff --json sheet.csv hierarchy.json            files of any format",
		Flags: formatFlags(
			&cli.StringFlag{Name: "draft", Usage: "draft that counts landmarks and images (default: the project's, if there " +
				"is one)"},
			&cli.IntFlag{Name: "limit", Usage: "name the first `N` tags of a change (0: all)", Value: 5},
		),
		Action: taking(2, 2, "two files", runCurateDiff),
	}
}

func runCurateDiff(c *cli.Context, j *job) error {
	draft, _, _, err := curateFiles(c, j)
	if err != nil {
		return err
	}
	var sides [2]*format.Document
	for i, path := range j.args {
		if sides[i], err = readFormat(c, path); err != nil {
			return err
		}
		if err := countByDraft(c, sides[i], draft, true); err != nil {
			return err
		}
	}
	d, err := format.Diff(sides[0], sides[1])
	if err != nil {
		return fmt.Errorf("%s and %s: %w", j.args[0], j.args[1], err)
	}
	if j.json {
		return writeJSON(j, d)
	}
	printDiff(j, d)
	return nil
}

func printDiff(j *job, d *format.Difference) {
	j.print("%s in both, %d in the same group; %d only in %s, %d only in %s\n", count(d.Tags, "tag"), d.Equal,
		len(d.TagsGone), j.args[0], len(d.TagsNew), j.args[1])
	if a := d.Agreement; a.Kappa != nil {
		j.print("as two curators: agreement %.3f, Cohen's kappa %.3f\n", *a.Raw, *a.Kappa)
	}
	for _, list := range []struct {
		what string
		of   []format.GroupChange
	}{{"renamed", d.Renamed}, {"merged", d.Merged}, {"split", d.Split}, {"new group", d.Added}, {"gone", d.Removed},
		{"moved", d.Moved}} {
		for _, g := range list.of {
			j.print("%s: %s (%s)%s\n", list.what, fromTo(g), touches(len(g.Tags), g.Landmarks, g.Images), someTags(j, g.Tags))
		}
	}
	for _, p := range d.Parents {
		j.print("other parent: %q from %q to %q (%s)\n", p.Group, p.A, p.B, counted(p.Landmarks, p.Images))
	}
	for _, list := range []struct {
		what string
		of   []format.TagChange
	}{{"tag only in " + j.args[0], d.TagsGone}, {"tag only in " + j.args[1], d.TagsNew}} {
		for i, t := range list.of {
			if j.limit > 0 && i == j.limit {
				j.print("%s: %d more (--limit 0 lists all)\n", list.what, len(list.of)-i)
				break
			}
			j.print("%s: %q in %s (%s)\n", list.what, t.Name, groupText(t.Group), counted(t.Landmarks, t.Images))
		}
	}
	if d.None() {
		j.print("nothing differs\n")
	}
}

func fromTo(g format.GroupChange) string {
	var sides []string
	for _, names := range [][]string{g.From, g.To} {
		var quoted []string
		for _, n := range names {
			quoted = append(quoted, groupText(n))
		}
		if len(quoted) > 0 {
			sides = append(sides, strings.Join(quoted, " + "))
		}
	}
	return strings.Join(sides, " -> ")
}

// groupText returns a group's name in quotes, or "no group".
func groupText(name string) string {
	if name == "" {
		return "no group"
	}
	return strconv.Quote(name)
}

func touches(tags, landmarks, images int) string {
	return count(tags, "tag") + ", " + counted(landmarks, images)
}

func counted(landmarks, images int) string {
	if images == 0 {
		return count(landmarks, "landmark")
	}
	return count(landmarks, "landmark") + ", " + count(images, "image")
}

func someTags(j *job, tags []string) string {
	if len(tags) == 0 {
		return ""
	}
	shown := slices.Clone(tags)
	if j.limit > 0 {
		shown = shown[:min(len(tags), j.limit)]
	}
	for i := range shown {
		shown[i] = terminal.VisibleName(shown[i])
	}
	text := ": " + strings.Join(shown, ", ")
	if more := len(tags) - len(shown); more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}
