// Package qrels reads relevance judgements: which items are right for a query, if labels do not
// decide that. It reads four kinds of file:
//
//	.pkl    the ground truth of Revisited Oxford or Paris, or a .json of it
//	.json   {"query": {"positives": ["a", "b"], "junk": ["c"]}, …}
//	.csv    the solution of Google Landmarks v2 retrieval: id,images,Usage, where images are
//	        ids separated by spaces and Usage is Public, Private or Ignored
//	other   TREC: query, an ignored word, item and relevance on each line; see [Name]
//
// Items are named by their ids, and those of Revisited Oxford and Paris also by the names of their files without
// folders and extension. Junk is removed from the ranking of its query. Items that a file
// does not name are negatives.
package qrels

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/csvfile"
	"hgld/internal/regular"
	"hgld/internal/torchfile"
)

// Qrels are the judgements of a file.
type Qrels struct {
	most    int  // greatest relevance
	trec    bool // queries and items are named as [Name] does
	stems   bool // queries and items may be named as [Stem] does
	queries map[string]map[string]int
}

// junk marks a judgement that removes the item from the ranking.
const junk = -1

// mostRelevance bounds relevances. Each relevance becomes a level of the data.
const mostRelevance = 126

// Read reads a file. usage selects rows of a solution of Google Landmarks: "public", "private",
// or "" for both. For Revisited Oxford and Paris it is the protocol: "easy", "medium" or "hard". For
// other files it must be "".
func Read(path, usage string) (*Qrels, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	q := &Qrels{queries: map[string]map[string]int{}}
	in := csvfile.Text(f)
	switch ext := filepath.Ext(path); {
	case torchfile.Named(path), ext == ".json" && IsRevisited(usage):
		var data []byte
		q.stems = true
		if data, err = ReadRevisited(path); err == nil {
			err = q.readRevisited(data, usage)
		}
	case ext == ".csv":
		err = q.readSolution(in, usage)
	case usage != "":
		return nil, fmt.Errorf("%s: only a .csv with a column Usage has a %s part: leave the part out", path, usage)
	case ext == ".json":
		err = q.readJSON(in)
	default:
		q.trec = true
		err = q.readTREC(in)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if q.most == 0 {
		return nil, fmt.Errorf("%s: no query has a positive item", path)
	}
	return q, nil
}

// Judges reports whether the file has a judgement of a query, which is named by its id.
func (q *Qrels) Judges(query string) bool { return q.queries[query] != nil }

// judge records a judgement.
func (q *Qrels) judge(query, item string, relevance int) error {
	items := q.queries[query]
	if items == nil {
		items = map[string]int{}
		q.queries[query] = items
	}
	if _, twice := items[item]; twice {
		return fmt.Errorf("query %.80q has two judgements of item %.80q, want one", query, item)
	}
	items[item], q.most = relevance, max(q.most, relevance)
	return nil
}

func (q *Qrels) readTREC(in io.Reader) error {
	s := bufio.NewScanner(in)
	line := 1
	for ; s.Scan(); line++ {
		fields := strings.Fields(s.Text())
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 4 {
			return fmt.Errorf("line %d has %d columns, want query, 0, item and relevance", line, len(fields))
		}
		relevance, err := strconv.Atoi(fields[3])
		if err != nil || relevance > mostRelevance {
			return fmt.Errorf("line %d: relevance is %.80q, want a whole number up to %d", line, fields[3], mostRelevance)
		}
		// As in trec_eval, a negative relevance means a negative.
		if err := q.judge(fields[0], fields[2], max(relevance, 0)); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d has more than %d bytes, want query, 0, item and relevance", line, bufio.MaxScanTokenSize)
	}
	return s.Err()
}

// usages are the parts of a solution. Queries in Ignored have no truth.
var usages = []string{"public", "private", "ignored"}

func (q *Qrels) readSolution(in io.Reader, usage string) error {
	r := csvfile.Separated(in, ',')
	head, err := r.Read()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	id, images, part := slices.Index(head, "id"), slices.Index(head, "images"), slices.Index(head, "Usage")
	if id < 0 || images < 0 || usage != "" && part < 0 {
		return fmt.Errorf("its columns are %.200s, want id, images and Usage", strings.Join(head, ", "))
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		line := r.Line()
		if part >= 0 {
			of := strings.ToLower(row[part])
			if !slices.Contains(usages, of) {
				return fmt.Errorf("line %d: Usage is %.80q, want Public, Private or Ignored", line, row[part])
			}
			if of == "ignored" || usage != "" && of != usage {
				continue
			}
		}
		for _, item := range strings.Fields(row[images]) {
			if err := q.judge(row[id], item, 1); err != nil {
				return fmt.Errorf("line %d: %w", line, err)
			}
		}
	}
}

func (q *Qrels) readJSON(in io.Reader) error {
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	seen := map[string]bool{}
	err := eachMember(d, func(query string) error {
		var list struct {
			Positives []string `json:"positives"`
			Junk      []string `json:"junk"`
		}
		if err := d.Decode(&list); err != nil {
			return err
		}
		if seen[query] {
			return fmt.Errorf("query %.80q occurs twice", query)
		}
		seen[query] = true
		for _, of := range []struct {
			items     []string
			relevance int
		}{{list.Positives, 1}, {list.Junk, junk}} {
			for _, item := range of.items {
				if err := q.judge(query, item, of.relevance); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf(`want {"query": {"positives": ["a"], "junk": ["b"]}, …}: %w`, err)
	}
	return nil
}

// eachMember calls f for the members of the only object in d; f decodes the value.
func eachMember(d *json.Decoder, f func(name string) error) error {
	open, err := d.Token()
	if err != nil {
		return err
	}
	if open != json.Delim('{') {
		return fmt.Errorf("it begins with %v, want {", open)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		text, ok := name.(string)
		if !ok {
			return fmt.Errorf("%v, want the id of a query", name)
		}
		if err := f(text); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is text after the last }")
	}
	return nil
}

// Levels names the grades as levels, greatest relevance first.
func (q *Qrels) Levels() []string {
	if q.most == 1 {
		return []string{"relevant"}
	}
	var names []string
	for grade := q.most; grade > 0; grade-- {
		names = append(names, fmt.Sprintf("relevance>=%d", grade))
	}
	return names
}
