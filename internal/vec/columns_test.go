package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

// block holds the arguments of the functions over columns, for contiguous rows.
type block struct {
	rows, c                  int
	x, dy, y, res            []float32
	mean, scale, along, off  []float32
	dst, kept, dx            []float32
	whole                    [3][]float32
	sum, squares, sumY, alng []float64
}

func newBlock(r *rand.Rand, rows, c int, special bool) *block {
	b := &block{rows: rows, c: c}
	for _, s := range []*[]float32{&b.x, &b.dy, &b.y, &b.res} {
		*s, _ = guarded(r, rows*c)
		fill(r, *s, special)
	}
	for _, s := range []*[]float32{&b.mean, &b.scale, &b.along, &b.off} {
		*s, _ = guarded(r, c)
		fill(r, *s, false)
	}
	b.results(r)
	return b
}

func (b *block) results(r *rand.Rand) {
	for i, s := range []*[]float32{&b.dst, &b.kept, &b.dx} {
		*s, b.whole[i] = guarded(r, b.rows*b.c)
	}
	for _, s := range []*[]float64{&b.sum, &b.squares, &b.sumY, &b.alng} {
		*s = make([]float64, b.c+1)
	}
}

// run calls every function once. option selects the optional arguments.
func (b *block) run(option int) {
	y, res, kept := b.y, b.res, b.kept
	if option&1 != 0 {
		y = nil
	}
	if option&2 != 0 {
		res, kept = nil, nil
	}
	ColumnMoments(b.sum[:b.c], b.squares[:b.c], b.mean, b.x)
	ColumnSums(b.sum[:b.c], b.x, b.rows, b.c)
	ColumnSquares(b.squares[:b.c], b.x, b.rows, b.c)
	Affine(b.dst, b.x, res, b.mean, b.scale, b.off, option&1 == 0)
	NormSums(b.alng[:b.c], b.sumY[:b.c], kept, b.dy, b.x, y, b.mean)
	NormBack(b.dx, b.dy, b.x, y, b.mean, b.scale, b.along, b.off)
}

// column returns a block of column j alone, which the Go loops process.
func (b *block) column(r *rand.Rand, j int) *block {
	one := &block{rows: b.rows, c: 1}
	for _, s := range []struct{ from, to *[]float32 }{{&b.x, &one.x}, {&b.dy, &one.dy}, {&b.y, &one.y},
		{&b.res, &one.res}} {
		*s.to = make([]float32, b.rows)
		for i := range b.rows {
			(*s.to)[i] = (*s.from)[i*b.c+j]
		}
	}
	one.mean, one.scale, one.along, one.off = b.mean[j:j+1], b.scale[j:j+1], b.along[j:j+1], b.off[j:j+1]
	one.results(r)
	return one
}

func TestColumnsEqualTheLoopAndWriteNothingElse(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for c := 1; c <= 41; c++ {
		for _, rows := range []int{0, 1, 2, 3, 5, 8} {
			for option := range 4 {
				b := newBlock(r, rows, c, true)
				b.run(option)
				for i, s := range [][]float32{b.dst, b.kept, b.dx} {
					if touched(s, b.whole[i]) {
						t.Fatalf("%d×%d, option %d: memory beside result %d is changed", rows, c, option, i)
					}
				}
				for _, s := range [][]float64{b.sum, b.squares, b.sumY, b.alng} {
					if s[c] != 0 {
						t.Fatalf("%d×%d: a sum beside the columns is changed", rows, c)
					}
				}
				for j := range c {
					one := b.column(r, j)
					one.run(option)
					b.compare(t, one, j, option)
				}
			}
		}
	}
}

func (b *block) compare(t *testing.T, one *block, j, option int) {
	for i := range b.rows {
		at := i*b.c + j
		if !same(b.dst[at], one.dst[i]) || !same(b.kept[at], one.kept[i]) || !same(b.dx[at], one.dx[i]) {
			t.Fatalf("%d×%d, option %d, row %d, column %d: %v %v %v, alone %v %v %v", b.rows, b.c, option, i, j,
				b.dst[at], b.kept[at], b.dx[at], one.dst[i], one.kept[i], one.dx[i])
		}
	}
	for k, s := range [][2]float64{{b.sum[j], one.sum[0]}, {b.squares[j], one.squares[0]}, {b.sumY[j], one.sumY[0]},
		{b.alng[j], one.alng[0]}} {
		if s[0] != s[1] && (s[0] == s[0] || s[1] == s[1]) {
			t.Fatalf("%d×%d, option %d, column %d: sum %d is %v, alone %v", b.rows, b.c, option, j, k, s[0], s[1])
		}
	}
}

func TestColumnsFollowTheirDefinitions(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	const rows, c = 200, 19
	b := newBlock(r, rows, c, false)
	b.run(0)
	for j := range c {
		var sum, squares, sumY, along float64
		for i := range rows {
			at := i*c + j
			v, mean := float64(b.x[at]), float64(b.mean[j])
			d, dz := v-mean, 0.0
			if b.y[at] > 0 {
				dz = float64(b.dy[at])
			}
			sum, squares, sumY, along = sum+d+v, squares+d*d+v*v, sumY+dz, along+dz*d
			scale := math.Abs(float64(b.scale[j]))
			dst := max(0, d*float64(b.scale[j])+float64(b.off[j])+float64(b.res[at]))
			dx := float64(b.scale[j]) * (dz - float64(b.off[j]) - d*float64(b.along[j]))
			// Four and five roundings of terms that do not exceed these.
			size := math.Abs(v) + math.Abs(mean)
			if e := math.Abs(float64(b.dst[at]) - dst); e > 2.4e-7*(size*scale+math.Abs(float64(b.off[j]))+
				math.Abs(float64(b.res[at]))) {
				t.Errorf("Affine: %v, want %v", b.dst[at], dst)
			}
			if e := math.Abs(float64(b.dx[at]) - dx); e > 3e-7*scale*(math.Abs(dz)+math.Abs(float64(b.off[j]))+
				size*math.Abs(float64(b.along[j]))) {
				t.Errorf("NormBack: %v, want %v", b.dx[at], dx)
			}
			if float64(b.kept[at]) != dz {
				t.Errorf("NormSums keeps %v, want %v", b.kept[at], dz)
			}
		}
		for _, s := range [][2]float64{{b.sum[j], sum}, {b.squares[j], squares}, {b.sumY[j], sumY}} {
			if math.Abs(s[0]-s[1]) > 1e-12*(1+squares) {
				t.Errorf("column %d: sum %v, want %v", j, s[0], s[1])
			}
		}
		if math.Abs(b.alng[j]-along) > 1e-6*(1+squares) { // x − mean is a float32
			t.Errorf("column %d: Σ dz·(x − mean) is %v, want %v", j, b.alng[j], along)
		}
	}
}

// Moments around the first row keep the variance of a channel whose mean is 10,000 times its
// spread, and of one whose first value is an outlier.
func TestMomentsAroundTheFirstRowKeepTheVariance(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	const n = 100_000
	x := make([]float32, 2*n)
	for i := range n {
		x[2*i] = float32(10_000 + r.NormFloat64())
		x[2*i+1] = float32(r.NormFloat64())
	}
	x[1] = 1e6
	sum, squares := make([]float64, 2), make([]float64, 2)
	ColumnMoments(sum, squares, x[:2], x)
	for j := range 2 {
		mean, want := 0.0, 0.0
		for i := range n {
			mean += float64(x[2*i+j]) / n
		}
		for i := range n {
			want += (float64(x[2*i+j]) - mean) * (float64(x[2*i+j]) - mean) / n
		}
		// rounding error of a sum of 1e5 terms, 1e-13, times n
		if got := (squares[j] - sum[j]*sum[j]/n) / n; math.Abs(got-want) > 1e-8*want {
			t.Errorf("column %d: variance %v, want %v", j, got, want)
		}
	}
}

func TestLayerSumsFollowTheirDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	const mean, rstd = 0.25, 1.75
	for _, n := range lengths() {
		dy, _ := guarded(r, n)
		x, _ := guarded(r, n)
		gamma, _ := guarded(r, n)
		for _, s := range [][]float32{dy, x, gamma} {
			fill(r, s, false)
		}
		dgamma, dbeta := make([]float64, n+1), make([]float64, n+1)
		sum, along := LayerSums(dgamma[:n], dbeta[:n], dy, x, gamma, mean, rstd)
		var s, a [8]float64
		for i := range n {
			d, hat := float64(dy[i]), (float64(x[i])-mean)*rstd
			if dgamma[i] != d*hat || dbeta[i] != d {
				t.Fatalf("length %d: dγ %v, dβ %v at %d", n, dgamma[i], dbeta[i], i)
			}
			g := d * float64(gamma[i])
			s[i%8] += g
			a[i%8] += float64(g * hat)
		}
		if sum != join8(&s) || along != join8(&a) || dgamma[n] != 0 || dbeta[n] != 0 {
			t.Fatalf("length %d: %v and %v, want %v and %v", n, sum, along, join8(&s), join8(&a))
		}
	}
}
