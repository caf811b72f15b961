package shards

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
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
	items []Item
	paths []labels.Path
	count int  // of the items
	key   Hash // of everything that decides its bytes but the images' own
}

// makePlan collects the items, checks that ids and paths are unique and that the
// classes form a tree, and cuts every split into shards of consecutive items.
func makePlan(ctx context.Context, src Source, o Options) (*plan, error) {
	tree := newTree(src.Levels(), o.Hierarchy)
	names := newClassNames(src.Levels())
	where := map[ImageID]string{}
	bySplit := map[labels.Split]*planned{}
	n := 0
	for item, err := range src.Items(ctx) {
		if err != nil {
			return nil, err
		}
		if o.Limit > 0 && n == o.Limit {
			break
		}
		n++
		if !slices.Contains(labels.Splits, item.Split) {
			return nil, fmt.Errorf("%s: split %.80q of %s; want one of %v", item.Where, item.Split, item.Path, labels.Splits)
		}
		if first, twice := where[item.ID]; twice {
			return nil, fmt.Errorf("%s: image %s (%s) occurs twice, first in %s", item.Where, item.ID, item.Path, first)
		}
		where[item.ID] = item.Where
		item.Names = names.add(&item)
		path, err := tree.path(&item)
		if err != nil {
			return nil, err
		}
		all := bySplit[item.Split]
		if all == nil {
			all = &planned{split: item.Split}
			bySplit[item.Split] = all
		}
		all.items, all.paths = append(all.items, item), append(all.paths, path)
	}
	if n == 0 {
		return nil, fmt.Errorf("no images found")
	}
	classes := tree.hierarchy()
	p := &plan{schema: &Schema{Classes: classes, Landmarks: src.Landmarks()}, notes: names.notes(classes)}
	if err := p.schema.check(); err != nil {
		return nil, err
	}
	for _, split := range labels.Splits {
		if all := bySplit[split]; all != nil {
			p.shards = append(p.shards, all.splitIntoShards(o.Settings)...)
		}
	}
	return p, p.hash(o.Settings)
}

// Check lists the items of a source as a build does. It returns notes on the names of classes, and the
// first fault of the list: a row that cannot be read, an unknown split, an image that occurs twice, or
// classes that form no tree.
func Check(ctx context.Context, src Source) (notes []string, err error) {
	p, err := makePlan(ctx, src, Options{})
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

// splitIntoShards divides a split into the number of shards that the settings give, into shards of
// a number of images, or into shards of a number of bytes.
func (all *planned) splitIntoShards(s Settings) []planned {
	if s.Shards > 0 {
		s.ImagesPerShard = (len(all.items) + s.Shards - 1) / s.Shards
	}
	var parts []planned
	start, bytes := 0, int64(0)
	for i := range all.items {
		size := min(all.items[i].Size, MaxImageBytes) // larger ones, and forged sizes, become failures
		full := i > start && (s.ImagesPerShard > 0 && i-start == s.ImagesPerShard ||
			s.ShardBytes > 0 && bytes+size > s.ShardBytes)
		if full {
			parts = append(parts, planned{items: all.items[start:i], paths: all.paths[start:i]})
			start, bytes = i, 0
		}
		bytes += size
	}
	parts = append(parts, planned{items: all.items[start:], paths: all.paths[start:]})
	for i := range parts {
		parts[i].split, parts[i].count = all.split, len(parts[i].items)
		parts[i].name = shardName(all.split, i, len(parts))
	}
	return parts
}

// hash computes the key of every shard, by which a later build knows that the shard
// need not be built again. It covers format, settings, columns and classes, and
// everything that is known of each item before its pixels are read.
func (p *plan) hash(s Settings) error {
	s.Shards, s.ImagesPerShard, s.ShardBytes, s.Limit = 0, 0, 0, 0 // they show in the items
	features, err := p.schema.features(p.schema.columns())
	if err != nil {
		return err
	}
	common, err := json.Marshal([]any{shardVersion, s, features})
	if err != nil {
		return err
	}
	for i := range p.shards {
		h := sha256.New()
		h.Write(common)
		for k, item := range p.shards[i].items {
			item.Open = nil
			line, err := json.Marshal([]any{item.ID, item.Path, item.Split, p.shards[i].paths[k], item.Landmark,
				item.Attributes, item.Where, item.Size, item.Stamp, item.SHA256})
			if err != nil {
				return err
			}
			h.Write(append(line, '\n'))
		}
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
}

func newTree(levels []string, given *labels.Hierarchy) *tree {
	if given != nil {
		return &tree{given: given, lookup: given.Lookup(), levels: len(given.Levels)}
	}
	return &tree{builder: labels.NewBuilder(levels...), levels: len(levels)}
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
		return t.builder.Add(labels.Row{Names: item.Names, Where: item.Where})
	}
	c, ok := t.lookup.Class(0, item.Names[0])
	if !ok {
		c, ok = t.otherForm(item.Names[0])
	}
	if !ok {
		return nil, fmt.Errorf("%s: %s %.80q is not in the hierarchy%s", item.Where, t.given.Levels[0].Name, item.Names[0],
			t.twin(item.Names[0]))
	}
	path := t.given.PathOf(c)
	for l, name := range t.given.Names(path) {
		if l < len(item.Names) && item.Names[l] != "" && item.Names[l] != name && item.Names[l] != spelling.Form(name) {
			return nil, fmt.Errorf("%s: %s %.80q of %.80q; the hierarchy says %.80q",
				item.Where, t.given.Levels[l].Name, item.Names[l], item.Names[0], name)
		}
	}
	return path, nil
}

// otherForm finds a class of the given hierarchy whose name is in another form of Unicode.
func (t *tree) otherForm(name string) (class int32, ok bool) {
	at := slices.IndexFunc(t.given.Levels[0].Classes, func(c labels.Class) bool { return spelling.Form(c.Name) == name })
	return int32(at), at >= 0
}

// twin names a class of the given hierarchy that is spelled almost like a name; "" if there is none.
func (t *tree) twin(name string) string {
	key := spelling.Key(name)
	for _, c := range t.given.Levels[0].Classes {
		if spelling.Key(c.Name) == key {
			return fmt.Sprintf(", which has %.80q", c.Name)
		}
	}
	return ""
}
