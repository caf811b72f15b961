// Package metric measures rankings. A metric is a pure function of one query's ranked gallery. It
// reads one byte per item: the number of label levels that the item shares with the query (see
// [List]).
//
// Binary metrics measure one level h (0 is the finest). An item is positive if it shares at least
// L−h levels, which in a tree means the same class in column h. Graded metrics measure all levels
// at once. A metric may be undefined for a query, for example because the query has no positive.
// Such a query is skipped and counted, never averaged in as zero; means are over the remaining
// queries.
//
// Notation throughout: N is the number of ranked items without the query itself; i = 1…N is the
// position; r_i is 1 for a positive and 0 otherwise; R = Σ r_i; l_i is the number of levels that
// item i shares; n_l is the number of items that share exactly l levels.
package metric

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"hgld/internal/registry"
)

// Metric is a measure with its settings. It is also a [Binary], a [Graded], or both, such as ASI.
type Metric interface {
	// Name returns the heading that papers use: "R@10", "H-AP".
	Name() string
}

// Binary is a metric of one level. Its value is a function of a sum over the places of the
// ranking. The sum is built part by part, so that one walk over the positives serves all metrics.
type Binary interface {
	Metric
	// AddLevel adds the contribution of the places of v to sum.
	AddLevel(sum float64, v *View) float64
	// AtLevel returns the value for one query from the sum over its whole ranking, or false if it
	// is undefined. It reads only N and R of v, which may be any part.
	AtLevel(sum float64, v *View) (float64, bool)
	// Define returns the value by its formula, for a ranking without ties and with a positive. r is
	// r_1…r_N. Tests compare AtLevel with it.
	Define(r []int) float64
}

// Graded is a metric of all levels together.
type Graded interface {
	Metric
	// OfList begins the sum of a query. It reads the counts of l.
	OfList(l *List) Sum
	// DefineAll returns the value by its formula, for a ranking without ties, or NaN if it is undefined.
	// shared is l_1…l_N; levels is L.
	DefineAll(shared []int, levels int) float64
}

// Sum is a graded metric of one query. Its value is also a function of a sum over places.
type Sum interface {
	// AddPart adds the contribution of the places of p to sum.
	AddPart(sum float64, p *Part) float64
	// Value returns the value from the sum over the whole ranking, or false if it is undefined.
	Value(sum float64) (float64, bool)
}

// Kind is an entry of the table of metrics: the symbol that begins its names, and a parser for
// the rest.
type Kind struct {
	Symbol   string                            // "R" of R@k
	New      func(rest string) (Metric, error) // rest of "R@10" is "@10"
	Examples []string                          // names that tests compare with the definition, settings varied
}

// All is the table of metrics.
var All = registry.Table[Kind]{
	{Name: "recall", About: "R@k: a positive among the first k",
		Value: Kind{"R", newAt(func(k int) Metric { return Recall{K: k} }),
			[]string{"R@1", "R@3"}}},
	{Name: "precision", About: "P@k: share of positives among the first k",
		Value: Kind{"P", newAt(func(k int) Metric { return Precision{K: k} }),
			[]string{"P@2", "P@9"}}},
	{Name: "true-recall", About: "TR@k: share of the min(R,k) positives among the first k",
		Value: Kind{"TR", newAt(func(k int) Metric { return TrueRecall{K: k} }),
			[]string{"TR@2", "TR@5"}}},
	{Name: "ap", About: "AP: average precision; AP#l: of one level, finer positives removed",
		Value: Kind{"AP", newAP,
			[]string{"AP", "AP#1", "AP#2", "AP#3"}}},
	{Name: "map", About: "mAP@R, mAP@k: average precision within the first R or k",
		Value: Kind{"mAP", newMAP,
			[]string{"mAP@R", "mAP@3"}}},
	{Name: "mrr", About: "MRR: reciprocal of the place of the first positive",
		Value: Kind{"MRR", only(MRR{}),
			[]string{"MRR"}}},
	{Name: "r-precision", About: "Rprec: share of positives among the first R",
		Value: Kind{"Rprec", only(RPrecision{}),
			[]string{"Rprec"}}},
	{Name: "h-ap", About: "H-AP: hierarchical average precision; H-AP:power^5 with other relevances",
		Value: Kind{"H-AP", newHAP,
			[]string{"H-AP", "H-AP:power^2", "H-AP:map^2"}}},
	{Name: "h-recall", About: "H-R@k: share of all relevance among the first k; relevances as for H-AP",
		Value: Kind{"H-R", newHAt(func(k int, r Relevance, label string) Metric { return HRecall{k, r, label} }),
			[]string{"H-R@3", "H-R@50"}}},
	{Name: "h-precision", About: "H-P@k: hierarchical precision, whose area over H-R is H-AP",
		Value: Kind{"H-P", newHAt(func(k int, r Relevance, label string) Metric { return HPrecision{k, r, label} }),
			[]string{"H-P@1", "H-P@3", "H-P@50"}}},
	{Name: "asi", About: "ASI: average set intersection with the ideal ranking",
		Value: Kind{"ASI", only(ASI{}),
			[]string{"ASI"}}},
	{Name: "ndcg", About: "NDCG, NDCG@k: discounted cumulative gain 2^l−1 over the ideal one; NDCG:linear: gain l",
		Value: Kind{"NDCG", newNDCG,
			[]string{"NDCG", "NDCG@4", "NDCG:linear", "NDCG@4:linear"}}},
}

// Parse reads the name of a metric as the tables print it: "R@10", "mAP@R",
// "H-AP", "H-AP:power^5", "NDCG@100", "AP#2".
func Parse(name string) (Metric, error) {
	symbol, rest := split(name)
	symbols := make([]string, len(All))
	for i, e := range All {
		if symbols[i] = e.Value.Symbol; symbols[i] == symbol {
			m, err := e.Value.New(rest)
			if err != nil && symbols[i] == "mAP" && name == "mAP" {
				return nil,
					errors.New("metric \"mAP\": want mAP@R, over the first R places (R: the positives of a " +
						"query), or mAP@100, over the first 100; the mean of AP over all places is AP")
			}
			if err != nil {
				return nil, fmt.Errorf("metric %.80q: %w", name, err)
			}
			return m, nil
		}
	}
	unknown := &registry.UnknownError{Kind: "metric", Name: symbol,
		Nearest: registry.Nearest(symbol, symbols), Known: symbols}
	if meant := elsewhere(name); meant != "" {
		unknown.Name, unknown.Nearest = name, meant
	}
	return nil, unknown
}

// split divides a name into the symbol of its metric and the rest.
func split(name string) (symbol, rest string) {
	if cut := strings.IndexAny(name, "@#:"); cut >= 0 {
		return name[:cut], name[cut:]
	}
	return name, ""
}

// elsewhere returns the name here of a metric that others write recall@1, R1 or map@r, or "".
func elsewhere(name string) string {
	lower := strings.ToLower(strings.NewReplacer("_", "@", "-", "@", " ", "@").Replace(name))
	lower = strings.NewReplacer("@at@", "@", "mean@average@precision", "map", "average@precision", "ap").Replace(lower)
	switch lower {
	case "r@precision", "r@prec", "rp", "rprec", "rprecision":
		return "Rprec"
	case "mrr", "rr", "reciprocal@rank", "recip@rank", "mean@reciprocal@rank":
		return "MRR"
	}
	word, rest, at := strings.Cut(lower, "@")
	k := rest[strings.LastIndex(rest, "@")+1:] // hit@rate@5
	if !at {
		word = strings.TrimRight(lower, "0123456789")
		k = lower[len(word):]
	}
	if _, err := strconv.Atoi(k); err != nil && k != "r" {
		k = ""
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
	case symbol == "NDCG" && k != "" && k != "r":
		return "NDCG@" + k
	}
	return symbol
}

// only reads a metric whose name is its symbol.
func only(m Metric) func(string) (Metric, error) {
	return func(rest string) (Metric, error) {
		if rest != "" {
			return nil, fmt.Errorf("%s takes no suffix %.80q, want %[1]s", m.Name(), rest)
		}
		return m, nil
	}
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

// after reads a positive number after mark.
func after(mark, rest string) (int, error) {
	digits, found := strings.CutPrefix(rest, mark)
	k, err := strconv.Atoi(digits)
	if !found || err != nil || k < 1 {
		return 0, fmt.Errorf("want %s and a number from 1 up, not %.80q", mark, rest)
	}
	return k, nil
}

// Definition returns the description of a metric from the table of metrics, or "" if there is
// none of that name.
func Definition(name string) string {
	symbol, _ := split(name)
	for _, e := range All {
		if e.Value.Symbol == symbol {
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
		return nil, errors.New("the list of metrics is empty: name at least one, such as R@1 or H-AP")
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

// Keys lists the columns that Measure fills for data with the given number of levels. For each
// level it has the binary metrics, such as "AP_level0", then the graded ones, such as "H-AP". A
// suffix distinguishes a metric that is both.
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

// Mean returns the mean of the values that are not NaN, and the number of NaNs. Without values
// the mean is NaN.
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
