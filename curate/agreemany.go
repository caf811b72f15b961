package curate

// ManyAgreement holds measures of agreement between any number of annotators. Items with
// fewer than two ratings do not count. Undefined measures are nil.
type ManyAgreement struct {
	Items   int      `json:"items"`   // number of items that count
	Ratings int      `json:"ratings"` // number of ratings of those items
	Raters  int      `json:"raters"`  // number of ratings of each item; 0 if that differs
	Raw     *float64 `json:"raw"`     // mean over the items of the share of agreeing pairs
	// FleissKappa is that of Fleiss (Psychological Bulletin 76, 1971). It needs the
	// same number of ratings for each item.
	FleissKappa *float64 `json:"fleiss_kappa"`
	AC1         *float64 `json:"ac1"`   // Gwet's AC1
	Alpha       *float64 `json:"alpha"` // Krippendorff's alpha for nominal categories
}

// AgreeMany measures agreement from counts, [items][categories], the number of ratings
// that each item has in each category. Declared categories have a column whether they
// are used or not.
func AgreeMany(counts [][]int) ManyAgreement {
	var g ManyAgreement
	var m []int         // ratings of each category
	var share []float64 // mean over items of the category's share
	raw, within := 0.0, 0.0
	for _, row := range counts {
		if m == nil {
			m, share = make([]int, len(row)), make([]float64, len(row))
		}
		if len(row) != len(m) {
			panic("curate: AgreeMany: items with different numbers of categories")
		}
		raters, pairs := 0, 0
		for _, n := range row {
			raters += n
			pairs += n * (n - 1)
		}
		if raters < 2 {
			continue
		}
		if g.Items == 0 {
			g.Raters = raters
		} else if g.Raters != raters {
			g.Raters = 0
		}
		g.Items++
		g.Ratings += raters
		for a, n := range row {
			m[a] += n
			share[a] += float64(n) / float64(raters)
		}
		raw += float64(pairs) / float64(raters*(raters-1))
		within += float64(raters*(raters-1)-pairs) / float64(raters-1)
	}
	if g.Items == 0 {
		return g
	}
	raw /= float64(g.Items)
	g.Raw = new(raw)
	g.fleiss(m, raw)
	if q := len(m); q > 1 {
		chance := 0.0
		for _, s := range share {
			s /= float64(g.Items)
			chance += s * (1 - s) / float64(q-1)
		}
		g.AC1 = new((raw - chance) / (1 - chance))
	}
	if expected := disagreementByChance(m); expected > 0 {
		g.Alpha = new(1 - within/float64(g.Ratings)/expected)
	}
	return g
}

func (g *ManyAgreement) fleiss(m []int, raw float64) {
	chance := 0 // of Ratings²
	for _, n := range m {
		chance += n * n
	}
	if g.Raters == 0 || chance == g.Ratings*g.Ratings {
		return
	}
	pe := float64(chance) / float64(g.Ratings*g.Ratings)
	g.FleissKappa = new((raw - pe) / (1 - pe))
}

// Counts turns ratings, [annotators][items] with -1 for no rating, into the counts of
// AgreeMany with the given number of categories.
func Counts(ratings [][]int, categories int) [][]int {
	if len(ratings) == 0 {
		return nil
	}
	counts := make([][]int, len(ratings[0]))
	for item := range counts {
		counts[item] = make([]int, categories)
		for _, of := range ratings {
			if of[item] >= 0 {
				counts[item][of[item]]++
			}
		}
	}
	return counts
}
