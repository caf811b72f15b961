package cluster

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"hgld/internal/blas"
	"hgld/internal/testing/must"
)

// planted draws n rows of unit length around k random centres.
func planted(n, d, k int, noise float32, seed uint64) Matrix {
	random := rand.New(rand.NewPCG(seed, 0))
	centres := NewMatrix(k, d)
	for i := range centres.Data {
		centres.Data[i] = float32(random.NormFloat64())
	}
	x := NewMatrix(n, d)
	for i := range n {
		c := centres.Row(random.IntN(k))
		for j := range d {
			x.Row(i)[j] = c[j] + noise*float32(random.NormFloat64())
		}
	}
	y, _, err := normalize(x)
	if err != nil {
		panic(err)
	}
	return y
}

func TestKMeansInertiaNeverRises(t *testing.T) {
	for seed := range uint64(20) {
		x := planted(300, 12, 9, 0.8, seed)
		for _, spherical := range []bool{false, true} {
			last := math.Inf(1)
			o := KMeans{K: 15, Spherical: spherical, Watch: func(it Iteration) {
				if it.Inertia > last*(1+1e-5) { // the inertia of an iteration is computed from float32 distances
					t.Errorf("seed %d, spherical %v: iteration %d has inertia %v after %v", seed, spherical, it.Iteration, it.Inertia,
						last)
				}
				last = it.Inertia
			}}
			r := run(t, o, x, seed)
			if math.Abs(r.Inertia-last) > 1e-5*last {
				t.Errorf("seed %d: reported inertia %v, last iteration %v", seed, r.Inertia, last)
			}
		}
	}
}

func TestKMeansResultIsALocalMinimum(t *testing.T) {
	x := planted(400, 8, 6, 1, 3)
	r := run(t, KMeans{K: 10, NInit: 2}, x, 3)
	total := 0.0
	for i := range x.Rows {
		own := distance2(x.Row(i), r.Centroids[int(r.Labels[i])*x.Cols:int(r.Labels[i]+1)*x.Cols])
		total += own
		for k := range r.Sizes {
			if d := distance2(x.Row(i), r.Centroids[k*x.Cols:(k+1)*x.Cols]); d < own-1e-5 {
				t.Errorf("row %d is %v from its centroid %d and %v from centroid %d", i, own, r.Labels[i], d, k)
			}
		}
	}
	if math.Abs(total-r.Inertia) > 1e-9*total {
		t.Errorf("inertia %v, sum of squared distances %v", r.Inertia, total)
	}
}

func TestKMeansIsTheSameOnAnyNumberOfCores(t *testing.T) {
	x := planted(700, 40, 12, 1, 5)
	lib := must.Get(blas.Default())(t)
	for i, spherical := range []bool{false, true, false, true} {
		o := KMeans{K: 25, NInit: 3, Spherical: spherical}
		if i > 1 {
			o.BLAS = lib
		}
		before := runtime.GOMAXPROCS(1)
		one := run(t, o, x, 11)
		runtime.GOMAXPROCS(5)
		five := run(t, o, x, 11)
		runtime.GOMAXPROCS(before)
		if !reflect.DeepEqual(one, five) {
			t.Errorf("spherical %v: results on one and on five cores differ", spherical)
		}
	}
}

func TestMoreKMeansStartsRepeatTheFirstOnes(t *testing.T) {
	x := planted(300, 6, 10, 1.2, 8)
	two := run(t, KMeans{K: 12, NInit: 2}, x, 4)
	five := run(t, KMeans{K: 12, NInit: 5}, x, 4)
	if !reflect.DeepEqual(two.Restarts, five.Restarts[:2]) {
		t.Errorf("inertias of the first starts: %v and %v", two.Restarts, five.Restarts)
	}
	if other := run(t, KMeans{K: 12, NInit: 2}, x, 5); reflect.DeepEqual(two.Restarts, other.Restarts) {
		t.Error("another seed gave the same inertias")
	}
}

func TestKMeansRefillsEmptyCluster(t *testing.T) {
	x := pack(t, [][]float32{{0, 0}, {0, 1}, {1, 0}, {8, 8}, {8, 9}, {100, 0}})
	start := pack(t, [][]float32{{0, 0}, {8, 8}, {-900, 0}, {-950, 0}})
	var refilled []int
	r := run(t, KMeans{K: 4, Start: start, Watch: func(it Iteration) { refilled = append(refilled, it.Refilled) }}, x, 0)
	// (100,0) is the farthest row, and nearer to (8,8) than to (0,0). Of the rows at distance 1,
	// the lowest is (0,1).
	if want := []int32{0, 3, 0, 1, 1, 2}; !reflect.DeepEqual(r.Labels, want) || refilled[0] != 2 {
		t.Errorf("labels %v with %v refilled, want %v with 2 at first", r.Labels, refilled, want)
	}
}

func TestKMeansWithFewerDistinctRowsThanClusters(t *testing.T) {
	x := pack(t, [][]float32{{3, 4}, {3, 4}, {3, 4}, {0, 1}, {0, 1}, {2, 0}})
	for _, spherical := range []bool{false, true} {
		r := run(t, KMeans{K: 5, NInit: 4, Spherical: spherical}, x, 1)
		used := 0
		for _, s := range r.Sizes {
			if s > 0 {
				used++
			}
		}
		if r.Inertia > 1e-12 || used != 3 {
			t.Errorf("spherical %v: inertia %v in %d clusters, want 0 in 3", spherical, r.Inertia, used)
		}
	}
}

func TestKMeansIsAccurateFarFromTheOrigin(t *testing.T) {
	x := planted(200, 4, 5, 0.2, 2)
	far := NewMatrix(x.Rows, x.Cols)
	for i, v := range x.Data { // a multiple of 1/64 stays exact in float32 when shifted by 100,000
		x.Data[i] = float32(math.Round(float64(v)*64) / 64)
		far.Data[i] = x.Data[i] + 1e5
	}
	near, moved := run(t, KMeans{K: 5, NInit: 3}, x, 9), run(t, KMeans{K: 5, NInit: 3}, far, 9)
	if !reflect.DeepEqual(near.Labels, moved.Labels) || math.Abs(near.Inertia-moved.Inertia) > 1e-6 {
		t.Errorf("inertia %v, moved by 100000 %v", near.Inertia, moved.Inertia)
	}
}

func TestKMeansStopsAtMaxIter(t *testing.T) {
	x := planted(2000, 6, 5, 3, 6)
	if r := run(t, KMeans{K: 20, MaxIter: 3}, x, 1); r.Iterations != 3 {
		t.Errorf("max_iter 3 took %d iterations", r.Iterations)
	}
}

func TestKMeansRefusesInvalidOptions(t *testing.T) {
	x := planted(10, 3, 2, 1, 1)
	nan := planted(10, 3, 2, 1, 1)
	nan.Row(7)[1] = float32(math.NaN())
	zero := planted(10, 3, 2, 1, 1)
	clear(zero.Row(4))
	for _, c := range []struct {
		o    KMeans
		x    Matrix
		want string
	}{
		{KMeans{K: 0}, x, "at least 1"},
		{KMeans{K: 11}, x, "only 10 rows"},
		{KMeans{K: 2, MaxIter: -1}, x, "max_iter -1"},
		{KMeans{K: 2, Start: NewMatrix(3, 3)}, x, "start is [3,3], want [2,3]"},
		{KMeans{K: 3, NInit: 2, Start: NewMatrix(3, 3)}, x, "given start"},
		{KMeans{K: 2}, nan, "vector 7"},
		{KMeans{K: 2, Spherical: true}, zero, "vector 4 is zero"},
	} {
		if _, err := c.o.Run(context.Background(), c.x, 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("K %d: error %v, want one with %q", c.o.K, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (KMeans{K: 2}).Run(ctx, x, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled run returned %v", err)
	}
}

func TestNearestTakesTheLowerOfEqualRows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, k := range []int{1, 2, 255, 256, 257, 600} { // around the width of a tile
		x, c, cc := NewMatrix(131, 5), NewMatrix(k, 5), make([]float32, k)
		for i := range x.Data {
			x.Data[i] = float32(random.IntN(5))
		}
		for i := range c.Data {
			c.Data[i] = float32(random.IntN(5))
		}
		for i := range cc {
			cc[i] = float32(square(c.Row(i)))
		}
		index, dist := make([]int32, x.Rows), make([]float32, x.Rows)
		nearestRows(nil, index, dist, x, c, cc)
		for i := range x.Rows { // small integers, so all sums are exact
			best, at := math.Inf(1), 0
			for j := range k {
				d := -square(x.Row(i))
				for l, v := range x.Row(i) {
					d += float64(v-c.Row(j)[l]) * float64(v-c.Row(j)[l])
				}
				if d < best {
					best, at = d, j
				}
			}
			if int(index[i]) != at || float64(dist[i]) != best {
				t.Fatalf("k %d, row %d: nearest %d at %v, want %d at %v", k, i, index[i], dist[i], at, best)
			}
		}
	}
}

// spectral draws rows around 78 centres that are themselves around 8, with variances that decay as
// in text vectors, so that k-means takes some iterations.
func spectral(n, d int) Matrix {
	random := rand.New(rand.NewPCG(1, 1))
	gauss := func(rows int) Matrix {
		m := NewMatrix(rows, d)
		for i := range m.Data {
			m.Data[i] = float32(random.NormFloat64())
		}
		return m
	}
	top, centres, x := gauss(8), gauss(78), gauss(n)
	for i := range n {
		c := random.IntN(78)
		for j := range d {
			scale := math.Pow(1+float64(j)/4, -0.6)
			x.Row(i)[j] = (top.Row(c % 8)[j] + 0.8*centres.Row(c)[j] + 1.2*x.Row(i)[j]) * float32(scale)
		}
	}
	y, _, err := normalize(x)
	if err != nil {
		panic(err)
	}
	return y
}
