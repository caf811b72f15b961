package cpu

import (
	"hgld/internal/ranksort"
	"hgld/train/device"
)

// RanksGrad ranks each query's items by s and by s + lambda·n·drank. The factor n compensates
// for ranks that were divided by n.
func (b *Backend) RanksGrad(ds, drank, s, sh device.Array, lambda float32) {
	if !device.AreMatrices(sh, ds, drank, s) || !(lambda > 0) {
		panic(shapes("RanksGrad", ds, drank, s, sh))
	}
	t := ranksGradTask{ds: ds, drank: drank, s: s, sh: sh, lambda: lambda}
	t.keys = scratch[uint64](b, "ranksgrad", b.Threads()*2*sh.Cols())
	split(b, sh.Rows(), 1, t)
}

type ranksGradTask struct {
	ds, drank, s, sh device.Array
	lambda           float32
	keys             []uint64
}

func (t *ranksGradTask) span(worker, lo, hi int) {
	g := t.sh.Cols()
	keys, spare := t.keys[worker*2*g:][:g], t.keys[worker*2*g+g:][:g]
	for q := lo; q < hi; q++ {
		ds, drank, s, sh := row(f32(t.ds), t.ds, q), row(f32(t.drank), t.drank, q), row(f32(t.s), t.s, q),
			row(u8(t.sh), t.sh, q)
		clear(ds)
		keys := movedKeys(keys, s, drank, sh, 0)
		for place, k := range ranksort.Sort(keys, spare[:len(keys)]) {
			ds[uint32(k)] = float32(place)
		}
		lambda := float64(len(keys)) * float64(t.lambda)
		keys = movedKeys(keys, s, drank, sh, lambda)
		for place, k := range ranksort.Sort(keys, spare[:len(keys)]) {
			at := uint32(k)
			ds[at] = float32((float64(place) - float64(ds[at])) / lambda)
		}
	}
}

// movedKeys returns the keys of the existing items by s + lambda·drank.
func movedKeys(keys []uint64, s, drank []float32, sh []uint8, lambda float64) []uint64 {
	n := 0
	for i, l := range sh {
		if l == device.AbsentLevel {
			continue
		}
		v := s[i]
		if l >= 1 && lambda > 0 {
			v = float32(float64(v) + lambda*float64(drank[i]))
		}
		keys[n] = ranksort.Key(v, uint32(i))
		n++
	}
	return keys[:n]
}
