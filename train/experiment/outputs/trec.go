package outputs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"

	"hgld/internal/atomicfile"
	"hgld/internal/terminal"
	"hgld/internal/usage"
	"hgld/train/qrels"
	"hgld/train/retrieval"
)

// TREC configures the files for trec_eval:
//
//	PREFIX.run     query Q0 item rank score hgld     the first places of each query
//	PREFIX.qrels   query 0 item relevance            shared levels of the positives
//
// Ids are named as [qrels.Name] does. Both programs sort by score. trec_eval breaks ties by the item's
// name, hgld by the gallery row.
type TREC struct {
	Prefix string // the path of both files without their extensions
	Places int    // the number of places per query, at least 1

	// Least is the number of levels that a positive shares with the query, from 1 (the coarsest
	// class) up to all levels (the finest). 0 means all levels.
	Least  int
	Levels int             // the number of levels
	Truth  retrieval.Truth // decides how many levels an item shares with a query; nil: their labels do

	// Query and Gallery are the items.
	Query, Gallery Items

	// Own returns the gallery row of a query, or −1 if the gallery does not contain it. A query
	// never counts as its own positive.
	Own func(query int) int
	Log func(format string, args ...any) // receives a remark if ids are escaped
}

// trecFiles holds the open files.
type trecFiles struct {
	TREC
	run, qrels     *atomicfile.File
	runOut, relOut *bufio.Writer
	queries, names []string          // names of the queries and of the gallery items
	line           []byte            // buffer for the current line
	byClass        map[int32][]int32 // gallery rows by the class that a positive shares
	shared         []byte            // buffer for what Truth says
}

// namesOf returns the names of the items, and how many differ from their ids.
func namesOf(side string, items Items) (names []string, escaped int, err error) {
	ids := make([]string, items.Len())
	for i := range ids {
		ids[i] = items.ID(i)
		name := qrels.Name(ids[i])
		if names = append(names, name); name != ids[i] {
			escaped++
		}
	}
	if _, err := qrels.Names(ids); err != nil {
		return nil, 0, usage.Errorf("%s: %w; a TREC file names items by id", side, err)
	}
	return names, escaped, nil
}

// Open creates the files. It returns a [*usage.Error] if Least or Places is out of range, or an id is there twice.
func (o TREC) Open() (Output, error) {
	given := o.Least
	if o.Least == 0 {
		o.Least = o.Levels
	}
	if o.Least < 1 || o.Least > o.Levels || o.Places < 1 {
		return nil, usage.Errorf("trec_min_level is %d, but the data have %s: want 1 for the coarsest class to %d for the "+
			"finest, or 0 for the finest", given, terminal.Count(o.Levels, "level"), o.Levels)
	}
	t := &trecFiles{TREC: o, byClass: map[int32][]int32{}}
	var err error
	var ofQueries, ofGallery int
	if t.queries, ofQueries, err = namesOf("queries", o.Query); err != nil {
		return nil, err
	}
	if t.names, ofGallery, err = namesOf("gallery", o.Gallery); err != nil {
		return nil, err
	}
	if n := max(ofQueries, ofGallery); n > 0 && o.Log != nil {
		o.Log("%d ids have white space or %% and are escaped in %s.run and %s.qrels, as in addresses (%%20); hgld reads "+
			"them back", n, o.Prefix, o.Prefix)
	}
	for i := range o.Gallery.Len() {
		if c := o.Gallery.Labels(i)[o.Levels-o.Least]; c >= 0 {
			t.byClass[c] = append(t.byClass[c], int32(i))
		}
	}
	if t.run, err = atomicfile.Create(o.Prefix + ".run"); err != nil {
		return nil, err
	}
	if t.qrels, err = atomicfile.Create(o.Prefix + ".qrels"); err != nil {
		return nil, errors.Join(err, t.run.Close())
	}
	t.runOut, t.relOut = bufio.NewWriterSize(t.run, 1<<20), bufio.NewWriterSize(t.qrels, 1<<20)
	return t, nil
}

// Look implements Output.
func (t *trecFiles) Look(l *retrieval.Observer) { l.Places = t.Places }

// Ranking writes the lines of one query. The writers keep their first error.
func (t *trecFiles) Ranking(query int, rows []int32, scores []float32) error {
	id := t.queries[query]
	for k, row := range rows {
		t.line = append(append(append(append(t.line[:0], id...), " Q0 "...), t.names[row]...), ' ')
		t.line = append(strconv.AppendInt(t.line, int64(k)+1, 10), ' ')
		t.line = append(strconv.AppendFloat(t.line, float64(scores[k]), 'g', -1, 32), " hgld\n"...)
		t.runOut.Write(t.line)
	}
	if t.Truth != nil {
		return t.judged(query)
	}
	path := t.Query.Labels(query)
	own, err := t.Own(query), error(nil)
	for _, row := range t.byClass[path[t.Levels-t.Least]] {
		if int(row) == own {
			continue
		}
		if shared, known := path.Related(t.Gallery.Labels(int(row)), 0, t.Levels); known && shared >= t.Least {
			_, err = fmt.Fprintf(t.relOut, "%s 0 %s %d\n", id, t.names[row], shared)
		}
	}
	return err
}

// judged writes the positives of a query by the truth.
func (t *trecFiles) judged(query int) (err error) {
	if t.shared == nil {
		t.shared = make([]byte, t.Gallery.Len())
	}
	t.Truth.Shared(t.shared, query)
	for row, shared := range t.shared {
		if row != t.Own(query) && int(shared) >= t.Least && int(shared) <= t.Levels {
			_, err = fmt.Fprintf(t.relOut, "%s 0 %s %d\n", t.queries[query], t.names[row], shared)
		}
	}
	return err
}

// Finish implements Output.
func (t *trecFiles) Finish(context.Context, *retrieval.Result) error {
	if err := errors.Join(t.runOut.Flush(), t.relOut.Flush()); err != nil {
		return err
	}
	return errors.Join(t.run.Commit(), t.qrels.Commit())
}

// Close implements Output.
func (t *trecFiles) Close() error { return errors.Join(t.run.Close(), t.qrels.Close()) }
