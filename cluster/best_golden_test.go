package cluster

import (
	"hash/fnv"
	"math"
	"path/filepath"
	"strconv"
	"testing"

	"hgld/internal/testing/goldens"
)

// bestSet is an entry of best.json: the origin of its rows, and the inertia that twenty starts must
// reach.
type bestSet struct {
	Name string
	Rule *struct {
		Kind, Prefix, Name string
		N, D, K            int
		Spread, Noise      uint64
		Modulus            uint64
		DivideBy           float32 `json:"divide_by"`
	}
	Tensor   string
	Rows     [2]int
	FirstRow []float32 `json:"first_row"`
	Sum      float64
	K        int
	Bound    float64 `json:"must_reach_with_20_starts"`
}

func TestGoldenKMeansOfTwentyStarts(t *testing.T) {
	var file struct{ Sets []bestSet }
	goldens.ReadJSON(t, filepath.Join(goldens.Dir(t, "cluster"), "best.json"), &file)
	for _, c := range file.Sets {
		t.Run("cluster/sets."+c.Name, func(t *testing.T) {
			r := run(t, KMeans{K: c.K, NInit: 20}, c.rows(t), 1)
			if c.Bound <= 0 || r.Inertia > c.Bound {
				t.Errorf("inertia of the best of 20 starts is %v, want at most %v", r.Inertia, c.Bound)
			}
		})
	}
}

func (c bestSet) rows(t *testing.T) Matrix {
	if c.Rule == nil {
		return rowsOf(labelEmbeddings(t, c.Tensor), c.Rows[0], c.Rows[1])
	}
	r := c.Rule
	x := NewMatrix(r.N, r.D)
	sum := 0.0
	for i := range r.N {
		for j := range r.D {
			at := uint64(i*r.D + j)
			var v float32
			switch r.Kind {
			case "ints":
				v = float32(ruleInt(r.Name, at)%r.Modulus) / r.DivideBy
			case "blobs":
				blob := ruleInt(r.Prefix+".blob", uint64(i)) % uint64(r.K)
				n := int(ruleInt(r.Prefix+".centre", blob*uint64(r.D)+uint64(j))%(2*r.Spread+1)) - int(r.Spread)
				for k := range 4 {
					n += int(ruleInt(r.Prefix+".noise"+strconv.Itoa(k), at)%(2*r.Noise+1)) - int(r.Noise)
				}
				v = float32(n) / 16
			default:
				t.Fatalf("unknown rule %q", r.Kind)
			}
			x.Row(i)[j] = v
			sum += float64(v)
		}
	}
	for j, want := range c.FirstRow {
		if x.Row(0)[j] != want {
			t.Fatalf("first row is %v, want %v", x.Row(0), c.FirstRow)
		}
	}
	if math.Abs(sum-c.Sum) > 1e-6 {
		t.Fatalf("sum is %v, want %v", sum, c.Sum)
	}
	return x
}

// ruleInt returns the integer z(name, index) from which the golden folder makes inputs: the output
// function of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) at step index+1 of the stream that
// begins at the FNV-1a hash of the name.
func ruleInt(name string, index uint64) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	z := h.Sum64() + (index+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
