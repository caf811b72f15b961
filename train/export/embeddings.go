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

// Embeddings are vectors with what is known of their images.
type Embeddings struct {
	Vectors tensorfile.Tensor // F32 [N,D]
	IDs     []string          // of the images
	Levels  []string          // names of the levels, finest first
	Classes [][]string        // of each image the name of its class at each level; "": none
}

// rowsPerGroup keeps a row group of 2,048 numbers a row at 64 MB.
const rowsPerGroup = 8192

// Parquet writes one row an image: "id", a column of class names for each level,
// called "label_0", "label_1" and so on from the finest, null where there is no
// class, and "embedding", a list of float32. The levels' own names stand in the
// file's metadata as "hgld.level_0" and so on. The same arguments give the same
// bytes.
func (e *Embeddings) Parquet(w io.Writer) error {
	if len(e.Vectors.Shape) != 2 || e.Vectors.Shape[1] == 0 || e.Vectors.Shape[0] != len(e.IDs) ||
		len(e.Classes) != len(e.IDs) {
		return fmt.Errorf("export: %d images and %d rows of labels for vectors %v", len(e.IDs), len(e.Classes),
			e.Vectors.Shape)
	}
	values, err := e.Vectors.Float32()
	if err != nil {
		return fmt.Errorf("export: %w", err)
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
		parquet.CreatedBy("hgld", "1", "parquet-go"), // not the build's version: equal inputs, equal bytes
		parquet.MaxRowsPerRowGroup(rowsPerGroup),
	}
	for level, name := range e.Levels {
		options = append(options, parquet.KeyValueMetadata(fmt.Sprintf("hgld.level_%d", level), name))
	}
	p := parquet.NewGenericWriter[any](w, options...)
	width := e.Vectors.Shape[1]
	order := e.order()
	var row parquet.Row
	for i, id := range e.IDs {
		row = layOut(row[:0], id, values[i*width:(i+1)*width], e.Classes[i], order)
		if _, err := p.WriteRows([]parquet.Row{row}); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	if err := p.Close(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

func labelColumn(level int) string { return fmt.Sprintf("label_%d", level) }

// order lists the levels in the order of their columns, which is that of the names.
func (e *Embeddings) order() []int {
	levels := make([]int, len(e.Levels))
	for i := range levels {
		levels[i] = i
	}
	slices.SortFunc(levels, func(a, b int) int { return strings.Compare(labelColumn(a), labelColumn(b)) })
	return levels
}

// layOut appends the leaves of a row: embedding, id, and the labels.
func layOut(row parquet.Row, id string, vector []float32, classes []string, order []int) parquet.Row {
	const listed = 1 // definition of an element of a list that is there
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

// Labels writes the CSV that goes with vectors in a .npy file, as hgld eval reads
// it: "id" and a column for each level, finest first, empty where there is no class.
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
