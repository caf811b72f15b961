// Package metric measures rankings. A metric is a pure function of one query's ranked
// gallery. It sees one byte an item: the number of label levels that the item shares
// with the query (see [List]).
//
// Binary metrics look at one level h (0 is the finest): an item is positive if it
// shares at least L−h levels, which in a tree means the same class in column h.
// Graded metrics look at all levels at once. A query for which a metric is
// undefined, because it has no positive, is skipped and counted, never averaged
// in as zero; means are over the queries that count.
//
// Notation, everywhere: N ranked items, the query itself not among them; i = 1…N
// the position; r_i 1 for a positive and 0 otherwise; R = Σ r_i; l_i the shared
// levels of item i; n_l the items that share exactly l levels.
package metric

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"hgld/internal/registry"
)

// Metric is a measure with its settings. It also is a [Binary], a [Graded], or
// both, as the intersection of sets is.
type Metric interface {
	// Name is the heading that papers use: "R@10", "H-AP".
	Name() string
}

// Binary is a metric of one level. It is a function of a sum over the places of the ranking,
// which reaches it part by part: one walk over the positives serves all metrics.
type Binary interface {
	Metric
	// AddLevel adds to sum what the places of v contribute.
	AddLevel(sum float64, v *View) float64
	// AtLevel returns the value for one query from the sum over its whole ranking, false where
	// it is undefined. Of v, which is any part, it reads N and R.
	AtLevel(sum float64, v *View) (float64, bool)
}

// Graded is a metric of all levels together.
type Graded interface {
	Metric
	// OfList begins the sum of a query, of which it reads the counts.
	OfList(l *List) Sum
}

// Sum is a graded metric of one query, which too is a function of a sum over places.
type Sum interface {
	// AddPart adds to sum what the places of p contribute.
	AddPart(sum float64, p *Part) float64
	// Value returns the value from the sum over the whole ranking, false where it is undefined.
	Value(sum float64) (float64, bool)
}

// Kind is a row of the table of metrics: the symbol that its names begin with,
// and how the rest of a name is read.
type Kind struct {
	Symbol string                            // "R" of R@k
	New    func(rest string) (Metric, error) // rest of "R@10" is "@10"
}

// All is the table of metrics.
var All = registry.Table[Kind]{
	{Name: "recall", About: "R@k: a positive among the first k",
		Value: Kind{"R", newAt(func(k int) Metric { return Recall{K: k} })}},
	{Name: "precision", About: "P@k: share of positives among the first k",
		Value: Kind{"P", newAt(func(k int) Metric { return Precision{K: k} })}},
	{Name: "true-recall", About: "TR@k: share of the min(R,k) positives among the first k",
		Value: Kind{"TR", newAt(func(k int) Metric { return TrueRecall{K: k} })}},
	{Name: "ap", About: "AP: average precision; AP#l: of one level with the finer ones deleted", Value: Kind{"AP", newAP}},
	{Name: "map", About: "mAP@R, mAP@k: average precision of the first R or k", Value: Kind{"mAP", newMAP}},
	{Name: "mrr", About: "MRR: one over the place of the first positive", Value: Kind{"MRR", newMRR}},
	{Name: "r-precision", About: "Rprec: share of positives among the first R", Value: Kind{"Rprec", newRPrecision}},
	{Name: "h-ap", About: "H-AP: hierarchical average precision; H-AP:power^5 with other relevances",
		Value: Kind{"H-AP", newHAP}},
	{Name: "asi", About: "ASI: average set intersection with the ideal ranking", Value: Kind{"ASI", newASI}},
	{Name: "ndcg", About: "NDCG, NDCG@k: discounted cumulative gain 2^l−1 over the ideal", Value: Kind{"NDCG", newNDCG}},
}

// Parse reads the name of a metric as the tables print it: "R@10", "mAP@R",
// "H-AP", "H-AP:power^5", "NDCG@100", "AP#2".
func Parse(name string) (Metric, error) {
	cut := strings.IndexAny(name, "@#:")
	if cut < 0 {
		cut = len(name)
	}
	symbols := make([]string, len(All))
	for i, e := range All {
		if symbols[i] = e.Value.Symbol; symbols[i] == name[:cut] {
			m, err := e.Value.New(name[cut:])
			if err != nil && symbols[i] == "mAP" && name == "mAP" {
				return nil,
					errors.New("metric \"mAP\": want mAP@R, of the first R places (R: the positives of a " +
						"query), or mAP@100 of the first 100; the mean of AP over all places is AP")
			}
			if err != nil {
				return nil, fmt.Errorf("metric %.80q: %w", name, err)
			}
			return m, nil
		}
	}
	unknown := &registry.UnknownError{Kind: "metric", Name: name[:cut],
		Nearest: registry.Nearest(name[:cut], symbols), Known: symbols}
	if meant := elsewhere(name); meant != "" {
		unknown.Name, unknown.Nearest = name, meant
	}
	return nil, unknown
}

// elsewhere is the name here of a metric that others write recall@1, R1 or map@r; ""
// for none.
func elsewhere(name string) string {
	lower := strings.ToLower(strings.NewReplacer("_", "@", "-", "@", " ", "@").Replace(name))
	switch lower {
	case "r@precision", "r@prec", "rp", "rprec", "rprecision":
		return "Rprec"
	case "mrr", "rr", "reciprocal@rank", "recip@rank", "mean@reciprocal@rank":
		return "MRR"
	}
	word, k, at := strings.Cut(lower, "@")
	if !at {
		word = strings.TrimRight(lower, "0123456789")
		k = lower[len(word):]
	}
	symbol := map[string]string{
		"recall": "R", "r": "R", "rank": "R", "cmc": "R", "hit": "R", "hits": "R", "top": "R", "acc": "R",
		"accuracy":  "R",
		"precision": "P", "prec": "P", "p": "P", "map": "mAP", "ndcg": "NDCG", "ap": "AP", "hap": "H-AP", "h": "H-AP",
		"asi": "ASI",
	}[word]
	switch {
	case symbol == "":
		return ""
	case symbol == "mAP":
		if k == "" || k == "r" {
			return "mAP@R"
		}
		return "mAP@" + k
	case symbol == "R" || symbol == "P":
		if k == "" {
			k = "1"
		}
		return symbol + "@" + k
	}
	return symbol
}

// newAt reads "@k".
func newAt(build func(k int) Metric) func(string) (Metric, error) {
	return func(rest string) (Metric, error) {
		k, err := after("@", rest)
		if err != nil {
			return nil, err
		}
		return build(k), nil
	}
}

// after reads a positive number behind mark.
func after(mark, rest string) (int, error) {
	digits, found := strings.CutPrefix(rest, mark)
	k, err := strconv.Atoi(digits)
	if !found || err != nil || k < 1 {
		return 0, fmt.Errorf("want %s and a number from 1 on, not %.80q", mark, rest)
	}
	return k, nil
}

// Definition says in words what the metric of a name measures, as the table of metrics
// does; "" if there is none of the name.
func Definition(name string) string {
	cut := strings.IndexAny(name, "@#:")
	if cut < 0 {
		cut = len(name)
	}
	for _, e := range All {
		if e.Value.Symbol == name[:cut] {
			return e.About
		}
	}
	return ""
}

// Set is a list of metrics that are measured together.
type Set []Metric

// ParseSet reads a list of names.
func ParseSet(names []string) (Set, error) {
	if len(names) == 0 {
		return nil, errors.New("no metric is named, such as R@1 or H-AP")
	}
	s := make(Set, len(names))
	for i, name := range names {
		m, err := Parse(name)
		if err != nil {
			return nil, err
		}
		s[i] = m
	}
	return s, nil
}

// Keys lists what Measure fills for data of the given number of levels: for each
// level the binary metrics as "AP_level0", then the graded ones as "H-AP". A name
// that a metric has in both roles is told apart by the suffix.
func (s Set) Keys(levels int) []string {
	var keys []string
	for h := range levels {
		for _, m := range s {
			if _, ok := m.(Binary); ok {
				keys = append(keys, fmt.Sprintf("%s_level%d", m.Name(), h))
			}
		}
	}
	for _, m := range s {
		if _, ok := m.(Graded); ok {
			keys = append(keys, m.Name())
		}
	}
	return keys
}

// Mean is the mean of the values that are not NaN, with the number of those that
// are. The mean of no value is NaN.
func Mean(values []float64) (mean float64, skipped int) {
	sum := 0.0
	for _, v := range values {
		if math.IsNaN(v) {
			skipped++
		} else {
			sum += v
		}
	}
	return sum / float64(len(values)-skipped), skipped
}
