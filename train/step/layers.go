package step

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"hgld/train/config"
	"hgld/train/nn"
	"hgld/train/optim"
)

// layerName matches the beginning of a parameter's name up to its layer: a block of a transformer
// or of a ResNet, or a convolution of a plain network.
var layerName = regexp.MustCompile(`^(blocks\.\d+|layer\d+\.\d+|(?:.*\.)?layers\.\d+|conv\d+)\.`)

// layersOf numbers the layers of a backbone from 0, by parameter, and counts them. Parameters
// before the first block are one layer. Any other parameter belongs to the layer before it, as in
// timm.
func layersOf(g *nn.Group) (of map[*nn.Param]int, count int) {
	of = map[*nn.Param]int{}
	layer, current := 0, ""
	for i, p := range g.Params {
		name := strings.TrimPrefix(p.Name(), config.BackboneGroup+".")
		if found := layerName.FindStringSubmatch(name); found != nil && found[1] != current {
			if current = found[1]; i > 0 {
				layer++
			}
		}
		of[p] = layer
	}
	return of, layer + 1
}

// layerFactors returns each backbone parameter's share of the rate: decay to the power of the
// number of layers behind its own, including the head (Clark et al., "ELECTRA", ICLR 2020; timm's
// layer_decay). It returns nil without a decay.
func layerFactors(s *nn.Store, decay float64) map[*nn.Param]float64 {
	g := s.Find(config.BackboneGroup)
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

// ownSettings maps a parameter to settings that differ from its group's, as spans without
// elements.
type ownSettings map[*nn.Param]optim.Span

// arrange finds the settings of the parameters and orders the groups of a store that is not built
// yet. Parameters with the same settings become adjacent, so that the optimizer is called once
// for each run of them.
func arrange(s *nn.Store, c *config.Config) (ownSettings, error) {
	noDecay, err := paramsWithoutDecay(s, c.Optim.NoDecay)
	if err != nil {
		return nil, err
	}
	factors, own := layerFactors(s, c.Optim.LayerDecay), ownSettings{}
	for _, g := range s.Groups {
		places := map[optim.Span]int{{}: 0}
		for _, p := range g.Params {
			of := optim.Span{NoDecay: noDecay[p], Factor: factors[p]}
			if _, found := places[of]; !found {
				places[of] = len(places)
			}
			own[p] = of
		}
		if len(places) > 1 {
			order := slices.Clone(g.Params)
			slices.SortStableFunc(order, func(p, q *nn.Param) int { return places[own[p]] - places[own[q]] })
			g.Arrange(order)
		}
	}
	return own, nil
}

// spans returns the runs of elements of a group that have their own settings. The gap after a
// parameter, which holds zeros, belongs to its run.
func (s ownSettings) spans(g *nn.Group) []optim.Span {
	var spans []optim.Span
	order := g.Arranged()
	for i, p := range order {
		own := s[p]
		if own == (optim.Span{}) {
			continue
		}
		if own.Lo, own.Hi = p.Value.Off, g.Values.Len(); i+1 < len(order) {
			own.Hi = order[i+1].Value.Off
		}
		if n := len(spans); n > 0 && spans[n-1].NoDecay == own.NoDecay && spans[n-1].Factor == own.Factor {
			spans[n-1].Hi = own.Hi
			continue
		}
		spans = append(spans, own)
	}
	return spans
}
