package loss

import (
	"hgld/train/device"
	"hgld/train/device/reference"
	"hgld/train/loss/definition"
)

// ProxyNCA is the loss of Movshovitz-Attias et al., "No Fuss Distance Metric Learning using
// Proxies", ICCV 2017. It is NCAPP whose denominator leaves out the query's own proxy:
//
//	L = 1/Q Σ_q (d(q, own) + log Σ_{c≠own} e^(−d(q,c))),  d the squared distance
//
// Query and proxies are scaled to length Scale. The loss can be negative. Query is [Q,
// D].
//
// A query without a label at Level contributes 0; the mean is over all Q queries.
type ProxyNCA struct {
	Scale float64 `yaml:"scale"` // length of the vectors; the temperature is 1/(2·Scale²)
	Level int     `yaml:"level"` // the level whose classes have proxies; 0 is the finest
}

var proxyNCAEntry = Row{
	Name: "proxy-nca", About: "Proxy-NCA (ICCV 2017): nca-pp without the query's own proxy in the denominator",
	Source: "Movshovitz-Attias et al., No Fuss Distance Metric Learning using Proxies, ICCV 2017; " +
		"as in ProxyNCA++'s code",
	Value:    ProxyNCA{Scale: 3},
	Rounding: Rounding{8.1e-7, 7.7e-7},
}

// New makes the loss, with a proxy for each class.
func (l ProxyNCA) New(f Facts) (Loss, error) {
	if err := checkPositive("scale", l.Scale); err != nil {
		return nil, err
	}
	made, err := newProxied(f, proxied{
		pairs: device.Pairs{Kind: device.Ratio, PosScale: float32(2 * l.Scale * l.Scale)}, level: l.Level, normalise: true,
	})
	if err != nil {
		return nil, err
	}
	fromNCA(made.(*proxied).proxies)
	return made, nil
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l ProxyNCA) Define(*definition.Batch) definition.Definition {
	return definition.Proxied{Level: l.Level,
		Pairs: reference.Pairs{Kind: device.Ratio, PosScale: 2 * l.Scale * l.Scale}}
}

// ByRows is true: each query is compared only with the proxies.
func (ProxyNCA) ByRows() bool { return true }
