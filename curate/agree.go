package curate

import "math"

// Agreement says how far two annotators agree. A measure that is not defined for
// a table is nil, and null in JSON: never 0, 1 or NaN.
//
// With p_ab the share of items that A put in category a and B in b, r_a and c_b
// its margins, n the items, q the declared categories and π_a = (r_a + c_a)/2:
//
//	raw    p_o = Σ p_aa
//	kappa  (p_o − p_e)/(1 − p_e), p_e = Σ r_a c_a            Cohen 1960
//	AC1    (p_o − p_g)/(1 − p_g), p_g = Σ π_a(1−π_a)/(q−1)   Gwet 2008
//	alpha  1 − (1 − p_o)/D_e, nominal                        Krippendorff
//
// Kappa falls when one category holds most items, however well people agree; AC1
// stands beside it for that reason. q counts categories that nobody used, so it
// is what was on offer that matters. Intervals are of 95 %, normal, not clipped.
type Agreement struct {
	N          int `json:"n"`
	Categories int `json:"categories"`

	Raw         *float64 `json:"raw"`
	ChanceKappa *float64 `json:"chance_kappa"`
	Kappa       *float64 `json:"kappa"`
	// KappaSE is the standard error of Fleiss, Cohen and Everitt (Psychological
	// Bulletin 72, 1969), not under the null hypothesis; KappaCI is the interval
	// that is shown to users. The simple ones are Cohen's of 1960, for comparison.
	KappaSE       *float64    `json:"kappa_se"`
	KappaCI       *[2]float64 `json:"kappa_ci95"`
	KappaSESimple *float64    `json:"kappa_se_simple"`
	KappaCISimple *[2]float64 `json:"kappa_ci95_simple"`

	ChanceAC1 *float64    `json:"chance_ac1"`
	AC1       *float64    `json:"ac1"`
	AC1SE     *float64    `json:"ac1_se"`
	AC1CI     *[2]float64 `json:"ac1_ci95_normal"`

	Alpha *float64 `json:"alpha"`
	// WeightedKappa counts a disagreement between categories of one parent half of
	// one between parents. It is nil where no parents are given.
	WeightedKappa *float64 `json:"weighted_kappa_tree"`

	ByCategory []CategoryAgreement `json:"by_category"`
}

// CategoryAgreement is how far two annotators agree on one category: of the items
// that either put there, how many both did, 2·Both/(A+B).
type CategoryAgreement struct {
	Category int      `json:"category"`
	A        int      `json:"a"`
	B        int      `json:"b"`
	Both     int      `json:"both"`
	Specific *float64 `json:"specific_agreement"`
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

// Agree measures the agreement in a table of items, cell [a][b] counting those
// that A put in a and B in b, with one row and column for each declared category,
// used or not. parent gives the parent of each category; nil for none. A table
// that is not square, or a list of parents of another length, panics.
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

// ratio is a/b, nil if b is zero.
func ratio(a, b float64) *float64 {
	if b == 0 {
		return nil
	}
	return new(a / b)
}

// interval is the 95 % interval around x.
func interval(x, se float64) *[2]float64 {
	return &[2]float64{x - normal95*se, x + normal95*se}
}

func (g *Agreement) kappa(t ratings) {
	n := float64(t.n)
	chance := 0 // n² p_e, whole numbers: 1 is met exactly
	for a := range t.r {
		chance += t.r[a] * t.c[a]
	}
	pe, po := float64(chance)/(n*n), *g.Raw
	g.ChanceKappa = new(pe)
	if chance == t.n*t.n {
		return
	}
	kappa := (po - pe) / (1 - pe)
	// The variance as the mean of squares about the mean: the published difference
	// of two sums leaves a rest of rounding where all agree, and the root of it is
	// no small number.
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

// disagreementByChance is Krippendorff's D_e for nominal categories: the chance
// that two of all ratings, drawn without putting the first back, differ. It is 0
// where it is not defined: with fewer than two ratings, or all in one category.
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
