package curate

// ManyComparison compares the sessions of any number of curators on one draft, as
// Comparison does for two. A tag counts if at least two have decided it.
type ManyComparison struct {
	Categories []Category    `json:"categories"` // those of Compare
	Agreement  ManyAgreement `json:"agreement"`  // that of all curators
	Decided    []int         `json:"decided"`    // number of tags that each curator has decided
	// Pairs has the agreement of each pair of curators.
	Pairs []PairAgreement `json:"pairs"`

	ByCategory []ManyCategory `json:"by_category"` // agreement on each category

	// Differences are the tags that they decided differently, most landmarks first.
	Differences []Difference       `json:"disagreements"`
	Parents     []ParentDifference `json:"parent_differences"` // groups that they put under different parents
}

// ManyCategory is the agreement of curators on one category, over the tags that at least two have
// decided.
type ManyCategory struct {
	Category int   `json:"category"` // its position in the list of categories
	Tags     []int `json:"tags"`     // number of tags that each curator put there
	All      int   `json:"all"`      // number of tags that all who decided them put there
	// Specific is the share of agreeing pairs of ratings: Σ n(n−1) / Σ n(r−1) over tags with r
	// ratings, of which n are this category. For two curators it is 2·All/(A+B). It is nil if
	// nobody put a tag there.
	Specific *float64 `json:"specific_agreement"`
}

// PairAgreement is the agreement of two curators over the tags that both have decided.
type PairAgreement struct {
	A       int         `json:"a"`               // position of the first curator
	B       int         `json:"b"`               // position of the second curator
	Tags    int         `json:"tags"`            // number of tags that both have decided
	Raw     *float64    `json:"raw"`             // share of them on which they agree
	Kappa   *float64    `json:"kappa"`           // Cohen's kappa
	KappaCI *[2]float64 `json:"kappa_ci95"`      // its 95 % interval
	AC1     *float64    `json:"ac1"`             // Gwet's AC1
	AC1CI   *[2]float64 `json:"ac1_ci95_normal"` // its 95 % interval
}

// CompareMany compares two or more sessions on one draft.
func CompareMany(sessions []*Session) (*ManyComparison, error) {
	if err := onOneDraft(sessions...); err != nil {
		return nil, err
	}
	c := &ManyComparison{Categories: categories(sessions...), Decided: make([]int, len(sessions)),
		Differences: []Difference{}, Parents: parentDifferences(sessions...)}
	ratings, differences := rate(sessions, c.Categories)
	c.Differences = append(c.Differences, differences...)
	for k, of := range ratings {
		for _, rating := range of {
			if rating >= 0 {
				c.Decided[k]++
			}
		}
	}
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
	g := Agree(crossTable(ratings[a], ratings[b], categories), nil)
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
