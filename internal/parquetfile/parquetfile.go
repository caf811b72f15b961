// Package parquetfile reads single columns of Parquet files from untrusted sources. The Parquet
// library allocates what a header declares before it checks that the data are there, and it panics
// on much damage. This package first checks every size, and returns panics as errors.
//
// Apart from its result, a read takes at most a few times budget.Page of memory.
package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/budget"
	"hgld/internal/regular"
)

// FormatError reports a file that is not Parquet, is damaged, or uses features that this package
// does not read.
type FormatError struct{ Err error }

// Error returns the reason. It does not name the file.
func (e *FormatError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the Parquet library.
func (e *FormatError) Unwrap() error { return e.Err }

// Recover turns a panic of the Parquet library into an error. Every function that calls the library
// on a file that may be damaged must defer it.
func Recover(err *error) {
	if p := recover(); p != nil {
		*err = &FormatError{fmt.Errorf("damaged Parquet: %v", p)}
	}
}

// File is an open Parquet file.
type File struct {
	parquet *parquet.File
	file    *os.File
	leaves  []Leaf
}

// Open opens a Parquet file. An error in its content is a *FormatError.
func Open(path string) (p *File, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	opened, err := OpenAt(f, info.Size(), parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true))
	if err != nil {
		return nil, err
	}
	leaves, err := leavesOf(opened.Schema())
	return &File{opened, f, leaves}, err
}

// OpenAt is parquet.OpenFile for a file of size bytes that may be damaged. An error in its content
// is a *FormatError.
func OpenAt(in io.ReaderAt, size int64, options ...parquet.FileOption) (f *parquet.File, err error) {
	defer Recover(&err)
	if err := checkFooter(in, size); err != nil {
		return nil, asFormat(err)
	}
	f, err = parquet.OpenFile(in, size, options...)
	return f, asFormat(err)
}

// asFormat makes an error a *FormatError unless it comes from the operating system.
func asFormat(err error) error {
	if err == nil || errors.As(err, new(*FormatError)) || errors.As(err, new(*fs.PathError)) {
		return err
	}
	return &FormatError{err}
}

// tailBytes is the size of the end of a file: the length of the footer and the mark "PAR1".
const tailBytes = 8

// checkFooter compares the sizes in the footer with its length and with the file's.
func checkFooter(in io.ReaderAt, size int64) error {
	if size < 4+tailBytes {
		return fmt.Errorf("not a Parquet file: it has %d bytes", size)
	}
	var tail [tailBytes]byte
	if err := readFull(in, tail[:], size-tailBytes); err != nil {
		return err
	}
	var head [24]byte
	if _, err := in.ReadAt(head[:], 0); err == nil && string(head[:]) == "version https://git-lfs." {
		return errors.New("a pointer of Git LFS in place of the file; fetch that: git lfs pull")
	}
	if mark := string(tail[4:]); mark != "PAR1" {
		return fmt.Errorf("not a Parquet file: it ends with %.80q, want \"PAR1\"", mark)
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if most := min(size-4-tailBytes, budget.Page); n > most {
		return fmt.Errorf("its footer declares %d bytes, want %d at most", n, most)
	}
	footer := make([]byte, n)
	if err := readFull(in, footer, size-tailBytes-n); err != nil {
		return err
	}
	walk := walker{data: footer, budget: budget.Expansion*n + budget.Spare}
	if err := walk.walk(); err != nil {
		return fmt.Errorf("its footer is damaged: %w", err)
	}
	return nil
}

// readFull fills buf from offset on.
func readFull(in io.ReaderAt, buf []byte, offset int64) error {
	n, err := in.ReadAt(buf, offset)
	if n == len(buf) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// Close closes the file.
func (p *File) Close() error { return p.file.Close() }

// Metadata returns a value of the file's metadata by its key.
func (p *File) Metadata(key string) (value string, ok bool) { return p.parquet.Lookup(key) }

// Leaf is a column of values.
type Leaf struct {
	// Name is the name of the top-level column.
	Name  string
	Depth int // names from the top to the leaf

	// Path lists the names from the top to the leaf.
	Path []string

	// Kind is the physical type of the values.
	Kind parquet.Kind

	// Lists is the number of nested lists: 0 for one value per row, 1 for a list of values, and so
	// on.
	Lists int

	column parquet.LeafColumn
}

// Half reports whether the values are floats of two bytes.
func (l Leaf) Half() bool {
	if l.Kind != parquet.FixedLenByteArray || l.column.Node.Type().Length() != 2 {
		return false
	}
	logical := l.column.Node.Type().LogicalType() // the library tells Float16 apart by its size alone
	return logical == nil || logical.Value == nil || logical.Value.String() == "FLOAT16"
}

// Leaves returns the columns in the order of the file.
func (p *File) Leaves() []Leaf { return p.leaves }

func leavesOf(schema *parquet.Schema) (list []Leaf, err error) {
	defer Recover(&err)
	for _, path := range schema.Columns() {
		if leaf, ok := schema.Lookup(path...); ok {
			list = append(list, Leaf{path[0], len(path), path, leaf.Node.Type().Kind(), leaf.MaxRepetitionLevel, leaf})
		}
	}
	return list, nil
}

// Values calls each for the values of a column in order. first is set for the first value of a row.
// An error of each ends the reading and is returned unchanged; an error in the file is a
// *FormatError.
func (p *File) Values(leaf Leaf, each func(v parquet.Value, first bool) error) (err error) {
	defer Recover(&err)
	index := int(leaf.column.ColumnIndex)
	for g, group := range p.parquet.RowGroups() {
		if err := p.checkChunk(p.chunk(g, leaf), leaf.column); err != nil {
			return asFormat(fmt.Errorf("row group %d: %w", g, err))
		}
		rows := int64(0)
		pages := group.ColumnChunks()[index].Pages()
		err := eachValue(pages, func(v parquet.Value) error {
			first := v.RepetitionLevel() == 0
			if first {
				rows++
			}
			return each(v, first)
		})
		if err = errors.Join(err, pages.Close()); err != nil {
			return err
		}
		if rows != group.NumRows() {
			return &FormatError{fmt.Errorf("row group %d has %d rows, want %d", g, rows, group.NumRows())}
		}
	}
	return nil
}

// eachValue calls each for the values of all pages.
func eachValue(pages parquet.Pages, each func(v parquet.Value) error) error {
	var buf [1024]parquet.Value
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return asFormat(err)
		}
		for values := page.Values(); err == nil; {
			var n int
			n, err = values.ReadValues(buf[:])
			for _, v := range buf[:n] {
				if err := each(v); err != nil {
					return err
				}
			}
		}
		parquet.Release(page)
		if !errors.Is(err, io.EOF) {
			return asFormat(err)
		}
	}
}
