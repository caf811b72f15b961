package labels

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Hierarchy is the content of hierarchy.json: a tree of classes in levels, finest
// first. Every class has exactly one parent in the next coarser level.
type Hierarchy struct {
	Version int             `json:"hgld_hierarchy"`   // format version
	Levels  []Level         `json:"levels"`           // finest first
	Origin  json.RawMessage `json:"origin,omitempty"` // where it came from: draft and log hashes, annotators
	// Partial says that classes of any level may lack a parent, as rows of mixed depth have them.
	Partial bool `json:"uneven,omitempty"`
	// Rules decide tags that are new to the curation.
	Rules []Rule `json:"rules,omitempty"`

	Extra map[string]json.RawMessage `json:"-"` // unknown fields, kept on rewriting; so in Level and Class
}

// Rule is a decision of a curator about all tags whose names an expression finds. Group is the name of
// their group, or "" and Dropped the reason to drop them.
type Rule struct {
	Expression string `json:"expression"`        // regular expression in Go's syntax, found in any case
	Group      string `json:"group,omitempty"`   // name of a class of level 1, which may have no tag yet
	Dropped    string `json:"dropped,omitempty"` // as in Class

	Extra map[string]json.RawMessage `json:"-"` // unknown fields
}

// Same reports whether two rules decide the same.
func (r Rule) Same(other Rule) bool {
	return r.Expression == other.Expression && r.Group == other.Group && r.Dropped == other.Dropped
}

// check returns an error for a rule that decides nothing, or two things.
func (r *Rule) check() error {
	if _, err := regexp.Compile("(?i:" + r.Expression + ")"); err != nil || r.Expression == "" {
		err = cmp.Or(err, errors.New("it is empty"))
		return fmt.Errorf("rule /%.80s/ is not a regular expression: %w", r.Expression, err)
	}
	if (r.Group == "") == (r.Dropped == "") {
		return fmt.Errorf("rule /%.80s/ has the group %.80q and the reason %.80q to drop; want one of the two", r.Expression,
			r.Group, r.Dropped)
	}
	return nil
}

// Level is one level of a hierarchy: its name ("supercategory") and its
// classes. A class is addressed by its index.
type Level struct {
	Name    string  `json:"name"`    // such as "supercategory"
	Classes []Class `json:"classes"` // by number

	Extra map[string]json.RawMessage `json:"-"` // unknown fields
}

// Class is a node of the tree. A class of level 0 without a parent is a tag that
// curation dropped, with the reason in Dropped, or has not assigned yet.
type Class struct {
	Name    string `json:"name"`              // unique within the level
	QID     string `json:"qid,omitempty"`     // Wikidata item, "" if unknown
	Parent  int32  `json:"parent"`            // index in the next coarser level; -1 in the coarsest, or where it was dropped
	Dropped string `json:"dropped,omitempty"` // a curator removed the tag as irrelevant
	Note    string `json:"note,omitempty"`    // the curator's words

	// Proposed is the name of the group that a tag was proposed for, if no curator has
	// decided on it; "" otherwise.
	Proposed string `json:"proposed,omitempty"`

	Extra map[string]json.RawMessage `json:"-"` // unknown fields
}

// LevelSize is the number of classes of a level.
type LevelSize struct {
	Name    string `json:"name"`    // the name of the level
	Classes int    `json:"classes"` // the number of its classes
}

// Sizes returns the number of classes of each level, finest first.
func (h *Hierarchy) Sizes() []LevelSize {
	var sizes []LevelSize
	for _, l := range h.Levels {
		sizes = append(sizes, LevelSize{l.Name, len(l.Classes)})
	}
	return sizes
}

// Row is one labelled item for building a Hierarchy: its class names finest first, and
// its place for messages.
type Row struct {
	Names []string // class names, finest first
	Where string   // "labels.csv:17"
	// Partial says that the row may lack any level but not all, "". A level that it lacks says nothing of
	// its classes.
	Partial bool
	// Whole says that the row needs every level. Otherwise, and unless it is uneven, it may have its finest class
	// alone, like a landmark without a tag.
	Whole bool
}

// ParentsError says that a class has two parents, so the rows are not a tree.
type ParentsError struct {
	Level, Class   string    // and Class name the class
	Parents, Where [2]string // its two parents, and Where the rows that give them
}

// Error names the class, both parents and where each was found.
func (e *ParentsError) Error() string {
	of := func(i int) string {
		if e.Parents[i] == "" {
			return "none (" + e.Where[i] + ")"
		}
		return fmt.Sprintf("%.80q (%s)", e.Parents[i], e.Where[i])
	}
	return fmt.Sprintf("%s %.80q has two parents: %s and %s; a hierarchy is a tree, so give one of them another name or "+
		"parent",
		e.Level, e.Class, of(0), of(1))
}

// LevelError says that a row lacks a level, where rows of mixed depth are not expected.
type LevelError struct {
	Where string // the row
	Level string // the level that it lacks
	Whole bool   // a row with its finest class alone is not expected either
}

// Error names the row and the level.
func (e *LevelError) Error() string {
	want := "a class at every level, or at none above the finest"
	if e.Whole {
		want = "a class at every level"
	}
	return fmt.Sprintf("%s: %s is empty; want %s", e.Where, e.Level, want)
}

// Builder builds a Hierarchy from rows and returns each row's Path. Classes are
// numbered in the order of their first row.
type Builder struct {
	h     *Hierarchy
	index []map[string]int32
	where [][]string
}

// NewBuilder returns a Builder for the given level names, finest first.
func NewBuilder(levels ...string) *Builder {
	b := &Builder{h: &Hierarchy{Version: HierarchyVersion}}
	for _, name := range levels {
		b.h.Levels = append(b.h.Levels, Level{Name: name})
		b.index = append(b.index, map[string]int32{})
		b.where = append(b.where, nil)
	}
	return b
}

// Add adds a row. It returns a *ParentsError if a class has another parent than in an
// earlier row, and an error if a name is empty or the number of levels differs. A row
// without a label, which has a name only at the finest level, adds a class without a
// parent. An uneven row gives a class without a parent the one that it names.
func (b *Builder) Add(r Row) (Path, error) {
	if len(r.Names) != len(b.h.Levels) {
		return nil, fmt.Errorf("%s: %d class names, want %d (%s)", r.Where, len(r.Names), len(b.h.Levels), b.levelNames())
	}
	path := make(Path, len(r.Names))
	parent := int32(-1)
	blank := r.Partial || !r.Whole && len(r.Names) > 1 && strings.Join(r.Names[1:], "") == ""
	if r.Partial && strings.Join(r.Names, "") == "" {
		return nil, fmt.Errorf("%s: no class at any level; want one at least (%s)", r.Where, b.levelNames())
	}
	for l := len(r.Names) - 1; l >= 0; l-- {
		name := r.Names[l]
		if name == "" && blank && (l > 0 || r.Partial) {
			path[l], parent = -1, -1
			continue
		}
		if name == "" {
			return nil, &LevelError{Where: r.Where, Level: b.h.Levels[l].Name, Whole: r.Whole}
		}
		c, known := b.index[l][name]
		if !known {
			c = int32(len(b.h.Levels[l].Classes))
			b.index[l][name] = c
			b.h.Levels[l].Classes = append(b.h.Levels[l].Classes, Class{Name: name, Parent: parent})
			b.where[l] = append(b.where[l], r.Where)
		}
		switch class := &b.h.Levels[l].Classes[c]; {
		case class.Parent == parent, r.Partial && parent < 0:
		case r.Partial && class.Parent < 0:
			class.Parent, b.where[l][c] = parent, r.Where
		default:
			return nil, &ParentsError{Level: b.h.Levels[l].Name, Class: name,
				Parents: [2]string{b.name(l+1, class.Parent), b.name(l+1, parent)}, Where: [2]string{b.where[l][c], r.Where}}
		}
		path[l], parent = c, c
	}
	return path, nil
}

// Hierarchy returns the tree of all rows added so far.
func (b *Builder) Hierarchy() *Hierarchy {
	for l := 1; l+1 < len(b.h.Levels); l++ {
		for _, c := range b.h.Levels[l].Classes {
			b.h.Partial = b.h.Partial || c.Parent < 0
		}
	}
	return b.h
}

// name returns the name of a class, "" for none.
func (b *Builder) name(level int, class int32) string {
	if class < 0 {
		return ""
	}
	return b.h.Levels[level].Classes[class].Name
}

func (b *Builder) levelNames() string {
	names := make([]string, len(b.h.Levels))
	for i, l := range b.h.Levels {
		names[i] = l.Name
	}
	return strings.Join(names, ", ")
}

// Check checks that the hierarchy is a tree: it has levels with unique names, class
// names are unique within their level and not empty, every parent is a class of the
// next coarser level, and the coarsest level has none. Only at level 0 may a class lack
// a parent, because it was dropped or is not assigned yet; Unassigned lists those. If the
// hierarchy is uneven, a class of any level may.
func (h *Hierarchy) Check() error {
	if len(h.Levels) == 0 {
		return errors.New("the hierarchy has no levels; want at least one")
	}
	names := map[string]bool{}
	for l := range h.Levels {
		level := &h.Levels[l]
		if level.Name == "" || names[level.Name] {
			return fmt.Errorf("level %d is called %.80q; want a unique name", l, level.Name)
		}
		names[level.Name] = true
		parents := 0
		if l+1 < len(h.Levels) {
			parents = len(h.Levels[l+1].Classes)
		}
		if err := level.check(parents, l == 0 || l+1 == len(h.Levels) || h.Partial); err != nil {
			return err
		}
	}
	for i := range h.Rules {
		if err := h.Rules[i].check(); err != nil {
			return err
		}
	}
	return nil
}

// check checks the classes of a level. parents is the number of classes of the next
// coarser level, 0 for the coarsest. orphans allows classes without a parent.
func (level *Level) check(parents int, orphans bool) error {
	known := make(map[string]int, len(level.Classes))
	for i, c := range level.Classes {
		if c.Name == "" {
			return fmt.Errorf("%s: class %d has no name", level.Name, i)
		}
		if first, twice := known[c.Name]; twice {
			return fmt.Errorf("%s: class %.80q occurs twice, as class %d and class %d", level.Name, c.Name, first, i)
		}
		known[c.Name] = i
		switch {
		case c.Parent == -1 && !orphans:
			return fmt.Errorf("%s: class %.80q has no parent; only a class of level 0 may lack one", level.Name, c.Name)
		case c.Parent != -1 && (c.Parent < 0 || int(c.Parent) >= parents):
			return fmt.Errorf("%s: class %.80q has parent %d; want a class of the next level, 0 to %d, or -1", level.Name,
				c.Name, c.Parent, parents-1)
		case c.Parent != -1 && c.Dropped != "":
			return fmt.Errorf("%s: class %.80q is dropped (%s), but has parent %d; want -1", level.Name, c.Name, c.Dropped,
				c.Parent)
		}
	}
	return nil
}

// Level returns the position of the level called name.
func (h *Hierarchy) Level(name string) (int, bool) {
	i := slices.IndexFunc(h.Levels, func(l Level) bool { return l.Name == name })
	return i, i >= 0
}

// Unassigned returns the classes of level 0 that were dropped in curation or not
// assigned: they have no parent although there is a coarser level.
func (h *Hierarchy) Unassigned() []int32 {
	var list []int32
	for i, c := range h.Levels[0].Classes {
		if c.Parent < 0 && len(h.Levels) > 1 {
			list = append(list, int32(i))
		}
	}
	return list
}

// Leaves returns the classes of a level that are no parents: all of level 0, and those of a coarser level that
// no class of the next finer level is below.
func (h *Hierarchy) Leaves(level int) []int32 {
	parent := make([]bool, len(h.Levels[level].Classes))
	if level > 0 {
		for _, c := range h.Levels[level-1].Classes {
			if c.Parent >= 0 {
				parent[c.Parent] = true
			}
		}
	}
	var list []int32
	for c, is := range parent {
		if !is {
			list = append(list, int32(c))
		}
	}
	return list
}

// Names returns the class names along p, "" for −1.
func (h *Hierarchy) Names(p Path) []string {
	names := make([]string, len(p))
	for l, c := range p {
		if c >= 0 {
			names[l] = h.Levels[l].Classes[c].Name
		}
	}
	return names
}

// PathOf returns the path from class c of level 0 up, with −1 above a class without a
// parent.
func (h *Hierarchy) PathOf(c int32) Path { return h.PathFrom(0, c) }

// PathFrom returns the path from class c of a level up, with −1 at finer levels.
func (h *Hierarchy) PathFrom(level int, c int32) Path {
	path := slices.Repeat(Path{-1}, len(h.Levels))
	for l := level; l < len(path); l++ {
		path[l] = c
		if c >= 0 {
			c = h.Levels[l].Classes[c].Parent
		}
	}
	return path
}

// Path returns the path of a class of level 0 by name. It returns false for an unknown
// class, and for one without a parent below a coarser level. It searches all classes;
// use a Lookup for many names.
func (h *Hierarchy) Path(class string) (Path, bool) {
	for i := range h.Levels[0].Classes {
		if h.Levels[0].Classes[i].Name == class {
			return h.assigned(int32(i))
		}
	}
	return nil, false
}

func (h *Hierarchy) assigned(c int32) (Path, bool) {
	if len(h.Levels) > 1 && h.Levels[0].Classes[c].Parent < 0 {
		return nil, false
	}
	return h.PathOf(c), true
}

// Lookup finds classes by name in constant time. It does not follow later changes of
// the hierarchy.
type Lookup struct {
	h     *Hierarchy
	index []map[string]int32
}

// Lookup indexes the class names of every level.
func (h *Hierarchy) Lookup() *Lookup {
	x := &Lookup{h: h, index: make([]map[string]int32, len(h.Levels))}
	for l := range h.Levels {
		x.index[l] = make(map[string]int32, len(h.Levels[l].Classes))
		for i, c := range h.Levels[l].Classes {
			x.index[l][c.Name] = int32(i)
		}
	}
	return x
}

// Class returns the class of the given level with that name.
func (x *Lookup) Class(level int, name string) (int32, bool) {
	c, ok := x.index[level][name]
	return c, ok
}

// Path is Hierarchy.Path in constant time.
func (x *Lookup) Path(class string) (Path, bool) {
	c, ok := x.index[0][class]
	if !ok {
		return nil, false
	}
	return x.h.assigned(c)
}
