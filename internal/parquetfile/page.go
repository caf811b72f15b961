package parquetfile

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// Page locates a data page of a column, so that its values can be read without those of the pages
// before it.
type Page struct {
	First int64 // row of the first value, counted from the start of the file
	Rows  int64 // rows of the page

	group      int
	at, end    int64 // offsets of the header and of the end of the content
	dictionary int64 // offset of the end of the dictionary page, or of the first page if there is none
}

// Pages lists the data pages of a column that has one value per row. It reads only their headers.
// An error in the file is a *FormatError.
func (p *File) Pages(leaf Leaf) (list []Page, err error) {
	defer Recover(&err)
	if leaf.Lists > 0 {
		return nil, &FormatError{errors.New("it contains lists; want one value per row")}
	}
	row := int64(0)
	for g, group := range p.parquet.RowGroups() {
		meta := p.chunk(g, leaf)
		start, end, err := p.extent(meta)
		rows := int64(0)
		for at, n, dictionary := start, 0, start; at < end && err == nil; n++ {
			var head page
			var length int64
			if head, length, err = p.checkedHeader(at, end); err != nil {
				err = fmt.Errorf("page %d: %w", n, err)
				break
			}
			next := at + length + head[fieldPacked]
			switch format.PageType(head[fieldType]) {
			case format.DictionaryPage:
				dictionary = next
			case format.DataPage, format.DataPageV2:
				values := head[v1Values] + head[v2Values]
				list = append(list, Page{First: row + rows, Rows: values, group: g, at: at, end: next, dictionary: dictionary})
				rows += values
			}
			at = next
		}
		if err == nil && rows != group.NumRows() {
			err = fmt.Errorf("%d rows, want %d", rows, group.NumRows())
		}
		if err != nil {
			return nil, asFormat(fmt.Errorf("row group %d: %w", g, err))
		}
		row += rows
	}
	return list, nil
}

// PageValues calls each for the values of one page in order. The memory of a value is not reused.
// An error of each ends the reading and is returned unchanged; an error in the file is a
// *FormatError. Several pages may be read concurrently.
func (p *File) PageValues(leaf Leaf, page Page, each func(v parquet.Value) error) (err error) {
	defer Recover(&err)
	damaged := func(err error) error { return asFormat(fmt.Errorf("row group %d: %w", page.group, err)) }
	meta := p.chunk(page.group, leaf)
	start, _, err := p.extent(meta)
	if err != nil {
		return damaged(err)
	}
	for _, part := range [][2]int64{{start, page.dictionary}, {page.at, page.end}} {
		if _, err := p.checkPages(meta, leaf.column, part[0], part[1]); err != nil {
			return damaged(err)
		}
	}
	chunk, ok := p.parquet.RowGroups()[page.group].ColumnChunks()[leaf.column.ColumnIndex].(*parquet.FileColumnChunk)
	if !ok {
		return damaged(errors.New("its column has no pages"))
	}
	pages := chunk.PagesFrom(without{p.file, page.dictionary, page.at})
	defer pages.Close()
	content, err := pages.ReadPage()
	if err != nil {
		return damaged(err)
	}
	if content.NumRows() != page.Rows {
		return damaged(fmt.Errorf("a page has %d rows, want %d", content.NumRows(), page.Rows))
	}
	values := make([]parquet.Value, page.Rows) // the page is not released: its values point into it
	n, err := content.Values().ReadValues(values)
	if err != nil && !errors.Is(err, io.EOF) || int64(n) != page.Rows {
		return damaged(fmt.Errorf("a page has %d values, want %d (%v)", n, page.Rows, err))
	}
	for _, v := range values {
		if err := each(v); err != nil {
			return err
		}
	}
	return nil
}

// without is a file with the bytes from one offset to a later one left out. A reader of a column
// chunk then finds the wanted page first.
type without struct {
	file     io.ReaderAt
	from, to int64
}

// ReadAt reads from an offset in the remaining bytes.
func (w without) ReadAt(buf []byte, at int64) (n int, err error) {
	if at < w.from {
		head := buf[:min(int64(len(buf)), w.from-at)]
		if n, err = w.file.ReadAt(head, at); n < len(head) || n == len(buf) {
			return n, err
		}
	}
	more, err := w.file.ReadAt(buf[n:], at+int64(n)+w.to-w.from)
	return n + more, err
}
