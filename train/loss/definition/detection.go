package definition

import (
	"slices"

	"hgld/train/device"
	"hgld/train/loss"
)

// scoresOf holds the scores of every class, and which of the items are its positives, for one batch.
type scoresOf struct {
	s  [][]float64 // [C,N]
	sh [][]uint8   // [C,N]: 1 for a positive
}

// Scores is the memory of RamboDetection: the scores of the last batches, newest first.
type Scores []scoresOf

// RamboDetection returns the loss of one step of RamboDetection with a memory. The step adds its own batch
// to past.
func RamboDetection(k loss.RamboDetection, in *Batch, past *Scores) Result {
	r := Result{Query: ZerosLike(in.Query), Proxies: ZerosLike(in.Proxies), Bias: make([]float64, len(in.Bias))}
	addDetection(k, in, 1, &r, past)
	return r
}

func addDetection(k loss.RamboDetection, in *Batch, weight float64, r *Result, past *Scores) {
	C, N := len(in.Proxies), len(in.Query)
	now := scoresOf{s: Zeros(C, N), sh: make([][]uint8, C)}
	for c, p := range in.Proxies {
		now.sh[c] = make([]uint8, N)
		for n, q := range in.Query {
			now.s[c][n] = dot(p, q)
			switch in.Labels[n][k.Level] {
			case int32(c):
				now.sh[c][n] = 1
			case -1:
				now.sh[c][n] = device.AbsentLevel
			}
		}
	}
	s, sh := make([][]float64, C), make([][]uint8, C)
	for _, batch := range append(Scores{now}, *past...) {
		for c := range C {
			s[c], sh[c] = append(s[c], batch.s[c]...), append(sh[c], batch.sh[c]...)
		}
	}
	ds := Zeros(C, N)
	lists := func(s [][]float64, sh [][]uint8, by float64, add func(list, item int, ds float64)) {
		kind := loss.BlackBoxAP{Lambda: k.Lambda, Margin: k.Margin}
		value, grad := blackBoxAPOf(kind, nil, new([][]float64))(s, sh)
		r.Value += weight * by * value
		for c, row := range grad {
			for i, v := range row {
				add(c, i, by*v)
			}
		}
	}
	M := len(s[0])
	lists(s, sh, k.MAP, func(c, i int, v float64) {
		if i < N {
			ds[c][i] += v
		}
	})
	lists([][]float64{slices.Concat(s...)}, [][]uint8{slices.Concat(sh...)}, k.APC, func(_, i int, v float64) {
		if i%M < N {
			ds[i/M][i%M] += v
		}
	})
	for c, row := range ds {
		for n, v := range row {
			for d := range in.Query[n] {
				r.Query[n][d] += weight * v * in.Proxies[c][d]
				r.Proxies[c][d] += weight * v * in.Query[n][d]
			}
		}
	}
	*past = append(Scores{now}, *past...)
	*past = (*past)[:min(len(*past), k.BatchMemory)]
}
