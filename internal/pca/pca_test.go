package pca

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"hgld/internal/testing/must"
)

// spread draws n rows of d values around (5, 5, …). Their deviation is 3 along the first of two
// given directions, 2 along the second, and 0.1 along all.
func spread(n, d int) *mat.Dense {
	r := rand.New(rand.NewPCG(1, 2))
	x := mat.NewDense(n, d, nil)
	for i := range n {
		first, second := 3*r.NormFloat64(), 2*r.NormFloat64()
		for j := range d {
			x.Set(i, j, 5+0.1*r.NormFloat64())
		}
		x.Set(i, 0, x.At(i, 0)+first*0.6)
		x.Set(i, 1, x.At(i, 1)+first*0.8)
		x.Set(i, 2, x.At(i, 2)+second)
	}
	return x
}

// Fit takes one path for more rows than values, and another for more values than rows.
var sizes = [][2]int{{400, 7}, {40, 300}}

func TestComponentsAreTheDirectionsOfLargestVariance(t *testing.T) {
	m := must.Get(Fit(spread(4000, 7), 2))(t)
	for c, want := range [][]float64{{0.6, 0.8, 0}, {0, 0, 1}} {
		along := 0.0
		for j, v := range want {
			along += v * m.Components.At(c, j)
		}
		if math.Abs(along) < 0.99 { // two directions of 4,000 rows
			t.Errorf("component %d is %v", c, m.Components.RawRowView(c))
		}
	}
	if v := m.Variance; math.Abs(v[0]-9) > 1 || math.Abs(v[1]-4) > 0.5 || math.Abs(m.Total-v[0]-v[1]-5*0.01) > 0.01 {
		t.Errorf("variances %v of %v, want about 9 and 4 of 13.05", v, m.Total)
	}
}

func TestComponentsAreOrthonormalAndScoresUncorrelated(t *testing.T) {
	for _, size := range sizes {
		x := spread(size[0], size[1])
		const k = 5
		m := must.Get(Fit(x, k))(t)
		var scores, products, covariances mat.Dense
		scores.Mul(x, m.Components.T()) // Fit has centred x
		products.Mul(m.Components, m.Components.T())
		covariances.Mul(scores.T(), &scores)
		for i := range k {
			for j := range k {
				product, covariance := 0.0, 0.0
				if i == j {
					product, covariance = 1, m.Variance[i]
				}
				got := covariances.At(i, j) / float64(size[0]-1)
				// float64; the smallest variance is a thousandth of the largest
				if math.Abs(products.At(i, j)-product) > 1e-10 || math.Abs(got-covariance) > 1e-10*m.Variance[0] {
					t.Errorf("%v: components %d and %d: product %v, covariance %v", size, i, j, products.At(i, j), got)
				}
			}
		}
	}
}

func TestLargestScoreOfAComponentIsPositive(t *testing.T) {
	for _, size := range sizes {
		x := spread(size[0], size[1])
		m := must.Get(Fit(x, 5))(t)
		var scores mat.Dense
		scores.Mul(x, m.Components.T())
		for c := range 5 {
			column := scores.ColView(c)
			if most := mat.Max(column); most < -mat.Min(column) {
				t.Errorf("%v: component %d has scores from %v to %v", size, c, mat.Min(column), most)
			}
		}
	}
}

// A stream gives what Fit gives for all rows: the same numbers up to as many rows as it keeps, and
// beyond that the same components.
func TestStreamFindsTheComponentsOfAllRows(t *testing.T) {
	for _, n := range []int{300, kept, kept + 1, 3*kept + 77} {
		x := spread(n, 7)
		s := new(Stream)
		for lo := 0; lo < n; lo += 64 {
			s.Add(mat.DenseCopyOf(x.Slice(lo, min(lo+64, n), 0, 7)))
		}
		got := must.Get(s.Fit(3))(t)
		want := must.Get(Fit(x, 3))(t)
		for c := range 3 {
			along := 0.0
			for j := range 7 {
				along += got.Components.At(c, j) * want.Components.At(c, j)
				if math.Abs(got.Mean[j]-want.Mean[j]) > 1e-12 {
					t.Errorf("%d rows: mean %v, want %v", n, got.Mean, want.Mean)
				}
			}
			if n > kept {
				along = math.Abs(along) // the first rows determine its sign
			}
			if math.Abs(along-1) > 1e-10 || math.Abs(got.Variance[c]-want.Variance[c]) > 1e-10 ||
				math.Abs(got.Total-want.Total) > 1e-10 {
				t.Errorf("%d rows: component %d: product %v, variance %v of %v, want %v of %v", n, c, along, got.Variance[c],
					got.Total, want.Variance[c], want.Total)
			}
		}
	}
	if _, err := new(Stream).Fit(1); err == nil {
		t.Error("components of no rows")
	}
}

func TestFitRefusesMoreThanThereIs(t *testing.T) {
	line := mat.NewDense(5, 3, nil) // rows that vary in one direction
	for i := range 5 {
		line.Set(i, 0, float64(i))
	}
	for _, c := range []struct {
		x    *mat.Dense
		k    int
		want string
	}{
		{spread(4, 8), 4, "want 1 to 3"}, {spread(4, 8), 0, "want 1 to 3"}, {spread(9, 4), 5, "want 1 to 4"},
		{line, 2, "vary in only 1 directions, fewer than the 2 asked for"},
		{mat.NewDense(4, 3, nil), 1, "vary in only 0 directions"},
	} {
		if _, err := Fit(c.x, c.k); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d components: %v, want %q", c.k, err, c.want)
		}
	}
}
