package shards

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"slices"

	"hgld/internal/spelling"
	"hgld/labels"
)

// plan assigns the items to shards. It depends only on the items and the settings.
type plan struct {
	schema *Schema
	shards []planned
	notes  []string // of the names of classes
}

// planned is one shard to be built.
type planned struct {
	name  string
	split labels.Split
	group int    // of all items; 0: none
	items []Item // nil if they are not kept
	paths []labels.Path
	count int       // of the items
	bytes int64     // of the images in the source
	gone  []Failure // items without an image
	key   Hash      // of everything that decides its bytes but the images' own
}

// makePlan goes through the items, checks that ids and paths are unique and that the classes form a tree, and cuts
// every split into shards of consecutive items. keep tells of which groups the items are needed; nil: of all. An item
// without a group is always kept. What is not kept takes 8 bytes of memory for each item.
func makePlan(ctx context.Context, src Source, o Options, keep func(group int) bool) (*plan, error) {
	tree := newTree(src.Levels(), o.Hierarchy, !src.Landmarks())
	names := newClassNames(src.Levels())
	cutters := map[labels.Split]*cutter{}
	var ids []ImageID
	for item, err := range src.Items(ctx) {
		if err != nil {
			return nil, err
		}
		if o.Limit > 0 && len(ids) == o.Limit {
			break
		}
		ids = append(ids, item.ID)
		if !slices.Contains(labels.Splits, item.Split) {
			return nil, fmt.Errorf("%s: split %.80q of %s; want one of %v", item.Where, item.Split, item.Path, labels.Splits)
		}
		item.Names = names.add(&item)
		path, err := tree.path(&item)
		if err != nil {
			return nil, errors.Join(twice(ctx, src, ids), err)
		}
		c := cutters[item.Split]
		if c == nil {
			c = newCutter(item.Split, o.Settings)
			cutters[item.Split] = c
		}
		if err := c.add(item, path, item.Group == 0 || keep == nil || keep(item.Group)); err != nil {
			return nil, err
		}
	}
	if err := twice(ctx, src, ids); err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("no images found")
	}
	classes := tree.hierarchy()
	p := &plan{schema: &Schema{Classes: classes, Landmarks: src.Landmarks()}, notes: names.notes(classes)}
	if err := p.schema.check(); err != nil {
		return nil, err
	}
	for _, split := range labels.Splits {
		if c := cutters[split]; c != nil {
			list, err := c.end()
			if err != nil {
				return nil, err
			}
			p.shards = append(p.shards, list...)
		}
	}
	return p, p.hash(o.Settings)
}

// twice returns an error that names the first image that occurs twice among the first items of a source.
func twice(ctx context.Context, src Source, ids []ImageID) error {
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	repeated := false
	for i := 1; i < len(sorted); i++ {
		repeated = repeated || sorted[i] == sorted[i-1]
	}
	if !repeated {
		return nil
	}
	first, n := map[ImageID]string{}, 0
	for item, err := range src.Items(ctx) {
		if n++; err != nil || n > len(ids) {
			break
		}
		if where, seen := first[item.ID]; seen {
			return fmt.Errorf("%s: image %s (%s) occurs twice, first in %s", item.Where, item.ID, item.Path, where)
		}
		first[item.ID] = item.Where
	}
	return errors.New("the source changed while it was read; run the same command again")
}

// Check lists the items of a source as a build does. It returns notes on the names of classes, and the
// first fault of the list: a row that cannot be read, an unknown split, an image that occurs twice, or
// classes that form no tree.
func Check(ctx context.Context, src Source) (notes []string, err error) {
	p, err := makePlan(ctx, src, Options{}, func(int) bool { return false })
	if err != nil {
		return nil, err
	}
	return p.notes, nil
}

// images returns the number of items.
func (p *plan) images() int {
	n := 0
	for i := range p.shards {
		n += p.shards[i].count
	}
	return n
}

// hash completes the keys of the shards, by which a later build knows that a shard need not be built again. A key
// covers format, settings, columns and classes, and everything that is known of each item before its pixels are read.
func (p *plan) hash(s Settings) error {
	s.Shards, s.ImagesPerShard, s.ShardBytes, s.Limit = 0, 0, 0, 0 // they show in the items
	features, err := features(p.schema.columns())
	if err != nil {
		return err
	}
	common, err := json.Marshal([]any{shardVersion, s, features})
	if err != nil {
		return err
	}
	return p.sealKeys(sha256.New().(hash.Cloner), common)
}

// sealKeys replaces each key by its hash behind a common text. The text has all classes, so it is hashed once, not for
// each shard.
func (p *plan) sealKeys(begun hash.Cloner, common []byte) error {
	begun.Write(common)
	for i := range p.shards {
		h, err := begun.Clone()
		if err != nil {
			return err
		}
		h.Write(p.shards[i].key[:])
		h.Sum(p.shards[i].key[:0])
	}
	return nil
}

// tree finds the path of an item: by its finest class in a given hierarchy, or in a
// hierarchy that grows with the items.
type tree struct {
	given   *labels.Hierarchy
	lookup  *labels.Lookup
	builder *labels.Builder
	levels  int
	whole   bool               // items need every level
	forms   []map[string]int32 // classes of the given hierarchy by composed name, of the levels that were asked for
}

func newTree(levels []string, given *labels.Hierarchy, whole bool) *tree {
	if given != nil {
		n := len(given.Levels)
		return &tree{given: given, lookup: given.Lookup(), levels: n, forms: make([]map[string]int32, n)}
	}
	return &tree{builder: labels.NewBuilder(levels...), levels: len(levels), whole: whole}
}

func (t *tree) hierarchy() *labels.Hierarchy {
	if t.given != nil {
		return t.given
	}
	return t.builder.Hierarchy()
}

// path returns the classes of an item, all −1 if it has no names. The names must agree
// with a given hierarchy.
func (t *tree) path(item *Item) (labels.Path, error) {
	if len(item.Names) == 0 {
		return slices.Repeat(labels.Path{-1}, t.levels), nil
	}
	if t.builder != nil {
		return t.builder.Add(labels.Row{Names: item.Names, Where: item.Where, Partial: item.Partial, Whole: t.whole})
	}
	finest := 0 // level that the item has
	for item.Partial && finest < len(item.Names)-1 && item.Names[finest] == "" {
		finest++
	}
	name := item.Names[finest]
	c, ok := t.lookup.Class(finest, name)
	if !ok {
		c, ok = t.otherForm(finest, name)
	}
	if !ok {
		return nil, fmt.Errorf("%s: %s %.80q is not in the hierarchy%s", item.Where, t.given.Levels[finest].Name, name,
			t.twin(finest, name))
	}
	path := t.given.PathFrom(finest, c)
	for l, name := range t.given.Names(path) {
		if l < len(item.Names) && item.Names[l] != "" && item.Names[l] != name && item.Names[l] != spelling.Form(name) {
			return nil, fmt.Errorf("%s: %s %.80q of %.80q; the hierarchy says %.80q",
				item.Where, t.given.Levels[l].Name, item.Names[l], item.Names[finest], name)
		}
	}
	return path, nil
}

// otherForm finds the first class of the given hierarchy whose name is in another form of Unicode.
func (t *tree) otherForm(level int, name string) (class int32, ok bool) {
	if t.forms[level] == nil {
		t.forms[level] = map[string]int32{}
		for i, c := range slices.Backward(t.given.Levels[level].Classes) {
			t.forms[level][spelling.Form(c.Name)] = int32(i)
		}
	}
	class, ok = t.forms[level][name]
	return class, ok
}

// twin names a class of the given hierarchy that is spelled almost like a name; "" if there is none.
func (t *tree) twin(level int, name string) string {
	key := spelling.Key(name)
	for _, c := range t.given.Levels[level].Classes {
		if spelling.Key(c.Name) == key {
			return fmt.Sprintf(", which has %.80q", c.Name)
		}
	}
	return ""
}
