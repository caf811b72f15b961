package curate

import (
	"fmt"
	"strconv"
	"strings"

	"hgld/internal/terminal"
	"hgld/labels"
)

// Text returns an edit in words: what it does, to which references, and the note in
// parentheses.
func (e Edit) Text() string {
	var b strings.Builder
	if e.Resolved {
		b.WriteString("resolve the ")
	}
	fmt.Fprintf(&b, "%s", strings.ReplaceAll(string(e.Op), "_", " "))
	if e.Of > 0 {
		fmt.Fprintf(&b, " %d", e.Of)
	}
	b.WriteString(RefsText(e.From))
	if e.To != "" {
		fmt.Fprintf(&b, " -> %q", e.To)
	}
	for i, p := range e.Parts {
		sep := " -> "
		if i > 0 {
			sep = "; "
		}
		fmt.Fprintf(&b, "%s%s:%s", sep, p.target(), RefsText(p.Members))
	}
	if e.Rule != "" {
		fmt.Fprintf(&b, " by the rule /%s/", e.Rule)
	}
	if e.Note != "" {
		fmt.Fprintf(&b, " (%q)", e.Note)
	}
	return b.String()
}

// target is the group of a part in quotes, or "(dropped)".
func (p Part) target() string {
	if p.To == "" {
		return Category{Dropped: true}.String()
	}
	return strconv.Quote(p.To)
}

// PartsText lists parts, one per line: the number of their tags, the group and some tags.
func PartsText(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "%6d  %s:%s\n", len(p.Members), p.target(), RefsText(p.Members))
	}
	return b.String()
}

// RefsText names at most five references, after a space, and says how many more there
// are. It returns "" for none.
func RefsText(refs []Ref) string {
	var names []string
	for _, r := range refs[:min(len(refs), 5)] {
		names = append(names, r.String())
	}
	if more := len(refs) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	if len(names) == 0 {
		return ""
	}
	return " " + strings.Join(names, ", ")
}

// ProposedText says how many of the undecided tags are proposed, after a comma. It
// returns "" if none is.
func ProposedText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of them proposed", n)
}

// Text says what came of a log's edits in the last replay, and lists those that were not
// done in full.
func (l *LogFile) Text() string {
	r, w := l.Report, &strings.Builder{}
	parts, named := []string{fmt.Sprintf("%d applied", r.Applied)}, 0
	if l.Contents != nil {
		named = len(Snapshots(l.Contents.Edits))
	}
	for _, p := range []struct {
		n    int
		what string
	}{{r.AlreadyTrue, "already true"}, {r.Partly, "done in part"}, {r.TargetGone, "with a target that is gone"},
		{r.Impossible, "impossible"}, {r.Reverted - named, "reverted or reverts"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if named > 0 {
		parts = append(parts, terminal.Count(named, "snapshot"))
	}
	fmt.Fprintf(w, "%s: %s: %s\n", l.Name, terminal.Count(r.Edits, "edit"), strings.Join(parts, ", "))
	for _, c := range r.Conflicts {
		var missing []string
		for _, ref := range c.Missing {
			missing = append(missing, ref.String())
		}
		fmt.Fprintf(w, "  edit %d, %s, %s: %s%s\n", c.Seq, c.Op, strings.ReplaceAll(string(c.Outcome), "_", " "), c.Reason,
			strings.Join(missing, ", "))
	}
	return w.String()
}

// Text says what came of the logs and which hierarchy h the session s led to. out is the
// file of the hierarchy. It lists undecided tags and what an adjudicator left open.
func (c *Curation) Text(s *Session, h *labels.Hierarchy, out string) string {
	w := &strings.Builder{}
	for _, l := range c.Logs {
		w.WriteString(l.Text())
	}
	var sizes []string
	for _, l := range h.Sizes() {
		sizes = append(sizes, fmt.Sprintf("%s %d", l.Name, l.Classes))
	}
	undecided := s.Undecided()
	fmt.Fprintf(w, "%s written: %s; %s dropped, %d undecided%s\n", out, strings.Join(sizes, ", "),
		terminal.Count(s.Dropped(), "tag"), len(undecided), ProposedText(len(s.Proposed())))
	if len(undecided) > 0 {
		fmt.Fprintf(w, "undecided:%s\n", RefsText(undecided))
	}
	if fresh, known := c.NewTags(); len(fresh) > 0 {
		var refs []Ref
		for _, i := range fresh {
			refs = append(refs, s.Tag(i).Ref)
		}
		what := "new"
		if !known {
			what = "new, or never decided"
		}
		fmt.Fprintf(w, "%s: %s:%s\n", what, terminal.Count(len(refs), "tag"), RefsText(refs))
	}
	tags, parents := c.Open(s)
	names := Curators(c.Compared())
	for _, d := range tags {
		fmt.Fprintf(w, "open: %q is in %s\n", d.Name, forWhom("in", d.Choices, names))
	}
	for _, p := range parents {
		fmt.Fprintf(w, "open: %q belongs to %s\n", p.Group, forWhom("to", p.Choices, names))
	}
	return w.String()
}

// forWhom says which choice is whose: "a for Anna and in b for Ben".
func forWhom(preposition string, choices, names []string) string {
	var parts []string
	for _, choice := range distinct(choices) {
		var who []string
		for k, c := range choices {
			if c == choice {
				who = append(who, names[k])
			}
		}
		parts = append(parts, fmt.Sprintf("%s for %s", quoted(choice), strings.Join(who, ", ")))
	}
	return strings.Join(parts, " and "+preposition+" ")
}

// LeftText says what a replay that led to the session s could not do: edits in conflict,
// and differences of the curators that the adjudicator left open. It returns "" if
// nothing is left.
func (c *Curation) LeftText(s *Session) string {
	var left []string
	conflicts := 0
	for _, l := range c.Logs {
		conflicts += len(l.Report.Conflicts)
	}
	if conflicts > 0 {
		left = append(left, terminal.Count(conflicts, "edit")+" could not be done in full")
	}
	tags, parents := c.Open(s)
	if n := len(tags) + len(parents); n > 0 {
		left = append(left, terminal.Count(n, "difference")+" of the curators left open")
	}
	return strings.Join(left, ", ")
}

// LogsText lists logs with their numbers of edits.
func LogsText(logs []*LogFile) string {
	var list []string
	for _, l := range logs {
		list = append(list, fmt.Sprintf("%s (%s)", l.Name, terminal.Count(len(l.Contents.Edits), "edit")))
	}
	return strings.Join(list, ", ")
}

// LostText says what logs of one draft would lose on the draft at path, by replaying each of them there by itself
// without the edits that are impossible. An adjudicator's log can only be replayed together with those it decides
// between.
func LostText(path string, logs []*LogFile) (string, error) {
	draft, err := labels.OpenDraft(path)
	if err != nil {
		return "", err
	}
	var list []string
	for _, l := range logs {
		if l.Adjudicates() {
			list = append(list, fmt.Sprintf("%s decides between others and is carried over with them", l.Name))
			continue
		}
		session, err := NewSession(draft, l.Contents.Header.Levels)
		if err != nil {
			return "", err
		}
		r, err := session.Replay(l.Contents.Edits, Skip)
		if err != nil {
			return "", fmt.Errorf("%s: %w", l.Path, err)
		}
		text := fmt.Sprintf("%s would lose %d of its %s there", l.Name, r.TargetGone+r.Impossible,
			terminal.Count(r.Edits, "edit"))
		if r.Partly > 0 {
			text += fmt.Sprintf(", and %d would be done in part", r.Partly)
		}
		list = append(list, text)
	}
	return strings.Join(list, "; "), nil
}
