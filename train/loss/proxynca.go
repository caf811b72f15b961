package loss

import (
	"hgld/internal/registry"
	"hgld/train/device"
)

// ProxyNCA is the loss of Movshovitz-Attias et al., "No Fuss Distance Metric
// Learning using Proxies", ICCV 2017: NCAPP with the proxies of the other classes
// alone below the line,
//
//	L = 1/Q Σ_q (d(q, own) + log Σ_{c≠own} e^(−d(q,c))),  d the squared distance
//
// between query and proxy, both brought to length Scale. It falls without a bound.
// Query is [Q, D].
//
// A query without a label of the given Level counts 0; the mean is over all Q.
type ProxyNCA struct {
	Scale float64 `yaml:"scale"` // of the vectors; the temperature is 1/(2·Scale²)
	Level int     `yaml:"level"` // whose classes have proxies; 0 is the finest
}

var proxyNCAEntry = registry.Entry[Kind]{
	Name: "proxy-nca", About: "Proxy-NCA (ICCV 2017): the same without the own proxy below the line",
	Source: "Movshovitz-Attias et al., No Fuss Distance Metric Learning using Proxies, ICCV 2017; as in ProxyNCA++'s code",
	Value:  ProxyNCA{Scale: 3},
}

// New makes the loss, with a proxy for each class.
func (l ProxyNCA) New(f Facts) (Loss, error) {
	made, err := newProxied(f, proxied{
		pairs: device.Pairs{Kind: device.Ratio, PosScale: float32(2 * l.Scale * l.Scale)}, level: l.Level, normalise: true,
	})
	if err != nil {
		return nil, err
	}
	fromNCA(made.(*proxied).proxies)
	return made, nil
}

// ByRows is true: each query is compared with the proxies alone.
func (ProxyNCA) ByRows() bool { return true }
