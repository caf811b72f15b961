package definition

import (
	"math"
	"slices"

	"hgld/train/loss"
)

// addNSM adds the cross-entropy of a classifier whose weight rows have unit length.
func addNSM(k loss.NSM, in *Batch, weight float64, r *Result) {
	unit, n := Units(in.Proxies), max(k.NumCenters, 1)
	du := ZerosLike(in.Proxies)
	w := weight / float64(len(in.Query))
	for q, x := range in.Query {
		class := in.Labels[q][k.Level]
		if class < 0 {
			continue
		}
		z := make([]float64, len(unit)/n)
		slope := make([]float64, len(unit)) // derivative of a class's score by that of a centre
		for c := range z {
			z[c] = ofCenters(slope[c*n:][:n], x, unit[c*n:][:n], k.TemperatureCenters) / k.Temperature
		}
		top, sum := slices.Max(z), 0.0
		for _, v := range z {
			sum += math.Exp(v - top)
		}
		r.Value += w * (top + math.Log(sum) - z[class])
		for i, p := range unit {
			d := math.Exp(z[i/n]-top) / sum
			if i/n == int(class) {
				d--
			}
			d *= w / k.Temperature * slope[i]
			for j := range x {
				r.Query[q][j] += d * p[j]
				du[i][j] += d * x[j]
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
		return dot(x, centers[0])
	}
	sum, share := 0.0, make([]float64, len(centers))
	for i, c := range centers {
		share[i] = math.Exp(dot(x, c) / temperature)
		sum += share[i]
	}
	for i, c := range centers {
		share[i] /= sum
		z += share[i] * dot(x, c)
	}
	for i, c := range centers {
		slope[i] = share[i] * (1 + (dot(x, c)-z)/temperature)
	}
	return z
}
