package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"

	"hgld/train/device"
)

// Many queries meet a gallery that is packed for all of them, some columns at a time; few meet
// it whole. The bytes are the same.
func TestPackedScoresEqualThoseOfFewQueries(t *testing.T) {
	const queries, width = sharedTiles*192 + 1, 512
	gallery := mostPacked/width + 700
	if scoreColumns(queries, gallery, width) >= gallery {
		t.Fatal("the gallery is multiplied at once")
	}
	b := New(2)
	r := rand.New(rand.NewPCG(1, 2))
	q, g := device.New(b, device.F32, queries, width), device.New(b, device.F32, gallery, width)
	for _, a := range []device.Array{q, g} {
		for i := range f32(a) {
			f32(a)[i] = float32(r.NormFloat64())
		}
	}
	all, few := device.New(b, device.F32, queries, gallery), device.New(b, device.F32, 50, gallery)
	b.Scores(all, q, g)
	for _, lo := range []int{0, 180, queries - 50} {
		b.Scores(few, q.RowRange(lo, lo+50), g)
		if !slices.Equal(f32(few), f32(all.RowRange(lo, lo+50))) {
			t.Errorf("queries from %d on: other scores", lo)
		}
	}
}
