package definition

import (
	"math"
	"slices"
)

// NSM is the cross-entropy of a classifier whose weight rows have unit length.
type NSM struct {
	Temperature float64 // of the softmax over classes
	Level       int     // whose classes have proxies
	Centers     int     // proxies of a class; 0: 1
	OverCenters float64 // temperature of the softmax over the proxies of a class
	Normalise   bool    // queries first
}

// Add adds weight times the loss.
func (d NSM) Add(in *Batch, weight float64, r *Result) {
	if d.Normalise {
		unit := *in
		unit.Query, d.Normalise = Units(in.Query), false
		part := Result{Query: ZerosLike(in.Query), Proxies: ZerosLike(in.Proxies)}
		d.Add(&unit, weight, &part)
		r.Value += part.Value
		addTo(r.Query, ThroughUnits(part.Query, in.Query))
		addTo(r.Proxies, part.Proxies)
		return
	}
	unit, n := Units(in.Proxies), max(d.Centers, 1)
	du := ZerosLike(in.Proxies)
	w := weight / float64(len(in.Query))
	for q, x := range in.Query {
		class := in.Labels[q][d.Level]
		if class < 0 {
			continue
		}
		z := make([]float64, len(unit)/n)
		slope := make([]float64, len(unit)) // derivative of a class's score by that of a centre
		for c := range z {
			z[c] = ofCenters(slope[c*n:][:n], x, unit[c*n:][:n], d.OverCenters) / d.Temperature
		}
		top, sum := slices.Max(z), 0.0
		for _, v := range z {
			sum += math.Exp(v - top)
		}
		r.Value += w * (top + math.Log(sum) - z[class])
		for i, p := range unit {
			by := math.Exp(z[i/n]-top) / sum
			if i/n == int(class) {
				by--
			}
			by *= w / d.Temperature * slope[i]
			for j := range x {
				r.Query[q][j] += by * p[j]
				du[i][j] += by * x[j]
			}
		}
	}
	addTo(r.Proxies, ThroughUnits(du, in.Proxies))
}

// ofCenters returns the mean of the centres' scores weighted by their softmax, and writes its
// derivatives by these scores.
func ofCenters(slope []float64, x []float64, centers [][]float64, temperature float64) (z float64) {
	if len(centers) == 1 {
		slope[0] = 1
		return Dot(x, centers[0])
	}
	sum, share := 0.0, make([]float64, len(centers))
	for i, c := range centers {
		share[i] = math.Exp(Dot(x, c) / temperature)
		sum += share[i]
	}
	for i, c := range centers {
		share[i] /= sum
		z += share[i] * Dot(x, c)
	}
	for i, c := range centers {
		slope[i] = share[i] * (1 + (Dot(x, c)-z)/temperature)
	}
	return z
}
