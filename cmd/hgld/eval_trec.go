package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hgld/internal/atomicfile"
	"hgld/train"
)

// trecFiles writes an evaluation for trec_eval and its kin:
//
//	PREFIX.run     query Q0 item rank score hgld     the first places of each query
//	PREFIX.qrels   query 0 item relevance            shared levels of the positives
//
// An item is a positive if it shares at least Least levels with the query; the
// query itself is none. trec_eval orders by score, and equal scores by the item's
// name, where hgld takes the gallery's rows.
type trecFiles struct {
	run, qrels     *atomicfile.File
	runOut, relOut *bufio.Writer
	query, gallery rankedItems
	names          []string            // of the gallery, as they stand in the files
	line           []byte              // that is being made
	own            func(query int) int // its row in the gallery, or −1
	places, least  int
	byClass        map[int32][]int32 // rows of the gallery by the class that a positive shares
	levels         int
}

func newTREC(s *evalSettings, levels int, query, gallery rankedItems, own func(query int) int) (*trecFiles, error) {
	t := &trecFiles{query: query, gallery: gallery, own: own, places: s.TRECPlaces, least: s.TRECLeast, levels: levels, byClass: map[int32][]int32{}}
	if t.least == 0 {
		t.least = levels
	}
	if t.least < 1 || t.least > levels || t.places < 1 {
		return nil,
			usagef("trec_least is %d, and the data have %s: want 1 for the coarsest class to %d for the finest, "+
				"or 0 for the finest", s.TRECLeast, count(levels, "level"), levels)
	}
	for i := range gallery.Len() {
		t.names = append(t.names, trecName(gallery.ID(i)))
		if c := gallery.Labels(i)[t.levels-t.least]; c >= 0 {
			t.byClass[c] = append(t.byClass[c], int32(i))
		}
	}
	var err error
	if t.run, err = atomicfile.Create(s.TREC + ".run"); err != nil {
		return nil, err
	}
	if t.qrels, err = atomicfile.Create(s.TREC + ".qrels"); err != nil {
		return nil, errors.Join(err, t.run.Close())
	}
	t.runOut, t.relOut = bufio.NewWriterSize(t.run, 1<<20), bufio.NewWriterSize(t.qrels, 1<<20)
	return t, nil
}

func (t *trecFiles) look(l *train.Look) { l.Places = t.places }

var trecBlanks = strings.NewReplacer("%", "%25", " ", "%20", "\t", "%09", "\n", "%0A", "\r", "%0D")

// trecName is an id without blanks, which part the columns.
func trecName(id string) string { return trecBlanks.Replace(id) }

// ranking writes the lines of a query; the writers keep their first error.
func (t *trecFiles) ranking(query int, rows []int32, scores []float32) error {
	id := trecName(t.query.ID(query))
	for k, row := range rows {
		t.line = append(append(append(append(t.line[:0], id...), " Q0 "...), t.names[row]...), ' ')
		t.line = append(strconv.AppendInt(t.line, int64(k)+1, 10), ' ')
		t.line = append(strconv.AppendFloat(t.line, float64(scores[k]), 'g', -1, 32), " hgld\n"...)
		t.runOut.Write(t.line)
	}
	path := t.query.Labels(query)
	own, err := t.own(query), error(nil)
	for _, row := range t.byClass[path[t.levels-t.least]] {
		if int(row) == own {
			continue
		}
		if shared := path.Shared(t.gallery.Labels(int(row))); shared >= t.least {
			_, err = fmt.Fprintf(t.relOut, "%s 0 %s %d\n", id, t.names[row], shared)
		}
	}
	return err
}

func (t *trecFiles) finish(context.Context, *train.Result) error {
	if err := errors.Join(t.runOut.Flush(), t.relOut.Flush()); err != nil {
		return err
	}
	return errors.Join(t.run.Commit(), t.qrels.Commit())
}

func (t *trecFiles) abandon() error { return errors.Join(t.run.Close(), t.qrels.Close()) }
