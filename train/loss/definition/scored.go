package definition

import (
	"math"

	"hgld/train/device"
	"hgld/train/device/reference"
	"hgld/train/loss"
)

// scored holds in float64 what a loss of the score matrix computes: the value and the derivative
// by each score.
type scored struct {
	Ranking   // its levels, self and combine
	normalise bool
	of        func(s [][]float64, sh [][]uint8) (value float64, ds [][]float64)
}

// scoredOf returns nil for a loss of another kind.
func scoredOf(k loss.Kind, in *Batch) *scored {
	one := func(level int, a loss.GalleryOptions, normalise bool,
		of func([][]float64, [][]uint8) (float64, [][]float64)) *scored {
		return &scored{Ranking{from: level, to: level + 1, self: selfOf(a), combine: a.MemoryCombine}, normalise, of}
	}
	switch k := k.(type) {
	case loss.Calibration:
		p := reference.Pairs{Kind: device.Contrastive, Mean: device.MeanPairs, PosMargin: k.PosMargin, NegMargin: k.NegMargin}
		if k.Reduction == loss.Violations {
			p.Mean = device.MeanTerms
		}
		return one(k.Level, k.GalleryOptions, k.Normalise, pairsOf(p))
	case loss.Triplet:
		p := reference.Pairs{Kind: device.Triplet, Mean: device.MeanTerms, PosMargin: k.Margin}
		if k.Mining == loss.EasiestPositive {
			p.Kind = device.EasyTriplet
		}
		return one(k.Level, k.GalleryOptions, k.Normalise, pairsOf(p))
	case loss.XBMContrastive:
		p := reference.Pairs{Kind: device.CrossBatch, NegMargin: k.Margin, Ceiling: 1 - k.Epsilon}
		return one(k.Level, loss.GalleryOptions{MemoryCombine: k.MemoryCombine}, false, pairsOf(p))
	case loss.MultiSimilarity:
		p := reference.Pairs{
			Kind: device.MultiSimilarity, PosScale: k.Alpha, NegScale: k.Beta, Base: k.Base,
			Mine: k.Mining, PosMargin: k.MiningMargin, Ceiling: math.Inf(1),
		}
		if k.Epsilon > 0 {
			p.Ceiling = 1 - k.Epsilon
		}
		return one(k.Level, k.GalleryOptions, k.Normalise, pairsOf(p))
	case loss.BlackBoxAP:
		return one(k.Level, k.GalleryOptions, false, blackBoxAPOf(k, in.Draws(), new([][]float64)))
	case loss.RamboRecall:
		return one(k.Level, k.GalleryOptions, false, ramboRecallOf(k, new([][][]float64)))
	case loss.SoftBinAP:
		return one(k.Level, k.GalleryOptions, false, binsOf(reference.Bins{N: k.NQ, Min: k.Min, Max: k.Max}))
	case loss.FastAP:
		return one(k.Level, loss.GalleryOptions{MemoryCombine: k.MemoryCombine}, true,
			binsOf(reference.Bins{N: k.NumBins + 1, Min: -1, Max: 1}))
	}
	return nil
}

func pairsOf(p reference.Pairs) func([][]float64, [][]uint8) (float64, [][]float64) {
	return func(s [][]float64, sh [][]uint8) (value float64, ds [][]float64) {
		ds = ZerosLike(s)
		sums, total := make([]reference.PairSum, len(s)), [2]int64{}
		for q := range s {
			sums[q] = reference.PairLoss(ds[q], s[q], sh[q], &p)
			total[0] += int64(sums[q].Count[0])
			total[1] += int64(sums[q].Count[1])
		}
		for q, r := range sums {
			w := p.Weights(r.Count, total, len(s))
			value += w[0]*r.Loss[0] + w[1]*r.Loss[1]
			for g, l := range sh[q] {
				if l == 0 {
					ds[q][g] *= w[1]
				} else {
					ds[q][g] *= w[0]
				}
			}
		}
		return value, ds
	}
}

func binsOf(o reference.Bins) func([][]float64, [][]uint8) (float64, [][]float64) {
	return func(s [][]float64, sh [][]uint8) (value float64, ds [][]float64) {
		ds = ZerosLike(s)
		counted := 0.0
		for q := range s {
			value += reference.BinLoss(ds[q], s[q], sh[q], o, make([]float64, 6*o.N))
			if hasPositive(sh[q]) {
				counted++
			}
		}
		if counted == 0 {
			return 0, ds
		}
		for _, row := range ds {
			for g := range row {
				row[g] /= counted
			}
		}
		return value / counted, ds
	}
}

func hasPositive(sh []uint8) bool {
	for _, l := range sh {
		if l >= 1 && l != device.AbsentLevel {
			return true
		}
	}
	return false
}

// addWithMemory adds the loss against the gallery and, if there is one, the memory.
func (d *scored) addWithMemory(in *Batch, weight float64, r *Result) {
	if in.Memory == nil {
		d.add(in, weight, r)
		return
	}
	batch, memory := in.weights(d.combine)
	d.add(in, weight*batch, r)
	d.add(in.remembered(), weight*memory, r)
}

// add adds weight times the loss and its gradient.
func (d *scored) add(in *Batch, weight float64, r *Result) {
	query, gallery, to := in.Query, in.Gallery, in.galleryGradient(r)
	if d.normalise {
		query, gallery = Units(query), Units(gallery)
	}
	value, ds := d.of(products(query, gallery), d.Shared(in))
	r.Value += weight * value
	dq, dg := ZerosLike(query), ZerosLike(to)
	for q := range ds {
		for g, v := range ds[q] {
			for i := range query[q] {
				dq[q][i] += weight * v * gallery[g][i]
				if dg != nil {
					dg[g][i] += weight * v * query[q][i]
				}
			}
		}
	}
	if d.normalise {
		dq, dg = ThroughUnits(dq, in.Query), ThroughUnits(dg, in.Gallery)
	}
	addTo(r.Query, dq)
	addTo(to, dg)
}

func products(a, b [][]float64) [][]float64 {
	s := Zeros(len(a), len(b))
	for q := range a {
		for g := range b {
			s[q][g] = dot(a[q], b[g])
		}
	}
	return s
}

// Units divides every row by its length.
func Units(x [][]float64) [][]float64 {
	u := ZerosLike(x)
	for i, row := range x {
		n := norm(row)
		for j, v := range row {
			u[i][j] = v / n
		}
	}
	return u
}

// ThroughUnits returns the gradient by x, given the gradient by the normalised rows of x.
func ThroughUnits(d, x [][]float64) [][]float64 {
	out := tangent(d, x)
	for i := range d {
		row := x[i]
		n := norm(row)
		for j := range out[i] {
			out[i][j] /= n
		}
	}
	return out
}

func addTo(sum, x [][]float64) {
	for i, row := range x {
		for j, v := range row {
			sum[i][j] += v
		}
	}
}

// addProxied adds a loss of the scores against normalised proxies, one of which belongs to the
// query's class. It reports whether k is of that kind.
func addProxied(k loss.Kind, in *Batch, weight float64, r *Result) bool {
	var p reference.Pairs
	level, query := 0, in.Query
	switch k := k.(type) {
	case loss.NCAPP:
		unit := *in
		unit.Query = Units(in.Query)
		part := Result{Query: ZerosLike(in.Query), Proxies: ZerosLike(in.Proxies)}
		addNSM(loss.NSM{Temperature: 1 / (2 * k.Scale * k.Scale), Level: k.Level}, &unit, weight, &part)
		r.Value += part.Value
		addTo(r.Query, ThroughUnits(part.Query, in.Query))
		addTo(r.Proxies, part.Proxies)
		return true
	case loss.CSL:
		if k.Reduce == loss.MeanOverLevels {
			weight /= float64(len(in.Labels[0]))
		}
		p = reference.Pairs{Kind: device.Levels, PosScale: k.Scale, Margins: k.Margins}
		if k.Margins == nil {
			p.Margins = releasedMargins(len(in.Labels[0]))
		}
	case loss.ProxyNCA:
		p, level, query = reference.Pairs{Kind: device.Ratio, PosScale: 2 * k.Scale * k.Scale}, k.Level, Units(in.Query)
	case loss.ArcFace:
		p, level, query = reference.Pairs{Kind: device.Angular, PosScale: k.S, PosMargin: k.M, Easy: k.EasyMargin,
			Smoothing: k.Smoothing}, k.Level, Units(in.Query)
	default:
		return false
	}
	proxies, sh := Units(in.Proxies), make([][]uint8, len(query))
	for q := range query {
		sh[q] = make([]uint8, len(proxies))
		if c := in.Labels[q][level]; c >= 0 && p.Kind != device.Levels {
			sh[q][c] = 1
		}
		for c := range p.Margins { // for each level
			for proxy := range proxies {
				if in.Path(int32(proxy))[c] == in.Labels[q][c] {
					sh[q][proxy]++
				}
			}
		}
	}
	value, ds := pairsOf(p)(products(query, proxies), sh)
	r.Value += weight * value
	dq, dp := ZerosLike(query), ZerosLike(proxies)
	for q := range ds {
		for c, v := range ds[q] {
			for i := range query[q] {
				dq[q][i] += weight * v * proxies[c][i]
				dp[c][i] += weight * v * query[q][i]
			}
		}
	}
	if p.Kind != device.Levels {
		dq = ThroughUnits(dq, in.Query)
	}
	addTo(r.Query, dq)
	addTo(r.Proxies, ThroughUnits(dp, in.Proxies))
	return true
}

// addCrossEntropy adds the divergence between the smoothed target and the classifier.
func addCrossEntropy(k loss.CrossEntropy, in *Batch, weight float64, r *Result) {
	classes, w := float64(len(in.Proxies)), weight/float64(len(in.Query))
	for q, x := range in.Query {
		if in.Labels[q][k.Level] < 0 {
			continue
		}
		z := make([]float64, len(in.Proxies))
		sum := 0.0
		for c, row := range in.Proxies {
			z[c] = dot(row, x) + in.Bias[c]
			sum += math.Exp(z[c])
		}
		for c, row := range in.Proxies {
			target := k.Epsilon / (classes - 1)
			if in.Labels[q][k.Level] == int32(c) {
				target = 1 - k.Epsilon
			}
			log := z[c] - math.Log(sum)
			if target > 0 {
				r.Value += w * target * (math.Log(target) - log)
			}
			d := w * (math.Exp(log) - target)
			r.Bias[c] += d
			for i := range x {
				r.Query[q][i] += d * row[i]
				r.Proxies[c][i] += d * x[i]
			}
		}
	}
}

// releasedMargins returns the margins of the released configurations of CSL. For other numbers of
// levels than two and three they are spaced 0.1 apart around 0.45.
func releasedMargins(levels int) []float64 {
	switch levels {
	case 2:
		return []float64{0.25, 0.45}
	case 3:
		return []float64{0.25, 0.35, 0.45}
	}
	var list []float64
	for c := range levels {
		list = append(list, 0.45+0.1*float64(2*c-levels+1)/2)
	}
	return list
}
