package loss

import "hgld/train/loss/definition"

// NCAPP is ProxyNCA++ of Teh et al., ECCV 2020: the cross-entropy of a softmax over negative
// squared distances between a query and the proxies p, all scaled to length Scale:
//
//	L = −1/Q Σ_q log softmax(−‖Scale·q/‖q‖ − Scale·p_c/‖p_c‖‖²)[class of q]
//
// This equals NSM of the normalised query with temperature 1/(2·Scale²). The authors' Scale 3 is
// their temperature 1/9. Query is [Q, D]. As in their code, proxies start normal with deviation
// 1/8.
//
// A query without a label at Level contributes 0; the mean is over all Q queries.
type NCAPP struct {
	Scale float64 `yaml:"scale"` // length of the vectors; the temperature is 1/(2·Scale²)
	Level int     `yaml:"level"` // the level whose classes have proxies; 0 is the finest
}

var ncappEntry = Row{
	Name: "nca-pp", About: "ProxyNCA++ (ECCV 2020): softmax over squared distances to proxies",
	Source:   "Teh et al., ProxyNCA++, ECCV 2020; its code",
	Value:    NCAPP{Scale: 3},
	Rounding: Rounding{8.3e-7, 1.4e-6},
}

// New makes the loss, with a proxy for each class.
func (l NCAPP) New(f Facts) (Loss, error) {
	if err := checkPositive("scale", l.Scale); err != nil {
		return nil, err
	}
	made, err := newNSM(f, nsm{level: l.Level, temperature: 1 / (2 * l.Scale * l.Scale), normalise: true})
	if err != nil {
		return nil, err
	}
	fromNCA(made.(*nsm).proxies)
	return made, nil
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l NCAPP) Define(*definition.Batch) definition.Definition {
	return definition.NSM{Temperature: 1 / (2 * l.Scale * l.Scale), Level: l.Level, Normalise: true}
}

// ByRows is true: each query is compared only with the proxies.
func (NCAPP) ByRows() bool { return true }

// fromNCA gives a proxy the initial distribution of ProxyNCA++.
func fromNCA(p *Param) { p.FanIn, p.Deviation = 0, 1.0/8 }
