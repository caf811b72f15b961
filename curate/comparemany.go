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

	// Disagreements are the tags that they decided differently, most landmarks first.
	Disagreements []Disagreement `json:"disagreements"`
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
	// AC1 is Gwet's AC1.
	AC1 *float64 `json:"ac1"`
}

// Disagreement is a tag that curators have put into different categories.
type Disagreement struct {
	// Tag is its position in the draft.
	Tag int `json:"tag"`
	// Name is its text.
	Name string `json:"name"`
	// QID is its Wikidata item.
	QID string `json:"qid,omitempty"`
	// Landmarks is the number of landmarks that carry it.
	Landmarks int `json:"landmarks"`
	// Choices are the curators' choices in order: a group, "(dropped)", or "" where
	// undecided.
	Choices []string `json:"choices"`
}

// CompareMany compares two or more sessions on one draft.
func CompareMany(sessions []*Session) (*ManyComparison, error) {
	if err := onOneDraft(sessions...); err != nil {
		return nil, err
	}
	c := &ManyComparison{Categories: categories(sessions...), Decided: make([]int, len(sessions)),
		Disagreements: []Disagreement{}}
	index := positions(c.Categories)
	tags := len(sessions[0].state.levels[0])
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
