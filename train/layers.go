package train

import (
	"math"
	"regexp"
	"strings"

	"hgld/train/nn"
	"hgld/train/optim"
)

// layerName begins the name of a parameter in a new layer: a block of a transformer or of a
// ResNet, or a convolution of a plain network.
var layerName = regexp.MustCompile(`^(blocks\.\d+|layer\d+\.\d+|(?:.*\.)?layers\.\d+|conv\d+)\.`)

// layersOf numbers the layers of a backbone from 0, by parameter, and counts them. What comes before
// the first block is a layer; anything else belongs to the layer before it, as in timm.
func layersOf(g *nn.Group) (of map[*nn.Param]int, count int) {
	of = map[*nn.Param]int{}
	layer, current := 0, ""
	for i, p := range g.Params {
		name := strings.TrimPrefix(p.Name(), backboneGroup+".")
		if found := layerName.FindStringSubmatch(name); found != nil && found[1] != current {
			if current = found[1]; i > 0 {
				layer++
			}
		}
		of[p] = layer
	}
	return of, layer + 1
}

// layerFactors returns the share of the rate that each parameter of the backbone is stepped by:
// decay to the number of layers behind its own, the head counted (Clark et al., "ELECTRA", ICLR 2020;
// timm's layer_decay). It returns nil without a decay.
func layerFactors(s *nn.Store, decay float64) map[*nn.Param]float64 {
	g := s.Find(backboneGroup)
	if decay == 0 || g == nil {
		return nil
	}
	layers, count := layersOf(g)
	factors := map[*nn.Param]float64{}
	for p, layer := range layers {
		factors[p] = math.Pow(decay, float64(count-layer))
	}
	return factors
}

// spansOf returns the runs of elements of a group with settings of their own. Neighbours with the
// same settings are one run.
func spansOf(g *nn.Group, noDecay map[*nn.Param]bool, factors map[*nn.Param]float64) []optim.Span {
	var spans []optim.Span
	for _, p := range g.Params {
		own := optim.Span{Lo: p.Value.Off, Hi: p.Value.Off + p.Value.Len(), NoDecay: noDecay[p], Factor: factors[p]}
		if !own.NoDecay && own.Factor == 0 {
			continue
		}
		if n := len(spans); n > 0 && spans[n-1].Hi == own.Lo && spans[n-1].NoDecay == own.NoDecay &&
			spans[n-1].Factor == own.Factor {
			spans[n-1].Hi = own.Hi
			continue
		}
		spans = append(spans, own)
	}
	return spans
}
