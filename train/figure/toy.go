package figure

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/report"
	"hgld/internal/texttable"
	"hgld/train/metric"
)

// Scored is an item of a query's ranking.
type Scored struct {
	Score    float64 // the higher, the earlier in the ranking
	Positive bool    // otherwise a negative
}

// ParseScored reads items such as "0.9+ 0.7-": a score, and whether the item is a positive.
func ParseScored(text string) (items []Scored, err error) {
	positives := 0
	for _, word := range strings.Fields(text) {
		number, positive := strings.CutSuffix(word, "+")
		number, negative := strings.CutSuffix(number, "-")
		score, err := strconv.ParseFloat(number, 64)
		if err != nil || positive == negative || math.IsInf(score, 0) || math.IsNaN(score) {
			return nil, fmt.Errorf("%.80q is no item; want a score with + for a positive or - for a negative, such as 0.9+",
				word)
		}
		if positive {
			positives++
		}
		items = append(items, Scored{score, positive})
	}
	if positives == 0 {
		return nil, fmt.Errorf("the batch %.80q has no positive, so that its AP is undefined", text)
	}
	return items, nil
}

// mostToyItems bounds the items of a drawing of which each can be seen.
const mostToyItems = 1000

// Toy draws the decomposability gap of AP on batches of a query's items: the items of each batch and of all
// together by their scores, with their APs. Of equal scores the earlier item is ranked first. It is figure 10 of
// "Optimization of Rank Losses", and with batches one after the other figure 11.
func Toy(batches [][]Scored) (*Figure, error) {
	all := slices.Concat(batches...)
	switch {
	case len(batches) < 2:
		return nil, errors.New("one batch has no gap; want two or more")
	case len(all) > mostToyItems:
		return nil, fmt.Errorf("%d items; want at most %d", len(all), mostToyItems)
	}
	f := &Figure{Plot: report.Plot{YLabel: "average precision (%)", YNames: make([]string, len(batches)+1)},
		Table: texttable.Table{Head: []string{"part", "rank", "score", "positive", "AP"}}}
	kinds := []report.Curve{{Name: "positives", Loose: true}, {Name: "negatives", Loose: true}}
	add := func(part string, items []Scored, y int) (ap float64) {
		items = slices.Clone(items)
		slices.SortStableFunc(items, func(a, b Scored) int { return cmp.Compare(b.Score, a.Score) })
		ap = 100 * averagePrecision(items)
		for i, it := range items {
			kind := 1
			if it.Positive {
				kind = 0
			}
			kinds[kind].Points = append(kinds[kind].Points, report.Point{X: it.Score, Y: float64(y)})
			f.Table.Rows = append(f.Table.Rows, []string{part, strconv.Itoa(i + 1), number(it.Score),
				strconv.FormatBool(it.Positive), number(ap)})
		}
		f.Plot.YNames[y] = fmt.Sprintf("%s: %.1f", part, ap)
		return ap
	}
	mean := 0.0
	for i, items := range batches {
		mean += add(fmt.Sprintf("batch %d", i+1), items, len(batches)-i) / float64(len(batches))
	}
	whole := add("all", all, 0)
	f.Table.Rows = append(f.Table.Rows, []string{"gap", "", "", "", number(mean - whole)})
	f.Plot.XLabel = fmt.Sprintf("score; decomposability gap: %.1f %%", mean-whole)
	f.Plot.Curves = kinds
	return f, nil
}

// averagePrecision returns the AP of a ranking.
func averagePrecision(ranked []Scored) float64 {
	shared := make([]byte, len(ranked))
	for i, it := range ranked {
		if it.Positive {
			shared[i] = 1
		}
	}
	list, values := metric.NewList(1, metric.ScoreThenRow), make([]float64, 1)
	list.Reset(shared)
	metric.Set{metric.AP{}}.Measure(values, list)
	return values[0]
}
