package parquetfile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"hgld/internal/testing/must"
)

// readByPage reads the values of a column page by page, the last page first.
func readByPage(p *File, leaf Leaf) ([]parquet.Value, error) {
	pages, err := p.Pages(leaf)
	if err != nil {
		return nil, err
	}
	var values []parquet.Value
	for _, page := range slices.Backward(pages) {
		var part []parquet.Value
		if err := p.PageValues(leaf, page, func(v parquet.Value) error {
			part = append(part, v)
			return nil
		}); err != nil {
			return nil, err
		}
		values = append(part, values...)
	}
	return values, nil
}

// Pages that are read singly have the values of the whole column: with any compression and version,
// with or without a dictionary, in several row groups.
func TestSinglePagesAreRead(t *testing.T) {
	type texts struct {
		Plain  *string `parquet:"plain,optional"`
		Shared string  `parquet:"shared,dict"`
		Delta  string  `parquet:"delta,delta"`
	}
	rows := make([]texts, 900)
	for i := range rows {
		if i%7 > 0 {
			rows[i].Plain = new(fmt.Sprint("plain ", i))
		}
		rows[i].Shared = fmt.Sprint("shared ", i%50)
		rows[i].Delta = strings.Repeat("a", i%9) + fmt.Sprint(i)
	}
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Zstd} {
		for version := 1; version <= 2; version++ {
			path := filepath.Join(t.TempDir(), "pages.parquet")
			if err := parquet.WriteFile(path, rows, parquet.Compression(codec), parquet.DataPageVersion(version),
				parquet.PageBufferSize(512), parquet.MaxRowsPerRowGroup(350)); err != nil {
				t.Fatal(err)
			}
			p := must.Get(Open(path))(t)
			defer p.Close()
			for _, leaf := range p.Leaves() {
				var want []string
				if err := p.Values(leaf, func(v parquet.Value, _ bool) error {
					want = append(want, v.String())
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				values, err := readByPage(p, leaf)
				if err != nil {
					t.Fatalf("%s by %v, version %d: %v", leaf.Name, codec, version, err)
				}
				var got []string
				for _, v := range values {
					got = append(got, v.String())
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s by %v, version %d: other values page by page", leaf.Name, codec, version)
				}
				if pages, _ := p.Pages(leaf); len(pages) < 6 {
					t.Errorf("%s: %d pages, and the test wants several in a row group", leaf.Name, len(pages))
				}
			}
		}
	}
}
