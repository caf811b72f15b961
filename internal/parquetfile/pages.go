package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"hgld/internal/budget"
)

const (
	// maxPageValues bounds the values of a page: the number of float64 that fit into one.
	maxPageValues = budget.Page / 8

	// maxHeaderBytes bounds the header of a page, which may hold whole texts as the least and the
	// greatest value.
	maxHeaderBytes = 16 << 20

	// headerWindow is the number of bytes first read of a header.
	headerWindow = 4 << 10
)

// The fields of a page's header in format.PageHeader, numbered as walker.number does.
const (
	fieldType     = 1
	fieldUnpacked = 2
	fieldPacked   = 3

	fieldV1      = 5 << 8 // DataPageHeader
	fieldDict    = 7 << 8 // DictionaryPageHeader
	fieldV2      = 8 << 8 // DataPageHeaderV2
	v1Values     = fieldV1 | 1
	v1Encoding   = fieldV1 | 2
	v1DefLevels  = fieldV1 | 3
	v1RepLevels  = fieldV1 | 4
	dictValues   = fieldDict | 1
	v2Values     = fieldV2 | 1
	v2Encoding   = fieldV2 | 4
	v2DefBytes   = fieldV2 | 5
	v2RepBytes   = fieldV2 | 6
	v2Compressed = fieldV2 | 7
)

// page holds the numbers in the header of a page, by field.
type page map[int]int64

// checkChunk compares the sizes in the page headers of a column chunk with the chunk.
func (p *File) checkChunk(meta *format.ColumnMetaData, leaf parquet.LeafColumn) error {
	start, end, err := p.extent(meta)
	if err != nil {
		return err
	}
	values, err := p.checkPages(meta, leaf, start, end)
	if err == nil && values != meta.NumValues {
		err = fmt.Errorf("%d values, want %d", values, meta.NumValues)
	}
	return err
}

// chunk returns the footer's description of a column in a row group.
func (p *File) chunk(group int, leaf Leaf) *format.ColumnMetaData {
	return &p.parquet.Metadata().RowGroups[group].Columns[leaf.column.ColumnIndex].MetaData
}

// extent returns the offsets of the first page of a column chunk and of its end.
func (p *File) extent(meta *format.ColumnMetaData) (start, end int64, err error) {
	start = meta.DataPageOffset
	if meta.DictionaryPageOffset != 0 {
		start = meta.DictionaryPageOffset
	}
	if size := p.parquet.Size(); start < 4 || meta.TotalCompressedSize < 0 || start > size ||
		meta.TotalCompressedSize > size-start {
		return 0, 0, fmt.Errorf("its pages lie at %d and have %d bytes, in a file of %d", start, meta.TotalCompressedSize,
			size)
	}
	return start, start + meta.TotalCompressedSize, nil
}

// checkPages compares the sizes in the page headers between two offsets with the space between
// them. It returns the number of values.
func (p *File) checkPages(meta *format.ColumnMetaData, leaf parquet.LeafColumn, at, end int64) (int64, error) {
	var buf []byte
	values := int64(0)
	for n := 0; at < end; n++ {
		head, length, err := p.checkedHeader(at, end)
		if err != nil {
			return 0, fmt.Errorf("page %d: %w", n, err)
		}
		if buf = buf[:0]; int64(cap(buf)) < head[fieldPacked] {
			buf = make([]byte, 0, head[fieldPacked])
		}
		buf = buf[:head[fieldPacked]]
		if err := readFull(p.file, buf, at+length); err != nil {
			return 0, err
		}
		if err := head.checkContent(buf, meta.Codec, leaf); err != nil {
			return 0, fmt.Errorf("page %d: %w", n, err)
		}
		values += head[v1Values] + head[v2Values]
		at += length + head[fieldPacked]
	}
	return values, nil
}

// checkedHeader reads the header of the page at an offset and checks its sizes.
func (p *File) checkedHeader(at, end int64) (head page, length int64, err error) {
	if head, length, err = p.header(at, end); err == nil {
		err = head.check(end - at - length)
	}
	return head, length, err
}

// header reads the header of the page at an offset, and returns its length.
func (p *File) header(at, end int64) (head page, length int64, err error) {
	for window := int64(headerWindow); ; window *= 16 {
		data := make([]byte, min(window, end-at))
		if err := readFull(p.file, data, at); err != nil {
			return nil, 0, err
		}
		head = page{v2Compressed: 1}
		walk := walker{data: data, budget: maxHeaderBytes, number: func(key int, v int64) { head[key] = v }}
		err := walk.walk()
		if !errors.Is(err, errTruncated) || int64(len(data)) == end-at || window >= maxHeaderBytes {
			return head, int64(walk.at), err
		}
	}
}

// check compares the sizes in a header with the number of bytes left in the chunk.
func (h page) check(left int64) error {
	if n := h[fieldPacked]; n < 0 || n > min(left, budget.Page) {
		return fmt.Errorf("its header declares %d bytes, want %d at most", n, min(left, budget.Page))
	}
	if n := h[fieldUnpacked]; n < 0 || n > budget.Page {
		return fmt.Errorf("its header declares %d bytes unpacked, want %d at most", n, budget.Page)
	}
	for _, key := range []int{v1Values, v2Values, dictValues} {
		if n := h[key]; n < 0 || n > maxPageValues {
			return fmt.Errorf("its header declares %d values, want %d at most", n, maxPageValues)
		}
	}
	if n := h[dictValues]; n > h[fieldUnpacked] {
		return fmt.Errorf("its header declares %d values in %d bytes", n, h[fieldUnpacked])
	}
	return nil
}

// checkContent unpacks a page and compares the lengths within it with the number of
// values that the header declares.
func (h page) checkContent(data []byte, codec format.CompressionCodec, leaf parquet.LeafColumn) error {
	var err error
	switch format.PageType(h[fieldType]) {
	case format.DictionaryPage:
		_, err = unpack(codec, data, h[fieldUnpacked])
		return err
	case format.DataPage:
		if data, err = unpack(codec, data, h[fieldUnpacked]); err != nil {
			return err
		}
		for _, level := range []struct{ most, encoding int }{
			{leaf.MaxRepetitionLevel, v1RepLevels}, {leaf.MaxDefinitionLevel, v1DefLevels},
		} {
			if level.most == 0 {
				continue
			}
			if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
				return errors.New("its levels are cut short")
			}
			n := 4 + int(binary.LittleEndian.Uint32(data))
			if err := checkLevels(data[4:n], level.most, h[v1Values], h[level.encoding]); err != nil {
				return err
			}
			data = data[n:]
		}
		return checkValues(data, h[v1Values], h[v1Encoding])
	case format.DataPageV2:
		rep, def := h[v2RepBytes], h[v2DefBytes]
		if size := int64(len(data)); rep < 0 || def < 0 || rep > size || def > size-rep {
			return errors.New("its levels are cut short")
		}
		const rle = int64(format.RLE) // these pages have no other
		if err := checkLevels(data[:rep], leaf.MaxRepetitionLevel, h[v2Values], rle); err != nil {
			return err
		}
		if err := checkLevels(data[rep:rep+def], leaf.MaxDefinitionLevel, h[v2Values], rle); err != nil {
			return err
		}
		if data = data[rep+def:]; h[v2Compressed] != 0 {
			if data, err = unpack(codec, data, h[fieldUnpacked]-rep-def); err != nil {
				return err
			}
		}
		return checkValues(data, h[v2Values], h[v2Encoding])
	}
	return nil // an index, which nobody reads
}
