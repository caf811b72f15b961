package vec

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Every length gives the buckets of the loop, which never fall while the numbers rise.
func TestBucketsEqualTheLoopAndAreMonotone(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, o := range []Buckets{{-0.5, 1000, 998}, {0, 1e30, 14}, {-1e38, 1e-35, 65534}} {
		for _, n := range lengths() {
			x, _ := guarded(r, n)
			fill(r, x, true)
			x = slices.DeleteFunc(x, func(v float32) bool { return v != v })
			got, want := make([]uint32, len(x)+1), make([]uint32, len(x))
			got[len(x)] = 1 << 31
			o.Of(got, x)
			for i, v := range x {
				want[i] = o.One(v)
			}
			if !slices.Equal(got[:len(x)], want) || got[len(x)] != 1<<31 {
				t.Fatalf("%+v, %d numbers: %v, want %v", o, n, got, want)
			}
			slices.Sort(x)
			o.Of(got, x)
			if !slices.IsSorted(got[:len(x)]) || n > 0 && float32(got[len(x)-1]) > o.Top+1 {
				t.Fatalf("%+v: the buckets of %v are %v", o, x, got[:len(x)])
			}
		}
	}
}
