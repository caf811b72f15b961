package definition

import (
	"hgld/train/device"
	"hgld/train/device/reference"
)

// Proxied is a loss of the scores against proxies of unit length, one of which belongs to the query's
// class. Unless the pairs are of Levels, it normalises the queries.
type Proxied struct {
	Pairs reference.Pairs // of a query and a proxy
	Level int             // whose classes have proxies
}

// Add adds weight times the loss.
func (d Proxied) Add(in *Batch, weight float64, r *Result) {
	query := in.Query
	if d.Pairs.Kind != device.Levels {
		query = Units(in.Query)
	}
	proxies, sh := Units(in.Proxies), make([][]uint8, len(query))
	for q := range query {
		sh[q] = make([]uint8, len(proxies))
		if c := in.Labels[q][d.Level]; c >= 0 && d.Pairs.Kind != device.Levels {
			sh[q][c] = 1
		}
		for c := range d.Pairs.Margins { // for each level
			for proxy := range proxies {
				if in.Path(int32(proxy))[c] == in.Labels[q][c] {
					sh[q][proxy]++
				}
			}
		}
	}
	value, ds := Pairs(d.Pairs)(in, products(query, proxies), sh)
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
	if d.Pairs.Kind != device.Levels {
		dq = ThroughUnits(dq, in.Query)
	}
	addTo(r.Query, dq)
	addTo(r.Proxies, ThroughUnits(dp, in.Proxies))
}
