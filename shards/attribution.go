package shards

import (
	"io"

	"github.com/parquet-go/parquet-go"
)

// ATTRIBUTION.parquet lists author, licence, title and address of every image, so that
// they can be read and shared without the images. It has one row per image, in the
// order of the shards:
//
//	image_id split author license title source_url modified
//
// All columns are texts with the values of the shards; unknown values are NULL. If no
// image of a data set has any of the four, the file is not written: `modified` is part of
// an attribution only together with them.

// attributionGroup is the number of rows in a row group. The library holds one in
// memory, about 10 MB.
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
	a.parquet = parquet.NewGenericWriter[any](out, flatSchema("attribution", a.cols),
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
