package shards

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/parquetfile"
	"hgld/labels"
)

// Image is a row of a View with its image file.
type Image struct {
	Row  int    // row of the view
	File []byte // the image file
}

// Images yields the rows of the view in order, each with its image file, which is valid
// until the next one. It reads neighbouring images together, so it runs at the speed of
// the disk or of memory. It stops after an error.
func (v *View) Images(ctx context.Context) iter.Seq2[Image, error] {
	return func(yield func(Image, error) bool) {
		var buf []byte
		for i := 0; i < v.Len(); {
			if err := ctx.Err(); err != nil {
				yield(Image{Row: i}, err)
				return
			}
			sh, from := v.at(i)
			to := v.runEnd(i, sh, from)
			x := sh.index
			n := int(x.offsets[to-1] - x.offsets[from] + int64(x.lengths[to-1]))
			if cap(buf) < n {
				buf = make([]byte, max(n, readAhead))
			}
			if err := sh.read(ctx, buf[:n], from, to); err != nil {
				yield(Image{Row: i}, fmt.Errorf("shards: %w", err))
				return
			}
			for r := from; r < to; r++ {
				at := int(x.offsets[r] - x.offsets[from])
				if !yield(Image{i, buf[at : at+int(x.lengths[r])]}, nil) {
					return
				}
				i++
			}
		}
	}
}

const readAhead = 1 << 20

// runEnd returns the end of a run of rows that starts with row `from` of the shard: rows
// that follow each other both in the view from i on and in the file, and that fit into
// one read.
func (v *View) runEnd(i int, sh *shard, from int) int {
	x := sh.index
	to := from + 1
	for k := i + 1; k < v.Len() && to < x.rows() && v.row(k) == v.row(k-1)+1; k++ {
		if x.offsets[to]+int64(x.lengths[to])-x.offsets[from] > readAhead {
			break
		}
		to++
	}
	return to
}

// Rows yields the complete rows of the view from the Parquet files, in order, with or
// without images. It compares a shard with its checksum before the first of its rows; a
// difference is a *DamageError. It stops after an error.
func (v *View) Rows(ctx context.Context, images bool) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		for i := 0; i < v.Len(); {
			sh, _ := v.at(i)
			next, stopped, err := v.shardRows(ctx, sh, i, images, yield)
			if stopped {
				return
			}
			if err != nil {
				yield(nil, fmt.Errorf("shards: %w", err))
				return
			}
			i = next
		}
	}
}

// shardRows yields the rows from i on that are in one shard, up to the first row in
// another shard or earlier in the file.
func (v *View) shardRows(ctx context.Context, sh *shard, i int, images bool,
	yield func(*Row, error) bool) (next int, stopped bool, err error) {
	r, err := v.set.openRows(ctx, sh, images)
	if err != nil {
		return i, false, err
	}
	defer r.Close()
	for last := -1; i < v.Len(); i++ {
		if err := ctx.Err(); err != nil {
			return i, false, err
		}
		here, at := v.at(i)
		if here != sh || at <= last {
			break
		}
		row, err := r.Row(at)
		if err != nil {
			return i, false, err
		}
		last = at
		if !yield(row, nil) {
			return i, true, nil
		}
	}
	return i, false, nil
}

// eachRow passes all rows of a shard to see, in order.
func (s *Set) eachRow(ctx context.Context, sh *shard, images bool, see func(at int, row *Row) error) error {
	r, err := s.openRows(ctx, sh, images)
	if err != nil {
		return err
	}
	defer r.Close()
	for at := range sh.file.Rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		row, err := r.Row(at)
		if err != nil {
			return err
		}
		if err := see(at, row); err != nil {
			return err
		}
	}
	return nil
}

// rowReader reads rows of one shard through the Parquet library.
type rowReader struct {
	set    *Set
	from   *reading
	sh     *shard
	cols   []column
	groups []parquet.RowGroup
	starts []int // first row of each group
	group  int   // of rows; -1: none
	rows   parquet.Rows
	next   int // row that rows would give
	buf    [1]parquet.Row
}

// openRows opens a shard for reading by rows. It compares the file with its checksum
// once, because the library panics on damaged headers.
func (s *Set) openRows(ctx context.Context, sh *shard, images bool) (*rowReader, error) {
	f, err := sh.open()
	if err != nil {
		return nil, err
	}
	if err := sh.checkSound(ctx, f); err != nil {
		return nil, err
	}
	return s.rowsOf(ctx, sh, f, images)
}

// rowsOf is openRows for a file that is not compared with its checksum.
func (s *Set) rowsOf(ctx context.Context, sh *shard, f file, images bool) (r *rowReader, err error) {
	defer parquetfile.Recover(&err)
	from := &reading{file: f, ctx: ctx}
	file, err := parquetfile.OpenAt(from, sh.file.Bytes, parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, from.damage(&DamageError{sh.file.Name, -1, err.Error()})
	}
	schema := &Schema{Classes: s.classes, Landmarks: s.manifest.Landmarks}
	cols := schema.columns()
	if want := schema.parquet(cols); !parquet.EqualNodes(file.Schema(), want) {
		return nil, &DamageError{sh.file.Name, -1, "its columns differ from the manifest"}
	}
	if err := checkLayout(file, cols); err != nil {
		return nil, &DamageError{sh.file.Name, -1, err.Error()}
	}
	groups := file.RowGroups()
	if !images {
		cols = cols[1:]
		only, err := parquet.Convert(schema.parquet(cols), file.Schema())
		if err != nil {
			return nil, err
		}
		for i := range groups {
			groups[i] = parquet.ConvertRowGroup(groups[i], only)
		}
	}
	r = &rowReader{set: s, from: from, sh: sh, cols: cols, group: -1}
	start := 0
	for _, g := range groups {
		r.groups = append(r.groups, g)
		r.starts = append(r.starts, start)
		start += int(g.NumRows())
	}
	if start != sh.file.Rows {
		return nil, &DamageError{sh.file.Name, -1, fmt.Sprintf("%d rows, want %d", start, sh.file.Rows)}
	}
	return r, nil
}

// checkLayout checks that the column chunks are encoded as Writer encodes them, and
// follow each other without gaps.
func checkLayout(file *parquet.File, cols []column) error {
	end := int64(len("PAR1"))
	for i, g := range file.Metadata().RowGroups {
		if len(g.Columns) != len(cols) || g.NumRows <= 0 || g.NumRows > rowsPerGroup {
			return fmt.Errorf("row group %d: %d columns of %d rows", i, len(g.Columns), g.NumRows)
		}
		for j, c := range g.Columns {
			m := &c.MetaData
			start := m.DataPageOffset
			if m.DictionaryPageOffset > 0 {
				start = min(start, m.DictionaryPageOffset)
			}
			if m.Codec != cols[j].node.Compression().CompressionCodec() || m.NumValues != g.NumRows {
				return fmt.Errorf("row group %d, %s: %d values, packed by %v", i, cols[j].name, m.NumValues, m.Codec)
			}
			if start != end || m.TotalCompressedSize <= 0 || m.TotalCompressedSize > file.Size()-start {
				return fmt.Errorf("row group %d, %s: %d bytes at %d, want them at %d", i, cols[j].name, m.TotalCompressedSize,
					start, end)
			}
			end = start + m.TotalCompressedSize
		}
	}
	return nil
}

// checkSound compares the whole file with its checksum, once.
func (sh *shard) checkSound(ctx context.Context, f file) error {
	sh.checking.Lock()
	defer sh.checking.Unlock()
	if sh.sound {
		return nil
	}
	crc, err := crcFile(ctx, f, sh.file.Bytes)
	if err == nil && crc != sh.index.shardCRC {
		f.forget(0, sh.file.Bytes) // a cache may be wrong, and the shard right
		crc, err = crcFile(ctx, f, sh.file.Bytes)
	}
	if err != nil {
		return err
	}
	if crc != sh.index.shardCRC {
		return &DamageError{sh.file.Name, -1, fmt.Sprintf("checksum %08x, want %08x", crc,
			sh.index.shardCRC)}
	}
	sh.sound = true
	return nil
}

// Row returns a row of the shard.
func (r *rowReader) Row(at int) (out *Row, err error) {
	defer parquetfile.Recover(&err)
	g := r.group
	for g < 0 || at >= r.starts[g]+int(r.groups[g].NumRows()) {
		g++
	}
	if g != r.group {
		if err := r.enter(g); err != nil {
			return nil, err
		}
	}
	if at != r.next {
		if err := r.rows.SeekToRow(int64(at - r.starts[g])); err != nil {
			return nil, r.damage(at, err)
		}
	}
	n, err := r.rows.ReadRows(r.buf[:])
	if n != 1 {
		if err == nil || err == io.EOF {
			err = errors.New("the row is missing")
		}
		return nil, r.damage(at, err)
	}
	r.next = at + 1
	row, err := row(r.cols, r.buf[0], len(r.set.manifest.Levels))
	if err != nil {
		return nil, r.damage(at, err)
	}
	if r.set.manifest.Landmarks && row.Landmark >= 0 {
		key := labels.LandmarkKey{Split: row.Split, Landmark: row.Landmark}.String()
		class, ok := r.set.lookup().Class(0, key)
		if !ok && row.Split == labels.Test { // GLDv2's queries have landmarks of the index
			class, ok = r.set.lookup().Class(0, labels.LandmarkKey{Split: labels.Index, Landmark: row.Landmark}.String())
		}
		if !ok {
			return nil, r.damage(at, fmt.Errorf("landmark %s is not in %s", key, HierarchyFile))
		}
		row.Labels[0] = class
	}
	return row, nil
}

// enter moves to a row group.
func (r *rowReader) enter(g int) error {
	if r.rows != nil {
		if err := r.rows.Close(); err != nil {
			return err
		}
	}
	r.group, r.next = g, r.starts[g]
	r.rows = r.groups[g].Rows()
	return nil
}

func (r *rowReader) damage(at int, err error) error {
	return r.from.damage(&DamageError{r.sh.file.Name, at, err.Error()})
}

// Close frees the pages.
func (r *rowReader) Close() error {
	if r.rows == nil {
		return nil
	}
	return r.rows.Close()
}
