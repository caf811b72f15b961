package curate

import (
	"cmp"
	"slices"
)

// ManyComparison sets the sessions of any number of curators on one draft side by
// side, as Comparison does for two. A tag counts where two or more have decided it.
type ManyComparison struct {
	Categories []Category      `json:"categories"` // as in Compare
	Agreement  ManyAgreement   `json:"agreement"`
	Decided    []int           `json:"decided"` // tags that each curator has decided
	Pairs      []PairAgreement `json:"pairs"`

	Disagreements []Disagreement `json:"disagreements"` // most landmarks first
}

// PairAgreement is that of two of the curators, over the tags that both have decided.
type PairAgreement struct {
	A     int      `json:"a"` // positions of the curators
	B     int      `json:"b"`
	Tags  int      `json:"tags"`
	Raw   *float64 `json:"raw"`
	Kappa *float64 `json:"kappa"` // Cohen's
	AC1   *float64 `json:"ac1"`
}

// Disagreement is a tag that not all who have decided it have put into one category.
type Disagreement struct {
	Tag       int      `json:"tag"` // position in the draft
	Name      string   `json:"name"`
	QID       string   `json:"qid,omitempty"`
	Landmarks int      `json:"landmarks"`
	Choices   []string `json:"choices"` // of each curator: group, "(dropped)", or "" where undecided
}

// CompareMany compares two or more sessions on one draft.
func CompareMany(sessions []*Session) (*ManyComparison, error) {
	if err := onOneDraft(sessions...); err != nil {
		return nil, err
	}
	c := &ManyComparison{Categories: categories(sessions...), Decided: make([]int, len(sessions)), Disagreements: []Disagreement{}}
	index := positions(c.Categories)
	tags := len(sessions[0].now.levels[0])
	ratings := make([][]int, len(sessions))
	for k := range ratings {
		ratings[k] = make([]int, tags)
	}
	for i := range tags {
		d := Disagreement{Tag: i, Choices: make([]string, len(sessions))}
		differ, first := false, -1
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
			if first < 0 {
				first = ratings[k][i]
			}
			differ = differ || ratings[k][i] != first
		}
		if differ {
			c.Disagreements = append(c.Disagreements, d)
		}
	}
	slices.SortStableFunc(c.Disagreements, func(x, y Disagreement) int { return cmp.Compare(y.Landmarks, x.Landmarks) })
	c.Agreement = AgreeMany(Counts(ratings, len(c.Categories)))
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
	return PairAgreement{A: a, B: b, Tags: g.N, Raw: g.Raw, Kappa: g.Kappa, AC1: g.AC1}
}
