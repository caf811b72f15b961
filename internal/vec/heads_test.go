package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestHeadsEqualTheLoopAndWriteNothingElse(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, heads := range []int{1, 2, 3, 12, 17} {
		for _, size := range []int{1, 7, 8, 9, 16, 32, 64, 65} {
			for _, special := range []bool{false, true} {
				q, _ := guarded(r, heads*size)
				k, _ := guarded(r, heads*size)
				p, wholeP := guarded(r, heads)
				y, wholeY := guarded(r, heads*size)
				for _, x := range [][]float32{q, k, p, y} {
					fill(r, x, special)
				}
				wantP, wantY := make([]float32, heads), append([]float32(nil), y...)
				HeadMix(y, p, k)
				headMix(wantY, p, k, size)
				HeadDots(p, q, k)
				headDots(wantP, q, k, size)
				if touched(p, wholeP) || touched(y, wholeY) {
					t.Fatalf("%d heads of %d: memory beside the result is changed", heads, size)
				}
				for i, v := range p {
					if !same(v, wantP[i]) {
						t.Fatalf("%d heads of %d: product %d is %v, want %v", heads, size, i, v, wantP[i])
					}
				}
				for i, v := range y {
					if !same(v, wantY[i]) {
						t.Fatalf("%d heads of %d: element %d is %v, want %v", heads, size, i, v, wantY[i])
					}
				}
			}
		}
	}
}

func TestHeadDotsIsTheProductOfEachHead(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	const heads, size = 5, 40
	q, _ := guarded(r, heads*size)
	k, _ := guarded(r, heads*size)
	fill(r, q, false)
	fill(r, k, false)
	got := make([]float32, heads)
	HeadDots(got, q, k)
	for h, v := range got {
		want, scale := 0.0, 0.0
		for i := h * size; i < (h+1)*size; i++ {
			x := float64(q[i]) * float64(k[i])
			want, scale = want+x, scale+math.Abs(x)
		}
		if math.Abs(float64(v)-want) > scale*size*0x1p-24 {
			t.Errorf("head %d: %v, want %v", h, v, want)
		}
	}
}
