package labels

import (
	"fmt"
	"strings"
)

// Text formats the statistics as tables. With images it prints the counts of images even
// if they are 0.
func (s Stats) Text(images bool) string {
	var b strings.Builder
	for _, split := range s.Splits {
		fmt.Fprintf(&b, "%s: %d of %d landmarks labelled", split.Split, split.Labelled, split.Landmarks)
		if images || split.Images > 0 {
			fmt.Fprintf(&b, ", %d of %d images", split.LabelledImages, split.Images)
		}
		b.WriteString("\n")
	}
	if o := s.Outside; o.Landmarks > 0 {
		fmt.Fprintf(&b, "images of landmarks that are not in the labels: %d of %d landmarks\n", o.Images, o.Landmarks)
	}
	fmt.Fprintf(&b, "\n%-16s %8s   landmarks a class: %6s %7s %7s\n", "level", "classes", "fewest", "median", "most")
	for _, l := range s.Levels {
		fmt.Fprintf(&b, "%-16s %8d   %25d %7d %7d\n", l.Name, l.Classes, l.Min, l.Median, l.Max)
	}
	for _, l := range s.Levels {
		if len(l.Largest) > 0 {
			fmt.Fprintf(&b, "\n%s: %d of %d classes\n", l.Name, len(l.Largest), l.Classes)
		}
		for _, c := range l.Largest {
			b.WriteString(c.line(images) + "\n")
		}
	}
	if len(s.Unlabelled) > 0 {
		b.WriteString("\n" + s.ReasonsText())
	}
	return b.String()
}

// line formats a class with its counts and its parent.
func (c ClassStats) line(images bool) string {
	line := fmt.Sprintf("  %7d", c.Landmarks)
	if images || c.Images > 0 {
		line += fmt.Sprintf(" %9d images", c.Images)
	}
	line += "  " + c.Name
	if c.Parent != "" {
		line += " < " + c.Parent
	}
	return line
}

// ReasonsText lists why landmarks have no label, "" if all have one.
func (s Stats) ReasonsText() string {
	if len(s.Unlabelled) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("without a label:\n")
	for _, r := range s.Unlabelled {
		reason := string(r.Reason)
		if r.Detail != "" {
			reason += ": " + r.Detail
		}
		fmt.Fprintf(&b, "  %7d  %-16s %s\n", r.Landmarks, reason, strings.Join(r.Examples, ", "))
	}
	return b.String()
}

// Text formats the comparison of two files for a person; a and b are their names. It lists the
// first limit differences of each kind, or all if limit is 0; more says how to list
// all.
func (c *Comparison) Text(a, b string, limit int, more string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "A = %s, B = %s: %d landmarks with a label in both, %d the same; %d only in A, %d only in B\n", a, b,
		c.Both, c.Same, len(c.OnlyA), len(c.OnlyB))
	for _, l := range c.Levels {
		if l.Differ == 0 {
			continue
		}
		fmt.Fprintf(&out, "%s: %d differ\n", l.Name, l.Differ)
		shown := first(len(l.Swaps), limit)
		for _, s := range l.Swaps[:shown] {
			fmt.Fprintf(&out, "  %7d  %q in A is %q in B\n", s.Landmarks, s.A, s.B)
		}
		if n := len(l.Swaps) - shown; n > 0 {
			fmt.Fprintf(&out, "  … and %d more\n", n)
		}
	}
	shown := first(len(c.Changes), limit)
	for _, ch := range c.Changes[:shown] {
		fmt.Fprintf(&out, "%s/%d %s: %q in A, %q in B\n", ch.Split, ch.Landmark, ch.Level, ch.A, ch.B)
	}
	if n := len(c.Changes) - shown; n > 0 {
		fmt.Fprintf(&out, "… and %d more differences (%s)\n", n, more)
	}
	return out.String() + keysText("only in A", c.OnlyA, limit) + keysText("only in B", c.OnlyB, limit)
}

// keysText lists the first limit landmarks, or all if limit is 0.
func keysText(what string, keys []LandmarkKey, limit int) string {
	var b strings.Builder
	shown := first(len(keys), limit)
	for _, k := range keys[:shown] {
		fmt.Fprintf(&b, "%s: %s\n", what, k)
	}
	if n := len(keys) - shown; n > 0 {
		fmt.Fprintf(&b, "… and %d more %s\n", n, what)
	}
	return b.String()
}

// first returns how many of n items are shown; limit 0 shows all.
func first(n, limit int) int {
	if limit > 0 {
		return min(n, limit)
	}
	return n
}
