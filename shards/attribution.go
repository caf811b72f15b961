package shards

import (
	"io"

	"github.com/parquet-go/parquet-go"
)

// ATTRIBUTION.parquet names author, licence, title and address of every image in
// one file, so that they can be looked through and handed on without the images. A
// row an image, in the order of the shards:
//
//	image_id split author license title source_url modified
//
// All columns are texts, as they stand in the shards; what is not known is NULL.
// Where no image of a data set has any of the four, there is no such file: what was
// modified is an attribution only together with them.

// attributionGroup is the number of rows in a row group, which the library holds in
// memory: some 10 MB.
const attributionGroup = 1 << 16

// attribution writes ATTRIBUTION.parquet.
type attribution struct {
	parquet *parquet.GenericWriter[any]
	cols    []column
	leaves  parquet.Row
	rows    int
	any     bool // some row says whose image it is
}

func newAttribution(out io.Writer) *attribution {
	a := &attribution{cols: append([]column{imageIDColumn(), splitColumn()}, creditColumns()...)}
	group := parquet.Group{}
	var names []string
	for _, c := range a.cols {
		group[c.name] = parquet.Optional(c.node)
		names = append(names, c.name)
	}
	a.parquet = parquet.NewGenericWriter[any](out, parquet.NewSchema("attribution", inOrder(group, names)),
		parquet.CreatedBy("hgld", "1", "parquet-go"), // not the build's version: equal inputs, equal bytes
		parquet.MaxRowsPerRowGroup(attributionGroup),
	)
	return a
}

func (a *attribution) write(r *Row) error {
	a.leaves = values(a.leaves[:0], a.cols, r)
	if _, err := a.parquet.WriteRows([]parquet.Row{a.leaves}); err != nil {
		return err
	}
	of := r.Attributes
	a.rows++
	a.any = a.any || of.Author != "" || of.License != "" || of.Title != "" || of.SourceURL != ""
	return nil
}
