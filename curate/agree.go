package curate

import "math"

// Agreement holds measures of agreement between two annotators. A measure that is undefined
// for a table is nil, or null in JSON, and never 0, 1 or NaN.
//
// With p_ab the share of items that A put in category a and B in b, r_a and c_b its
// margins, n the number of items, q the number of declared categories and π_a = (r_a +
// c_a)/2:
//
//	raw    p_o = Σ p_aa
//	kappa  (p_o − p_e)/(1 − p_e), p_e = Σ r_a c_a            Cohen 1960
//	AC1    (p_o − p_g)/(1 − p_g), p_g = Σ π_a(1−π_a)/(q−1)   Gwet 2008
//	alpha  1 − (1 − p_o)/D_e, nominal                        Krippendorff
//
// Kappa falls when one category has most of the items, however well people agree. AC1 does
// not, so it is reported next to kappa. q includes categories that nobody used, because
// they were offered. Intervals cover 95 %, use the normal distribution and are clipped to the
// range of the measures, −1 to 1.
type Agreement struct {
	N          int `json:"n"`          // number of items
	Categories int `json:"categories"` // number of declared categories

	Raw         *float64 `json:"raw"`          // share of items that both put into the same category
	ChanceKappa *float64 `json:"chance_kappa"` // agreement by chance that kappa assumes
	Kappa       *float64 `json:"kappa"`        // Cohen's kappa
	// KappaSE is the standard error of Fleiss, Cohen and Everitt (Psychological
	// Bulletin 72, 1969), not under the null hypothesis.
	KappaSE       *float64    `json:"kappa_se"`
	KappaCI       *[2]float64 `json:"kappa_ci95"`        // interval by KappaSE, which is the one shown to users
	KappaSESimple *float64    `json:"kappa_se_simple"`   // Cohen's standard error of 1960, for comparison
	KappaCISimple *[2]float64 `json:"kappa_ci95_simple"` // interval by KappaSESimple

	ChanceAC1 *float64    `json:"chance_ac1"`      // agreement by chance that AC1 assumes
	AC1       *float64    `json:"ac1"`             // Gwet's AC1
	AC1SE     *float64    `json:"ac1_se"`          // its standard error
	AC1CI     *[2]float64 `json:"ac1_ci95_normal"` // its interval

	Alpha *float64 `json:"alpha"` // Krippendorff's alpha for nominal categories
	// WeightedKappa counts a disagreement between categories with the same parent as
	// half of one between parents. It is nil if no parents are given.
	WeightedKappa *float64 `json:"weighted_kappa_tree"`

	ByCategory []CategoryAgreement `json:"by_category"` // agreement on each category
}

// CategoryAgreement is the agreement of two annotators on one category: the share of the
// items put there by either that were put there by both, 2·Both/(A+B).
type CategoryAgreement struct {
	Category int      `json:"category"`           // its position in the list of categories
	A        int      `json:"a"`                  // number of items that A put there
	B        int      `json:"b"`                  // number of items that B put there
	Both     int      `json:"both"`               // number of items that both put there
	Specific *float64 `json:"specific_agreement"` // 2·Both/(A+B); nil if nobody put an item there
}

// normal95 is the 97.5 % point of the normal distribution.
const normal95 = 1.959963984540054

// ratings is a table with its margins.
type ratings struct {
	cell [][]int
	r, c []int // items of each category, of A and of B
	n    int
	same int // on the diagonal
}

// Agree measures the agreement in a square table of items: [a][b] is the number that A
// put in a and B in b. It has a row and a column for each declared category, used or
// not. parent gives the parent of each category; nil for none. Agree panics if the
// table is not square or parent has another length.
func Agree(table [][]int, parent []int) Agreement {
	q := len(table)
	t := ratings{cell: table, r: make([]int, q), c: make([]int, q)}
	for a, row := range table {
		if len(row) != q {
			panic("curate: Agree: the table is not square")
		}
		for b, n := range row {
			t.r[a] += n
			t.c[b] += n
			t.n += n
		}
		t.same += row[a]
	}
	if parent != nil && len(parent) != q {
		panic("curate: Agree: parents and categories differ in number")
	}
	g := Agreement{N: t.n, Categories: q}
	for a := range table {
		g.ByCategory = append(g.ByCategory, CategoryAgreement{Category: a, A: t.r[a], B: t.c[a], Both: table[a][a],
			Specific: ratio(2*float64(table[a][a]), float64(t.r[a]+t.c[a]))})
	}
	if t.n == 0 {
		return g
	}
	g.Raw = ratio(float64(t.same), float64(t.n))
	g.kappa(t)
	g.ac1(t)
	g.alpha(t)
	if parent != nil {
		g.weighted(t, parent)
	}
	return g
}

// ratio returns a/b, nil if b is zero.
func ratio(a, b float64) *float64 {
	if b == 0 {
		return nil
	}
	return new(a / b)
}

// interval returns the 95 % interval around x.
func interval(x, se float64) *[2]float64 {
	return &[2]float64{max(x-normal95*se, -1), min(x+normal95*se, 1)}
}

func (g *Agreement) kappa(t ratings) {
	n := float64(t.n)
	chance := 0 // n² p_e as a whole number, so that p_e = 1 is found exactly
	for a := range t.r {
		chance += t.r[a] * t.c[a]
	}
	pe, po := float64(chance)/(n*n), *g.Raw
	g.ChanceKappa = new(pe)
	if chance == t.n*t.n {
		return
	}
	kappa := (po - pe) / (1 - pe)
	// The variance is computed as the mean of squares about the mean. The published
	// difference of two sums leaves a rounding error if all agree, and its square root is
	// not small.
	sum, mean := 0.0, kappa-pe*(1-kappa)
	for a, row := range t.cell {
		for b, count := range row {
			u := -(1 - kappa) * float64(t.c[a]+t.r[b]) / n
			if a == b {
				u++
			}
			sum += float64(count) / n * square(u-mean)
		}
	}
	se := math.Sqrt(sum/n) / (1 - pe)
	simple := math.Sqrt(po*(1-po)/n) / (1 - pe)
	g.Kappa, g.KappaSE, g.KappaCI = new(kappa), new(se), interval(kappa, se)
	g.KappaSESimple, g.KappaCISimple = new(simple), interval(kappa, simple)
}

func (g *Agreement) ac1(t ratings) {
	q, n, po := float64(len(t.r)), float64(t.n), *g.Raw
	if len(t.r) < 2 {
		return
	}
	share := func(a int) float64 { return float64(t.r[a]+t.c[a]) / (2 * n) }
	pg := 0.0
	for a := range t.r {
		pg += share(a) * (1 - share(a)) / (q - 1)
	}
	ac1 := (po - pg) / (1 - pg) // pg is at most 1/q
	g.ChanceAC1, g.AC1 = new(pg), new(ac1)
	if t.n < 2 {
		return
	}
	sum := 0.0
	for a, row := range t.cell {
		for b, count := range row {
			agreed := 0.0
			if a == b {
				agreed = 1
			}
			e := (1 - (share(a)+share(b))/2) / (q - 1)
			d := (agreed-pg)/(1-pg) - 2*(1-ac1)*(e-pg)/(1-pg) - ac1
			sum += float64(count) * d * d
		}
	}
	se := math.Sqrt(sum / (n * (n - 1)))
	g.AC1SE, g.AC1CI = new(se), interval(ac1, se)
}

func (g *Agreement) alpha(t ratings) {
	m := make([]int, len(t.r))
	for a := range m {
		m[a] = t.r[a] + t.c[a]
	}
	if expected := disagreementByChance(m); expected > 0 {
		g.Alpha = new(1 - (1-*g.Raw)/expected)
	}
}

// disagreementByChance returns Krippendorff's D_e for nominal categories: the
// probability that two of all ratings, drawn without replacement, differ. It returns 0
// if that is undefined: with fewer than two ratings, or all in one category.
func disagreementByChance(m []int) float64 {
	total, pairs := 0, 0
	for _, of := range m {
		total += of
		pairs += of * (of - 1)
	}
	if all := total * (total - 1); all > pairs {
		return float64(all-pairs) / float64(all)
	}
	return 0
}

func (g *Agreement) weighted(t ratings, parent []int) {
	observed, chance := 0, 0
	for a, row := range t.cell {
		for b, count := range row {
			d := 2
			switch {
			case a == b:
				d = 0
			case parent[a] == parent[b]:
				d = 1
			}
			observed += d * count
			chance += d * t.r[a] * t.c[b]
		}
	}
	if chance > 0 {
		g.WeightedKappa = new(1 - float64(observed)*float64(t.n)/float64(chance))
	}
}

func square(x float64) float64 { return x * x }
