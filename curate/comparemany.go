package curate

import (
	"cmp"
	"slices"
)

// ManyComparison compares the sessions of any number of curators on one draft, as
// Comparison does for two. A tag counts if at least two have decided it.
type ManyComparison struct {
	// Categories are those of Compare.
	Categories []Category `json:"categories"`
	// Agreement is that of all curators.
	Agreement ManyAgreement `json:"agreement"`
	// Decided is the number of tags that each curator has decided.
	Decided []int `json:"decided"`
	// Pairs has the agreement of each pair of curators.
	Pairs []PairAgreement `json:"pairs"`

	// ByCategory is the agreement on each category.
	ByCategory []ManyCategory `json:"by_category"`

	// Differences are the tags that they decided differently, most landmarks first.
	Differences []Difference `json:"disagreements"`
	// Parents are the groups that they put under different parents.
	Parents []ParentDifference `json:"parent_differences"`
}

// ManyCategory is the agreement of curators on one category, over the tags that at least two have
// decided.
type ManyCategory struct {
	// Category is its position in the list of categories.
	Category int `json:"category"`
	// Tags is the number of tags that each curator put there.
	Tags []int `json:"tags"`
	// All is the number of tags that all who decided them put there.
	All int `json:"all"`
	// Specific is the share of agreeing pairs of ratings: Σ n(n−1) / Σ n(r−1) over tags with r
	// ratings, of which n are this category. For two curators it is 2·All/(A+B). It is nil if
	// nobody put a tag there.
	Specific *float64 `json:"specific_agreement"`
}

// PairAgreement is the agreement of two curators over the tags that both have decided.
type PairAgreement struct {
	// A is the position of the first curator.
	A int `json:"a"`
	// B is the position of the second curator.
	B int `json:"b"`
	// Tags is the number of tags that both have decided.
	Tags int `json:"tags"`
	// Raw is the share of them on which they agree.
	Raw *float64 `json:"raw"`
	// Kappa is Cohen's kappa.
	Kappa *float64 `json:"kappa"`
	// KappaCI is its 95 % interval.
	KappaCI *[2]float64 `json:"kappa_ci95"`
	// AC1 is Gwet's AC1.
	AC1 *float64 `json:"ac1"`
	// AC1CI is its 95 % interval.
	AC1CI *[2]float64 `json:"ac1_ci95_normal"`
}

// CompareMany compares two or more sessions on one draft.
func CompareMany(sessions []*Session) (*ManyComparison, error) {
	if err := onOneDraft(sessions...); err != nil {
		return nil, err
	}
	c := &ManyComparison{Categories: categories(sessions...), Decided: make([]int, len(sessions)),
		Differences: []Difference{}, Parents: parentDifferences(sessions...)}
	index := positions(c.Categories)
	tags := len(sessions[0].state.levels[0])
	ratings := make([][]int, len(sessions))
	for k := range ratings {
		ratings[k] = make([]int, tags)
	}
	for i := range tags {
		d := Difference{Tag: i, Choices: make([]string, len(sessions))}
		for k, s := range sessions {
			ratings[k][i] = -1
			t := s.Tag(i)
			d.Name, d.QID, d.Landmarks = t.Name, t.QID, t.Landmarks
			if !t.Decided {
				continue
			}
			c.Decided[k]++
			ratings[k][i] = index[t.choice()]
			d.Choices[k] = t.choice().String()
		}
		if len(distinct(d.Choices)) > 1 {
			c.Differences = append(c.Differences, d)
		}
	}
	slices.SortStableFunc(c.Differences, func(x, y Difference) int { return cmp.Compare(y.Landmarks, x.Landmarks) })
	counts := Counts(ratings, len(c.Categories))
	c.Agreement, c.ByCategory = AgreeMany(counts), byCategory(ratings, counts, len(c.Categories))
	for a := range sessions {
		for b := a + 1; b < len(sessions); b++ {
			c.Pairs = append(c.Pairs, pairAgreement(ratings, a, b, len(c.Categories)))
		}
	}
	return c, nil
}

func pairAgreement(ratings [][]int, a, b, categories int) PairAgreement {
	table := make([][]int, categories)
	for i := range table {
		table[i] = make([]int, categories)
	}
	for i, x := range ratings[a] {
		if y := ratings[b][i]; x >= 0 && y >= 0 {
			table[x][y]++
		}
	}
	g := Agree(table, nil)
	return PairAgreement{A: a, B: b, Tags: g.N, Raw: g.Raw, Kappa: g.Kappa, KappaCI: g.KappaCI, AC1: g.AC1, AC1CI: g.AC1CI}
}

// byCategory measures the agreement on each category from ratings and counts as Counts takes and
// returns them.
func byCategory(ratings, counts [][]int, categories int) []ManyCategory {
	list := make([]ManyCategory, categories)
	agreeing, all := make([]int, categories), make([]int, categories) // ordered pairs of ratings
	for a := range list {
		list[a] = ManyCategory{Category: a, Tags: make([]int, len(ratings))}
	}
	for tag, row := range counts {
		raters := 0
		for _, n := range row {
			raters += n
		}
		if raters < 2 {
			continue
		}
		for a, n := range row {
			agreeing[a] += n * (n - 1)
			all[a] += n * (raters - 1)
			if n == raters {
				list[a].All++
			}
		}
		for k, of := range ratings {
			if of[tag] >= 0 {
				list[of[tag]].Tags[k]++
			}
		}
	}
	for a := range list {
		list[a].Specific = ratio(float64(agreeing[a]), float64(all[a]))
	}
	return list
}
