package shards

import (
	"crypto/sha256"
	"encoding/json"
	"hash"
	"image"
	"reflect"

	"hgld/labels"
)

// cutter cuts the items of a split into shards, in their order: into the number of shards that the settings give, or
// into shards of a number of images or of bytes, which end where a group ends.
type cutter struct {
	split  labels.Split
	s      Settings
	all    planned // the items, if they have to be counted first
	shards []planned
	sum    hash.Hash // of the items of the last shard
}

func newCutter(split labels.Split, s Settings) *cutter {
	return &cutter{split: split, s: s, sum: sha256.New()}
}

// add adds an item. Unless it is kept, only what is known of it goes into the shard's key.
func (c *cutter) add(item Item, path labels.Path, keep bool) error {
	if c.s.Shards > 0 {
		c.all.items, c.all.paths = append(c.all.items, item), append(c.all.paths, path)
		return nil
	}
	return c.cut(item, path, item.Group, keep)
}

func (c *cutter) cut(item Item, path labels.Path, group int, keep bool) error {
	size := min(item.Size, MaxImageBytes) // larger ones, and forged sizes, become failures
	if part := item.Part; part != nil && part.Of.X > 0 && part.Of.Y > 0 {
		box := part.Box.Intersect(image.Rectangle{Max: part.Of})
		size = int64(float64(size) * float64(box.Dx()*box.Dy()) / float64(part.Of.X*part.Of.Y))
	}
	if p := c.last(); p == nil || p.group != group || c.s.ImagesPerShard > 0 && p.count == c.s.ImagesPerShard ||
		c.s.ShardBytes > 0 && p.bytes+size > c.s.ShardBytes {
		c.seal()
		c.shards = append(c.shards, planned{split: c.split, group: group})
	}
	p := c.last()
	p.count++
	p.bytes += size
	if item.Missing {
		p.gone = append(p.gone, item.failure(MissingFailure, item.missing()))
	}
	known, sum := item.Attributes, item.AttributesSum
	if sum != "" {
		known = Attributes{}
	}
	line := []any{item.ID, item.Path, item.Split, path, item.Landmark, inKey(known), item.Where, item.Size, item.Stamp,
		item.SHA256}
	if sum != "" {
		line = append(line, sum)
	}
	if item.Part != nil {
		line = append(line, item.Part)
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	c.sum.Write(append(text, '\n'))
	if keep {
		item.Names, item.AttributesSum = nil, "" // they have done their work
		p.items, p.paths = append(p.items, item), append(p.paths, path)
	}
	return nil
}

// keyAttributes is Attributes without its tags: a key has the names of its fields.
var keyAttributes = func() reflect.Type {
	fields := reflect.VisibleFields(reflect.TypeFor[Attributes]())
	for i := range fields {
		fields[i].Tag = ""
	}
	return reflect.StructOf(fields)
}()

// inKey returns attributes as the key of a shard has them. Other JSON would make all shards anew.
func inKey(a Attributes) any { return reflect.ValueOf(a).Convert(keyAttributes).Interface() }

// last returns the shard that is being filled, nil before the first.
func (c *cutter) last() *planned {
	if len(c.shards) == 0 {
		return nil
	}
	return &c.shards[len(c.shards)-1]
}

// seal ends the last shard.
func (c *cutter) seal() {
	if p := c.last(); p != nil {
		c.sum.Sum(p.key[:0])
		c.sum.Reset()
	}
}

// end returns the shards with their names.
func (c *cutter) end() ([]planned, error) {
	if n := len(c.all.items); n > 0 {
		c.s.ImagesPerShard, c.s.ShardBytes = (n+c.s.Shards-1)/c.s.Shards, 0
		for i, item := range c.all.items {
			if err := c.cut(item, c.all.paths[i], 0, true); err != nil {
				return nil, err
			}
		}
	}
	c.seal()
	for i := range c.shards {
		c.shards[i].name = shardName(c.split, i, len(c.shards))
	}
	return c.shards, nil
}
