package backbone

import (
	"hgld/internal/registry"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn"
)

// Head says what stands between a backbone and the embedding: entries of Poolings
// and Standards, and the size of the projection.
type Head struct {
	Pooling  Pooling
	Standard nn.Layer
	Dim      int // of the embedding; 0: no projection
}

// Pooling declares its parameters, if it has any, and returns the layer.
type Pooling func(c nn.Scope) nn.Layer

// Poolings lists how features [N,H,W,C] become one vector [N,C].
var Poolings = registry.Table[Pooling]{
	{Name: "gem", About: "generalised mean with a learnable exponent, 3 at the start",
		Value: func(c nn.Scope) nn.Layer { return nn.NewGeM(c).Forward }},
	{Name: "avg", About: "mean over the image", Value: global(device.AvgPool)},
	{Name: "max", About: "maximum over the image", Value: global(device.MaxPool)},
	{Name: "none", About: "for backbones that give one vector themselves",
		Value: func(nn.Scope) nn.Layer { return same }},
}

// Standards lists what is done to the pooled vector before the projection.
var Standards = registry.Table[nn.Layer]{
	{Name: "layernorm", About: "mean 0 and variance 1, without γ and β",
		Value: (&nn.LayerNorm{Eps: 1e-5}).Forward},
	{Name: "l2", About: "unit length, which a PCA projection starts from", Value: unit},
	{Name: "none", About: "nothing", Value: same},
}

// Retrieval is the net of SupRank's models (retrieval_net.py), under the names of
// its checkpoints: backbone → pooling → standard → fc → unit length. Parameters
// behind the backbone are of the group "head", p of GeM among them.
type Retrieval struct {
	Backbone Backbone

	pool, standard nn.Layer
	fc             *nn.Linear // nil without a projection
}

// NewRetrieval declares the net in s.
func NewRetrieval(s *nn.Store, spec Spec, o Options, h Head) *Retrieval {
	r := &Retrieval{Backbone: spec.Build(s.Group("backbone").In("backbone"), o), standard: h.Standard}
	head := s.Group("head")
	r.pool = h.Pooling(head.In("pooling"))
	if h.Dim > 0 {
		r.fc = nn.NewLinear(head.In("fc"), r.Backbone.Channels(), h.Dim)
	}
	return r
}

// Forward is images [N,H,W,4] → embeddings [N,D] of unit length.
func (r *Retrieval) Forward(t *grad.Tape, x *grad.Var) *grad.Var {
	layers := []nn.Layer{r.Features}
	if r.fc != nil {
		layers = append(layers, r.fc.Forward)
	}
	return nn.Chain(t, x, append(layers, unit)...)
}

// Features is images [N,H,W,4] → [N,C], what the projection reads.
func (r *Retrieval) Features(t *grad.Tape, x *grad.Var) *grad.Var {
	return nn.Chain(t, x, r.Backbone.Forward, r.pool, r.standard)
}

// unit scales rows to length 1; torch's ε keeps a row of zeros finite.
func unit(t *grad.Tape, x *grad.Var) *grad.Var { return nn.Normalize(t, x, 1e-12) }

func same(_ *grad.Tape, x *grad.Var) *grad.Var { return x }

func global(mode device.PoolMode) Pooling {
	return func(nn.Scope) nn.Layer {
		return func(t *grad.Tape, x *grad.Var) *grad.Var { return nn.GlobalPool(t, x, mode) }
	}
}
