package metric

import (
	"bufio"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

// fields reads a text file as rows of blank-separated fields.
func fields(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	must.Do(t, err)
	defer f.Close()
	var rows [][]string
	for s := bufio.NewScanner(f); s.Scan(); {
		rows = append(rows, strings.Fields(s.Text()))
	}
	return rows
}

// TestTrecEvalAgrees compares with trec_eval's own outputs. Of its inputs the
// run results.trunc is at hand, and judgements whose relevant documents of topic
// 301 are those of the expected outputs; those of topic 303 are not.
func TestTrecEvalAgrees(t *testing.T) {
	const topic = "301"
	dir := goldens.Shared(t, "data", "metrics", "trec_eval")
	relevant := map[string]bool{}
	for _, row := range fields(t, dir+"/qrels.rel_level") {
		if level, err := strconv.Atoi(row[3]); err == nil && row[0] == topic && level > 0 {
			relevant[row[2]] = true
		}
	}
	type document struct {
		name  string
		score float32
	}
	var run []document
	for _, row := range fields(t, dir+"/results.trunc") {
		if row[0] == topic {
			score, err := strconv.ParseFloat(row[4], 32)
			must.Do(t, err)
			run = append(run, document{row[2], float32(score)})
		}
	}
	slices.SortFunc(run, func(a, b document) int { // trec_eval's order: names fall among ties
		if a.score != b.score {
			return map[bool]int{true: -1, false: 1}[a.score > b.score]
		}
		return strings.Compare(b.name, a.name)
	})
	for file, depth := range map[string]int{"out.test.aqc": len(run), "out.test.aqcM": 100} {
		shared := make([]byte, depth)
		found := 0
		for i, d := range run[:depth] {
			if relevant[d.name] {
				shared[i] = 1
				found++
			}
		}
		// What was not retrieved stands behind the run, where mAP@depth does not look.
		for range len(relevant) - found {
			shared = append(shared, 1)
		}
		list := NewList(1, ScoreThenRow)
		list.Reset(shared)
		view := list.Level(0)
		if view.R != len(relevant) {
			t.Fatalf("R = %d, want %d", view.R, len(relevant))
		}
		checked := 0
		for _, row := range fields(t, dir+"/"+file) {
			if len(row) != 3 || row[1] != topic {
				continue
			}
			value, defined, known := trecValue(row[0], list, view, depth)
			if !known {
				continue
			}
			checked++
			want, err := strconv.ParseFloat(row[2], 64)
			must.Do(t, err)
			// Four decimals are printed; half a unit of the last, and a breath.
			if !defined || math.Abs(value-want) > 0.5e-4+1e-9 {
				t.Errorf("%s: %s = %v, want %v", file, row[0], value, want)
			}
		}
		if checked < 20 {
			t.Errorf("%s: only %d of its measures were compared", file, checked)
		}
	}
}

// trecValue is the measure that trec_eval calls name, for lists of depth places.
func trecValue(name string, l *List, v *View, depth int) (value float64, defined, known bool) {
	base, digits, _ := cutLast(name, "_")
	k, err := strconv.Atoi(digits)
	switch {
	case name == "map":
		value, defined = atLevel(MAPAt{K: depth}, v)
		value *= float64(min(v.R, depth)) / float64(v.R) // trec_eval divides by R
	case name == "recip_rank":
		value, defined = atLevel(MRR{}, v)
	case name == "Rprec" && v.R <= depth:
		value, defined = atLevel(RPrecision{}, v)
	case name == "ndcg" && v.R <= depth:
		value, defined = ofList(NDCG{K: depth, Linear: true}, l)
	case err != nil || k > depth: // a place behind the run holds what was not retrieved
		return 0, false, false
	case base == "P":
		value, defined = atLevel(Precision{K: k}, v)
	case base == "recall":
		value, defined = atLevel(Precision{K: k}, v)
		value *= float64(k) / float64(v.R)
	case base == "success":
		value, defined = atLevel(Recall{K: k}, v)
	case base == "ndcg_cut":
		value, defined = ofList(NDCG{K: k, Linear: true}, l)
	case base == "map_cut":
		value, defined = atLevel(MAPAt{K: k}, v)
		value *= float64(min(v.R, k)) / float64(v.R)
	default:
		return 0, false, false
	}
	return value, defined, true
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}
