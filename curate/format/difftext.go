package format

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/terminal"
)

// Text lists the differences of two documents, one a line, with the tags, landmarks and
// images that they touch. a and b are the names of the documents, and limit is the most
// tags to name of a change; 0 names all.
func (d *Difference) Text(a, b string, limit int, more string) string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "%s in both, %d in the same group; %d only in %s, %d only in %s\n", terminal.Count(d.Tags, "tag"),
		d.Equal, len(d.TagsGone), a, len(d.TagsNew), b)
	if a := d.Agreement; a.Kappa != nil {
		fmt.Fprintf(w, "as two curators: agreement %.3f, Cohen's kappa %.3f\n", *a.Raw, *a.Kappa)
	}
	for _, list := range []struct {
		what string
		of   []GroupChange
	}{{"renamed", d.Renamed}, {"merged", d.Merged}, {"split", d.Split}, {"new group", d.Added}, {"gone", d.Removed},
		{"moved", d.Moved}} {
		for _, g := range list.of {
			fmt.Fprintf(w, "%s: %s (%s, %s)%s\n", list.what, g.fromTo(), terminal.Count(len(g.Tags), "tag"),
				touched(g.Landmarks, g.Images), someTags(g.Tags, limit))
		}
	}
	for _, p := range d.Parents {
		fmt.Fprintf(w, "other parent: %q from %q to %q (%s)\n", p.Group, p.A, p.B, touched(p.Landmarks, p.Images))
	}
	writeTags(w, "tag only in "+a, d.TagsGone, limit, more)
	writeTags(w, "tag only in "+b, d.TagsNew, limit, more)
	if d.None() {
		fmt.Fprintf(w, "nothing differs\n")
	}
	return w.String()
}

// writeTags lists the tags of one document, at most limit unless that is 0.
func writeTags(w *strings.Builder, what string, tags []TagChange, limit int, more string) {
	for i, t := range tags {
		if limit > 0 && i == limit {
			fmt.Fprintf(w, "%s: %d more (%s)\n", what, len(tags)-i, more)
			return
		}
		fmt.Fprintf(w, "%s: %q in %s (%s)\n", what, t.Name, groupText(t.Group), touched(t.Landmarks, t.Images))
	}
}

// fromTo returns the names of the groups before and after a change.
func (g GroupChange) fromTo() string {
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

// touched returns a number of landmarks, and of images if there are any.
func touched(landmarks, images int) string {
	if images == 0 {
		return terminal.Count(landmarks, "landmark")
	}
	return terminal.Count(landmarks, "landmark") + ", " + terminal.Count(images, "image")
}

// someTags names tags after a colon, at most limit unless that is 0.
func someTags(tags []string, limit int) string {
	if len(tags) == 0 {
		return ""
	}
	shown := slices.Clone(tags)
	if limit > 0 {
		shown = shown[:min(len(tags), limit)]
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
