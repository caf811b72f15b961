package export

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/tensorfile"
)

// Embeddings holds vectors with the ids and classes of their images.
type Embeddings struct {
	Vectors tensorfile.Tensor // F32 [N,D]
	IDs     []string          // one id per image
	Levels  []string          // names of the levels, finest first
	Classes [][]string        // [N][levels]: class names of each image; "" means no class

	// Parts calls f for consecutive rows of the vectors, which then need not all be in memory;
	// Vectors then has only their shape. nil: Vectors holds the rows.
	Parts func(f func(part tensorfile.Tensor) error) error
}

// parts calls f for all vectors.
func (e *Embeddings) parts(f func(part tensorfile.Tensor) error) error {
	if e.Parts != nil {
		return e.Parts(f)
	}
	return f(e.Vectors)
}

// NPY writes the vectors as a .npy file.
func (e *Embeddings) NPY(w io.Writer) error {
	header, err := tensorfile.NPYHeader(e.Vectors.DType, e.Vectors.Shape)
	if err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	return e.parts(func(part tensorfile.Tensor) error {
		_, err := w.Write(part.Data)
		return err
	})
}

// rowsPerGroup keeps a row group of 2048-dimensional vectors at 64 MB.
const rowsPerGroup = 8192

// Parquet writes one row per image. Column "id" holds its name. Columns "label_0", "label_1"
// and so on hold its class names, finest level first, with null for no class. Column
// "embedding" is a list of float32. The file's metadata holds the names of the levels under
// "hgld.level_0" and so on. Equal arguments produce equal bytes.
func (e *Embeddings) Parquet(w io.Writer) error {
	if len(e.Vectors.Shape) != 2 || e.Vectors.Shape[1] == 0 || e.Vectors.Shape[0] != len(e.IDs) ||
		len(e.Classes) != len(e.IDs) {
		return fmt.Errorf("export: %d images and %d rows of labels for vectors %v", len(e.IDs), len(e.Classes),
			e.Vectors.Shape)
	}
	columns := parquet.Group{
		"id":        parquet.String(),
		"embedding": parquet.List(parquet.Encoded(parquet.Leaf(parquet.FloatType), &parquet.Plain)),
	}
	for level := range e.Levels {
		columns[labelColumn(level)] = parquet.Optional(parquet.String())
	}
	options := []parquet.WriterOption{
		parquet.NewSchema("embeddings", columns),
		parquet.CreatedBy("hgld", "1", "parquet-go"), // a fixed version, so that equal inputs give equal bytes
		parquet.MaxRowsPerRowGroup(rowsPerGroup),
	}
	options = append(options, parquet.KeyValueMetadata("hgld_export", "embeddings"))
	for level, name := range e.Levels {
		options = append(options, parquet.KeyValueMetadata(fmt.Sprintf("hgld.level_%d", level), name))
	}
	p := parquet.NewGenericWriter[any](w, options...)
	width, i := e.Vectors.Shape[1], 0
	order := e.order()
	var row parquet.Row
	err := e.parts(func(part tensorfile.Tensor) error {
		values, err := part.Float32()
		for ; err == nil && len(values) > 0; i, values = i+1, values[width:] {
			row = layOut(row[:0], e.IDs[i], values[:width], e.Classes[i], order)
			_, err = p.WriteRows([]parquet.Row{row})
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if err := p.Close(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

func labelColumn(level int) string { return fmt.Sprintf("label_%d", level) }

// order returns the levels in the order of their columns, which parquet-go sorts by name.
func (e *Embeddings) order() []int {
	levels := make([]int, len(e.Levels))
	for i := range levels {
		levels[i] = i
	}
	slices.SortFunc(levels, func(a, b int) int { return strings.Compare(labelColumn(a), labelColumn(b)) })
	return levels
}

// layOut appends the leaf values of a row in column order: embedding, id, labels.
func layOut(row parquet.Row, id string, vector []float32, classes []string, order []int) parquet.Row {
	const listed = 1 // definition level of an existing list element
	for k, v := range vector {
		row = append(row, parquet.FloatValue(v).Level(min(k, 1), listed, 0))
	}
	row = append(row, parquet.ByteArrayValue([]byte(id)).Level(0, 0, 1))
	for at, level := range order {
		v := parquet.NullValue().Level(0, 0, 2+at)
		if name := classes[level]; name != "" {
			v = parquet.ByteArrayValue([]byte(name)).Level(0, 1, 2+at)
		}
		row = append(row, v)
	}
	return row
}

// Labels writes the label CSV that goes with vectors in a .npy file, in the format that hgld
// eval reads: column "id" and one column per level, finest first. A cell without a class is
// empty.
func (e *Embeddings) Labels(w io.Writer) error {
	c := csv.NewWriter(w)
	if err := c.Write(append([]string{"id"}, e.Levels...)); err != nil {
		return err
	}
	for i, id := range e.IDs {
		if err := c.Write(append([]string{id}, e.Classes[i]...)); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}
