package outputs

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/atomicfile"
	"hgld/internal/tensorfile"
	"hgld/train/retrieval"
)

// Export writes the results of every query for other programs:
//
//	PREFIX.queries.parquet  a row for each query: id, label_0, label_1 … and a column for each
//	                        metric, null where it is undefined
//	PREFIX.neighbours.npy   I32 [queries, places]: rows of the gallery, nearest first; −1 where
//	                        the gallery ends
//	PREFIX.scores.npy       F32 [queries, places]: their scores; NaN where the gallery ends
//	PREFIX.gallery.csv      id and classes of each row of the gallery
//	PREFIX.export.json      the SHA-256 of these files; see [VerifyExport]
//
// The result must hold the values of every query. Equal evaluations produce equal bytes.
type Export struct {
	Prefix string // path of the files without their endings
	Places int    // neighbours per query

	Levels         []string                 // names, finest first
	Classes        func(level int) []string // names of the classes of a level
	Query, Gallery Items                    // the two sides
	Limit          int                      // queries in a trial run; 0: all
}

// Files returns the names of the files.
func (o Export) Files() []string {
	var list []string
	for _, ending := range append(exportEndings(), exportRecordEnding) {
		list = append(list, o.Prefix+ending)
	}
	return list
}

// exporting is an export in progress.
type exporting struct {
	Export
	queries      int
	files        [2]*atomicfile.File // neighbours and scores
	out          [2]*bufio.Writer
	sums         [2]hash.Hash // of what was written to out
	found, score []byte
}

// Open creates the files of neighbours.
func (o Export) Open() (Output, error) {
	e := &exporting{Export: o, queries: o.Query.Len()}
	if o.Limit > 0 {
		e.queries = min(e.queries, o.Limit)
	}
	e.Places = min(e.Places, o.Gallery.Len())
	for i, dtype := range []string{"I32", "F32"} {
		header, err := tensorfile.NPYHeader(dtype, []int{e.queries, e.Places})
		if err == nil {
			e.files[i], err = atomicfile.Create(o.Files()[1+i])
		}
		if err != nil {
			return nil, errors.Join(err, e.Close())
		}
		e.sums[i] = sha256.New()
		e.out[i] = bufio.NewWriterSize(io.MultiWriter(e.files[i], e.sums[i]), 1<<20)
		e.out[i].Write(header)
	}
	return e, nil
}

// Look implements Output.
func (e *exporting) Look(l *retrieval.Observer) { l.Places = e.Places }

// Ranking writes the row of a query. The writers keep their first error.
func (e *exporting) Ranking(_ int, rows []int32, scores []float32) error {
	e.found, e.score = e.found[:0], e.score[:0]
	for k := range e.Places {
		row, score := int32(-1), float32(math.NaN())
		if k < len(rows) {
			row, score = rows[k], scores[k]
		}
		e.found = binary.LittleEndian.AppendUint32(e.found, uint32(row))
		e.score = binary.LittleEndian.AppendUint32(e.score, math.Float32bits(score))
	}
	e.out[0].Write(e.found)
	e.out[1].Write(e.score)
	return nil
}

// unfinished stands in the result's place while the first files of an export are written, so that they
// are known to be hgld's if no result follows.
const unfinished = `{"hgld_eval": 0, "unfinished": true}` + "\n"

// Finish implements Output.
func (e *exporting) Finish(_ context.Context, r *retrieval.Result) error {
	if _, err := os.Stat(e.Prefix + ".json"); errors.Is(err, fs.ErrNotExist) {
		if err := atomicfile.WriteFile(e.Prefix+".json", []byte(unfinished)); err != nil {
			return err
		}
	}
	for i, f := range e.files {
		if err := errors.Join(e.out[i].Flush()); err != nil {
			return err
		}
		if err := f.Commit(); err != nil {
			return err
		}
	}
	table, err := writeHashed(e.Files()[0], func(w io.Writer) error { return e.table(w, r) })
	gallery, other := writeHashed(e.Files()[3], e.gallery)
	if err := errors.Join(err, other); err != nil {
		return err
	}
	return writeExportRecord(e.Prefix, []hash.Hash{table, e.sums[0], e.sums[1], gallery})
}

// Close implements Output.
func (e *exporting) Close() (err error) {
	for _, f := range e.files {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

// names returns the class names of an item, "" for no class.
func (e *exporting) names(of Items, i int) []string {
	list := make([]string, len(e.Levels))
	for level, class := range of.Labels(i) {
		if class >= 0 {
			list[level] = e.Classes(level)[class]
		}
	}
	return list
}

// gallery writes the rows of the gallery.
func (e *exporting) gallery(w io.Writer) error {
	c := csv.NewWriter(w)
	if err := c.Write(append([]string{"id"}, e.Levels...)); err != nil {
		return err
	}
	for i := range e.Gallery.Len() {
		if err := c.Write(append([]string{e.Gallery.ID(i)}, e.names(e.Gallery, i)...)); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// table writes the values of the queries.
func (e *exporting) table(w io.Writer, r *retrieval.Result) error {
	columns := parquet.Group{"id": parquet.String()}
	// a fixed version, so that equal inputs give equal bytes
	options := []parquet.WriterOption{parquet.CreatedBy("hgld", "1", "parquet-go")}
	label := func(level int) string { return fmt.Sprintf("label_%d", level) }
	for level, name := range e.Levels {
		columns[label(level)] = parquet.Optional(parquet.String())
		options = append(options, parquet.KeyValueMetadata(fmt.Sprintf("hgld.level_%d", level), name))
	}
	for _, v := range r.Values {
		columns[v.Key] = parquet.Optional(parquet.Leaf(parquet.DoubleType))
	}
	place := map[string]int{} // index of a column; parquet-go sorts them by name
	for at, name := range slices.Sorted(maps.Keys(columns)) {
		place[name] = at
	}
	p := parquet.NewGenericWriter[any](w, append(options, parquet.NewSchema("queries", columns))...)
	row := make(parquet.Row, len(columns))
	put := func(name string, v parquet.Value, null bool) {
		at := place[name]
		if null {
			row[at] = parquet.NullValue().Level(0, 0, at)
		} else {
			row[at] = v.Level(0, 1, at)
		}
	}
	for q := range e.queries {
		row[place["id"]] = parquet.ByteArrayValue([]byte(e.Query.ID(q))).Level(0, 0, place["id"])
		for level, name := range e.names(e.Query, q) {
			put(label(level), parquet.ByteArrayValue([]byte(name)), name == "")
		}
		for _, v := range r.Values {
			x := float64(r.PerQuery.Values[v.Key][q])
			put(v.Key, parquet.DoubleValue(x), math.IsNaN(x))
		}
		if _, err := p.WriteRows([]parquet.Row{row}); err != nil {
			return fmt.Errorf("evaluation: %w", err)
		}
	}
	return p.Close()
}
