package backbone

import (
	"hgld/internal/registry"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn"
	"hgld/train/tensor"
)

// Head configures what follows the backbone: entries of Poolings and Standards, and the size of
// the projection.
type Head struct {
	Pooling  Pooling  // an entry of Poolings
	Standard nn.Layer // an entry of Standards
	Dim      int      // size of the embedding; 0: no projection
}

// Standards lists how the pooled vector is standardised before the projection.
var Standards = registry.Table[nn.Layer]{
	{Name: "layernorm", About: "mean 0 and variance 1, without γ and β",
		Value: (&nn.LayerNorm{Eps: 1e-5}).Forward},
	{Name: "l2", About: "unit length, as a PCA projection expects", Value: unit},
	{Name: "none", About: "unchanged", Value: same},
}

// Retrieval is the network of SupRank's models (retrieval_net.py), with the names of its
// checkpoints: backbone → pooling → standard → fc → unit length. Parameters after the backbone,
// including p of GeM, are in the group "head".
type Retrieval struct {
	Backbone Backbone // without its published head

	pool, standard nn.Layer
	fc             *nn.Linear // nil without a projection
}

// NewRetrieval declares the network in s.
func NewRetrieval(s *nn.Store, spec Spec, o Options, h Head) *Retrieval {
	r := &Retrieval{Backbone: spec.Build(s.Group("backbone").In("backbone"), o), standard: h.Standard}
	head := s.Group("head")
	r.pool = h.Pooling.New(head.In("pooling"))
	if h.Dim > 0 {
		r.fc = nn.NewLinear(head.In("fc"), r.Backbone.Channels(), h.Dim)
	}
	return r
}

// Forward maps images [N,H,W,4] to embeddings [N,D] of unit length: the result of Stages, without what no later stage
// reads.
func (r *Retrieval) Forward(t *grad.Tape, x *grad.Var) *grad.Var {
	return nn.Chain(t, x, layers(append(r.projected(r.lean()), Stage{"embedding", unit}))...)
}

// Features maps images [N,H,W,4] to the input [N,C] of the projection.
func (r *Retrieval) Features(t *grad.Tape, x *grad.Var) *grad.Var {
	return nn.Chain(t, x, layers(r.features(r.lean()))...)
}

// Stages returns the stages of the backbone, "pooling", "standard", "fc" if there is a
// projection, and "embedding".
func (r *Retrieval) Stages() []Stage {
	return append(r.projected(r.Backbone.Stages()), Stage{"embedding", unit})
}

// lean returns the stages of the backbone, which compute only what the last one needs.
func (r *Retrieval) lean() []Stage {
	if n, is := r.Backbone.(*tower); is {
		return n.stages(true)
	}
	return r.Backbone.Stages()
}

// projected returns the stages before the scaling to unit length, from those of the backbone.
func (r *Retrieval) projected(of []Stage) []Stage {
	stages := r.features(of)
	if r.fc != nil {
		stages = append(stages, Stage{"fc", r.fc.Forward})
	}
	return stages
}

func (r *Retrieval) features(of []Stage) []Stage {
	var stages []Stage
	for _, s := range of {
		stages = append(stages, Stage{Prefix + s.Name, s.Layer})
	}
	return append(stages, Stage{"pooling", r.pooled}, Stage{"standard", r.standard})
}

// pooled returns the pooled vector in F32. The layers after the backbone are small, and the
// scores depend on their precision.
func (r *Retrieval) pooled(t *grad.Tape, x *grad.Var) *grad.Var {
	return nn.Chain(t, x, r.pool, nn.Widen)
}

// Project sets the projection to a weight [Dim,C] and a bias [Dim], as returned by PCA.Linear.
func (r *Retrieval) Project(b device.Memory, weight, bias *tensor.Tensor) {
	weight.Upload(b, r.fc.Weight.Value)
	bias.Upload(b, r.fc.Bias.Value)
}

// MultiScale runs Forward over resized copies of the images: bilinear, corners aligned, ⌊H·s⌋ ×
// ⌊W·s⌋ for each of scales. It averages the projections and scales the mean to unit length. This
// is the multi-scale evaluation of Radenović et al., TPAMI 2019, but with the projection before
// the mean, as in SupRank.
func (r *Retrieval) MultiScale(t *grad.Tape, x *grad.Var, scales []float64) *grad.Var {
	list := make([]*grad.Var, len(scales))
	for i, scale := range scales {
		image := x
		if scale != 1 {
			image = nn.Rescale(t, x, scale, true)
		}
		list[i] = nn.Chain(t, image, layers(r.projected(r.lean()))...)
		if image != x {
			t.Done(image)
		}
	}
	y := average(t, list...)
	for _, v := range list {
		t.Done(v)
	}
	z := unit(t, y)
	t.Done(y)
	return z
}

// average is the mean of arrays of the same shape.
func average(t *grad.Tape, list ...*grad.Var) *grad.Var {
	share := 1 / float32(len(list))
	y := t.New(list[0].Value.Type, list[0].Value.Shape()...)
	t.Do(func(b device.Backend) {
		b.Axpby(y.Value, share, list[0].Value, 0, device.Array{})
		for _, v := range list[1:] {
			b.Axpby(y.Value, 1, y.Value, share, v.Value)
		}
	})
	t.Back(func(b device.Backend) {
		dy := t.Grad(y)
		for _, v := range list {
			if dv := t.Into(v); !dv.Absent() {
				b.Axpby(dv, share, dy, 0, device.Array{})
			}
		}
	})
	return y
}

// unit scales rows to unit length. torch's ε keeps an all-zero row finite.
func unit(t *grad.Tape, x *grad.Var) *grad.Var { return nn.Normalize(t, x, 1e-12) }

func same(_ *grad.Tape, x *grad.Var) *grad.Var { return x }
