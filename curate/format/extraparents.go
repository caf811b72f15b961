package format

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"hgld/curate"
	"hgld/labels"
)

// A file of extra parents has the columns level, class and extra_parent, as `hgld curate apply` writes them.

func isExtra(data []byte) bool {
	columns := strings.Split(firstLine(data), ",")
	return slices.Contains(columns, "level") && slices.Contains(columns, "class") &&
		(slices.Contains(columns, "extra_parent") || slices.Contains(columns, "also"))
}

func readExtra(data []byte, name string, _ labels.ReadOptions) (*Document, error) {
	list, err := labels.ReadExtraParents(bytes.NewReader(data), name)
	if err != nil {
		return nil, err
	}
	return &Document{ExtraParents: list, Hierarchy: &labels.Hierarchy{Version: labels.HierarchyVersion,
		Levels: []labels.Level{{Name: curate.DefaultLevels[0]}}}}, nil
}

func writeExtra(w io.Writer, d *Document) error { return labels.WriteExtraParents(w, d.ExtraParents) }

// extra adds edits that give classes their extra parents, and returns the classes that the session does
// not have. A class without a parent in the tree gets that one, because such a row says where an extra
// parent stands.
func (p *planner) extra(list []labels.ExtraParent) (missing []curate.Ref, err error) {
	levels := p.s.Levels()
	also := make([]byText, len(levels))
	for _, f := range list {
		level := slices.Index(levels, f.Level)
		switch {
		case level < 0 || level+1 == len(levels):
			return nil, fmt.Errorf("%s: the level is %.80q; want one of the log below the coarsest: %.200q", f.Where, f.Level,
				levels[:len(levels)-1])
		case level == 0:
			missing = append(missing, p.extraOfTag(&also[0], f)...)
		default:
			if err := p.extraOfGroup(&also[level], level, f); err != nil {
				return nil, err
			}
		}
	}
	for l := range also {
		for _, parent := range also[l].texts {
			p.add(curate.Edit{Op: curate.ExtraParent, Level: l, From: also[l].of[parent], To: parent})
		}
	}
	return missing, nil
}

func (p *planner) extraOfTag(also *byText, f labels.ExtraParent) (missing []curate.Ref) {
	tags := p.index.named(&labels.Class{Name: f.Class})
	for _, t := range tags {
		if n := p.s.Node(0, t); p.s.Tag(t).Group != f.Parent && !slices.Contains(n.ExtraParents, f.Parent) {
			also.add(f.Parent, n.Ref)
		}
	}
	if len(tags) == 0 {
		return []curate.Ref{{Name: f.Class}}
	}
	return nil
}

func (p *planner) extraOfGroup(also *byText, level int, f labels.ExtraParent) error {
	have, err := p.groups(level)
	if err != nil {
		return err
	}
	ref := curate.Ref{Name: f.Class}
	switch g := have[f.Class]; {
	case g.Parent == "" && !p.named[level][f.Class]:
		p.add(curate.Edit{Op: curate.SetParent, Level: level, From: []curate.Ref{ref}, To: f.Parent})
		p.named[level][f.Class] = true
	case g.Parent != f.Parent && !slices.Contains(g.ExtraParents, f.Parent):
		also.add(f.Parent, ref)
	}
	return nil
}
