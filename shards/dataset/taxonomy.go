package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/classes"
	"hgld/internal/csvfile"
	"hgld/internal/regular"
	"hgld/internal/spelling"
	"hgld/labels"
	"hgld/shards"
)

// Below adds coarser levels to a source. A table gives them: its header names levels, finest first, of
// which the first is the coarsest of the source, and each row has a class of it and the classes above.
//
//	make,origin
//	Audi,Germany
//
// An item whose class the table lacks is an error that names it. An item without a class stays so, and
// so does one that lacks the source's coarsest level. noClass is that of [Settings]: a cell of the table that
// means no class is an error.
func Below(ctx context.Context, src shards.Source, table string, noClass []string) (shards.Source, error) {
	if src.Landmarks() {
		return nil, errors.New("taxonomy: the levels above a landmark come from its label file")
	}
	b := &below{Source: src, base: filepath.Base(table), above: map[string][]string{}}
	b.levels = src.Levels()
	b.joins = len(b.levels) - 1
	f, err := regular.Open(table)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := b.read(csvfile.NewReader(f), noClass); err != nil {
		return nil, fmt.Errorf("taxonomy %s: %w", b.base, err)
	}
	if b.input, err = FileInput(ctx, table); err != nil {
		return nil, err
	}
	return b, nil
}

type below struct {
	shards.Source
	base   string
	levels []string
	joins  int                 // the level that the table begins with
	above  map[string][]string // the classes above a class of that level
	input  shards.Input
}

// taxonRow is a row of the table: a class and those above it.
type taxonRow struct {
	names []string
	where string
}

// read reads the table. Rows must be a tree.
func (b *below) read(r *csvfile.Reader, noClass []string) error {
	rows, err := b.rows(r)
	if err != nil {
		return err
	}
	o := classes.Options{Missing: noClass, Independent: true}
	read, err := classes.Look(b.levels[b.joins:], o, classes.Table{Rows: func(yield func([]string, string) bool) {
		for _, row := range rows {
			if !yield(row.names, row.where) {
				return
			}
		}
	}})
	if err != nil {
		return err
	}
	tree := labels.NewBuilder(b.levels[b.joins:]...)
	for _, row := range rows {
		for l, name := range read.Read(0, row.names) {
			if name == "" {
				return fmt.Errorf("%s: %.80q: want a class in every column, and %s is %.80q", row.where,
					strings.Join(row.names, ","), b.levels[b.joins+l], row.names[l])
			}
			row.names[l] = spelling.Form(name)
		}
		if _, err := tree.Add(labels.Row{Names: row.names, Where: row.where}); err != nil {
			return err
		}
		b.above[row.names[0]] = row.names[1:]
	}
	if len(b.above) == 0 {
		return errors.New("has no rows")
	}
	return nil
}

// rows reads the rows, and the levels from the header.
func (b *below) rows(r *csvfile.Reader) (rows []taxonRow, err error) {
	r.Trim()
	header, err := classes.ReadHeading(r)
	if err != nil {
		return nil, err
	}
	joined := b.levels[b.joins]
	if len(header) < 2 || !strings.EqualFold(header[0], joined) {
		return nil, fmt.Errorf("line %d: the columns are %s; want %s, the coarsest level of the images, and then the "+
			"coarser ones", r.Line(), strings.Join(header, ", "), joined)
	}
	b.levels = slices.Concat(b.levels, header[1:])
	for i, name := range b.levels {
		if name == "" || slices.Contains(b.levels[:i], name) {
			return nil, fmt.Errorf("line %d: level %.80q is there twice or has no name", r.Line(), name)
		}
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, taxonRow{slices.Clone(row), fmt.Sprintf("line %d", r.Line())})
	}
}

// Levels are those of the source and of the table.
func (b *below) Levels() []string { return b.levels }

// Items adds the classes above to each item's.
func (b *below) Items(ctx context.Context) iter.Seq2[shards.Item, error] {
	return func(yield func(shards.Item, error) bool) {
		for item, err := range b.Source.Items(ctx) {
			if err == nil && len(item.Names) > 0 {
				item.Names, err = b.names(item)
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

func (b *below) names(item shards.Item) ([]string, error) {
	class := item.Names[b.joins]
	above, ok := b.above[spelling.Form(class)]
	switch {
	case class == "":
		above = make([]string, len(b.levels)-len(item.Names))
	case !ok:
		return nil, fmt.Errorf("%s: taxonomy %s has no row for %s %.80q", item.Where, b.base, b.levels[b.joins], class)
	}
	return slices.Concat(item.Names, above), nil
}

// Inputs adds the table.
func (b *below) Inputs(ctx context.Context, wanted func(int) bool) ([]shards.Input, error) {
	all, err := b.Source.Inputs(ctx, wanted)
	in := shards.Input{}
	if wanted(len(all)) {
		in = b.input
	}
	return append(all, in), err
}
