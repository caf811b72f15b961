package labels

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// compact holds the rows that BuildFrom makes of records, of which there may be 30 million, in some 90 bytes each, and
// makes a row when it is asked for.
type compact struct {
	t      *Table
	source string // of the labels

	// label returns the class that decides the label of a row, or sets the reason why there is none and returns −1.
	label func(*LandmarkLabel, *Record) int32
	above func(class int32) []string // its names from the second level up

	rows    []compactRow // by split and landmark
	words   []string     // tags, reasons and their details
	numbers map[string]uint32
	blocks  [][]byte // texts of the rows
}

// compactRow is a row. Its text is a category and an item, each behind its length.
type compactRow struct {
	landmark                 LandmarkID
	tag, raw, reason, detail uint32 // words
	class                    int32  // that decides the label; −1: there is a reason why there is none
	block, at                uint32 // of the text
	split                    uint8
	commons                  bool // the category is in Commons, and the text is what is behind categoryURL
}

// textBlock is the size of a block of texts. Blocks do not grow, because a copy would take memory beside them.
const textBlock = 1 << 20

// table makes the table of records.
func (c *compact) table(records func(use func(*Record)) error) (*Table, error) {
	c.numbers = map[string]uint32{}
	if err := records(c.add); err != nil {
		return nil, err
	}
	c.t.made = c.all
	return c.t, errors.Join(c.sort(), c.check())
}

// add adds the row of a record.
func (c *compact) add(rec *Record) {
	l := LandmarkLabel{Names: make([]string, len(c.t.Levels))}
	c.t.fill(&l, rec)
	class := c.label(&l, rec)
	r := compactRow{landmark: l.Landmark, class: class, split: uint8(slices.Index(Splits, l.Split)), tag: c.word(l.Tag),
		raw: c.word(l.Raw), reason: c.word(string(l.Reason)), detail: c.word(l.Detail)}
	category, commons := strings.CutPrefix(l.Category, categoryURL)
	r.commons = commons
	last := len(c.blocks) - 1
	if size := len(category) + len(l.Item) + 2*binary.MaxVarintLen32; last < 0 ||
		cap(c.blocks[last])-len(c.blocks[last]) < size {
		c.blocks = append(c.blocks, make([]byte, 0, max(textBlock, size)))
		last++
	}
	text := c.blocks[last]
	r.block, r.at = uint32(last), uint32(len(text))
	for _, part := range []string{category, l.Item} {
		text = append(binary.AppendUvarint(text, uint64(len(part))), part...)
	}
	c.blocks[last] = text
	c.rows = append(c.rows, r)
}

// word returns the number of a word.
func (c *compact) word(text string) uint32 {
	n, known := c.numbers[text]
	if !known {
		n = uint32(len(c.words))
		text = strings.Clone(text) // of a line
		c.words, c.numbers[text] = append(c.words, text), n
	}
	return n
}

// sort orders the rows by split and landmark, and finds landmarks that occur twice.
func (c *compact) sort() error {
	order := func(a, b compactRow) int {
		return cmp.Or(cmp.Compare(a.split, b.split), cmp.Compare(a.landmark, b.landmark))
	}
	slices.SortFunc(c.rows, order)
	for i := 1; i < len(c.rows); i++ {
		if r := c.rows[i]; order(c.rows[i-1], r) == 0 {
			return fmt.Errorf("%s landmark %d occurs twice", Splits[r.split], r.landmark)
		}
	}
	return nil
}

// check finds classes whose labels are no tree.
func (c *compact) check() error {
	b := NewBuilder(c.t.Levels...)
	seen := map[int32]bool{}
	for l, class := range c.each {
		if class < 0 || seen[class] {
			continue
		}
		seen[class] = true
		if _, err := b.Add(Row{Names: l.Names, Where: l.Key().String()}); err != nil {
			return err
		}
	}
	return nil
}

// all makes the rows, each valid until the next.
func (c *compact) all(yield func(*LandmarkLabel) bool) {
	for l := range c.each {
		if !yield(l) {
			return
		}
	}
}

// each is all with the classes that decide the labels.
func (c *compact) each(yield func(*LandmarkLabel, int32) bool) {
	none := make([]string, len(c.t.Levels)-1)
	for i := range c.rows {
		r := &c.rows[i]
		l := LandmarkLabel{Split: Splits[r.split], Landmark: r.landmark, Tag: c.words[r.tag], Raw: c.words[r.raw],
			Reason: Reason(c.words[r.reason]), Detail: c.words[r.detail]}
		text := c.blocks[r.block][r.at:]
		for _, part := range []*string{&l.Category, &l.Item} {
			n, size := binary.Uvarint(text)
			*part, text = string(text[size:size+int(n)]), text[size+int(n):]
		}
		if r.commons {
			l.Category = categoryURL + l.Category
		}
		above := none
		if r.class >= 0 {
			l.Source, above = c.source, c.above(r.class)
		}
		l.Names = append([]string{c.t.ClassName(l.Key())}, above...)
		if !yield(&l, r.class) {
			return
		}
	}
}
