package backbone

import (
	"cmp"
	"slices"

	"hgld/internal/tensorfile"
	"hgld/train/nn"
)

// Known is a network that a file of weights may fit: a backbone, or a published retrieval network
// around one.
type Known struct {
	// Name is its name in All or Models.
	Name string `json:"name"`

	// About describes it.
	About string `json:"about"`

	// Net is set for a published retrieval net.
	Net bool `json:"net"`

	// Backbone is the name of the backbone.
	Backbone string `json:"backbone"`

	// Released is the name that the authors of the network use.
	Released string `json:"released,omitempty"`

	// Parameters is the number of trained values.
	Parameters int `json:"parameters"`

	// Embedding is the length of an embedding.
	Embedding int `json:"embedding"`

	// Input is the side of an image in pixels.
	Input int `json:"input"`

	// Weights says where weights of the backbone are published.
	Weights []KnownWeights `json:"weights,omitempty"`

	// Store holds the declared tensors, without values.
	Store *nn.Store `json:"-"`

	// Facts are the facts of the backbone.
	Facts Facts `json:"-"`

	// Model is the entry of Models, nil for a backbone.
	Model *Model `json:"-"`

	spec Spec // of the backbone
}

// KnownWeights says where a file of weights is published.
type KnownWeights struct {
	// From is the library or repository.
	From string `json:"from"`

	// File is the name of the file there.
	File string `json:"file"`

	// Licence is the licence of the weights, or Unstated.
	Licence string `json:"licence"`
}

// Unstated stands for a licence that the library does not state.
const Unstated = "not stated with the weights"

// KnownNetworks declares every backbone and every published network.
func KnownNetworks() ([]Known, error) {
	var list []Known
	for _, e := range All {
		f := e.Value.Facts()
		m := Known{Name: e.Name, About: e.About, Backbone: e.Name, Embedding: f.Channels, Input: f.Input,
			Store: nn.NewStore(), spec: e.Value, Facts: f}
		for _, w := range f.Weights {
			licence := w.Licence
			if licence == "" {
				licence = Unstated
			}
			m.Weights = append(m.Weights, KnownWeights{w.From, w.File, licence})
		}
		e.Value.Build(m.Store.Group("backbone"), Options{})
		m.Parameters = m.Store.Size()
		list = append(list, m)
	}
	for _, e := range Models {
		spec, err := All.Get("backbone", e.Value.Backbone)
		if err != nil {
			return nil, err
		}
		m := Known{Name: e.Name, About: e.About, Net: true, Backbone: e.Value.Backbone, Released: e.Value.Released,
			Input: spec.Facts().Input, Store: nn.NewStore(), spec: spec, Facts: spec.Facts(), Model: &e.Value}
		if _, err := e.Value.Build(m.Store); err != nil {
			return nil, err
		}
		m.Parameters, m.Embedding = m.Store.Size(), e.Value.Dim
		if e.Value.Dim == 0 {
			m.Embedding = m.Facts.Channels
		}
		list = append(list, m)
	}
	return list, nil
}

// Fit describes how a file of weights fits a network.
type Fit struct {
	// Name is the name of the network.
	Name string `json:"name"`

	// Fits is set if the file has exactly the tensors of the network.
	Fits bool `json:"fits"`

	// Wrapper is the prefix that training programs had put before the names, such as "module.".
	Wrapper string `json:"wrapper,omitempty"`

	// Missing names the tensors that the file lacks.
	Missing []string `json:"missing,omitempty"`

	// Unexpected names the tensors that the network does not have.
	Unexpected []string `json:"unexpected,omitempty"`

	// Shapes describes the tensors whose shapes differ.
	Shapes []string `json:"of_another_shape,omitempty"`
}

func (f Fit) differences() int { return len(f.Missing) + len(f.Unexpected) + len(f.Shapes) }

// FitAll compares the tensors of a file with every network. It returns the best fit first.
func FitAll(list []Known, tensors []tensorfile.Tensor) []Fit {
	fits := make([]Fit, len(list))
	for i, m := range list {
		own := Pretrained
		if m.Net {
			own = func(_ Spec, t []tensorfile.Tensor) ([]tensorfile.Tensor, string) { return Checkpoint(t) }
		}
		kept, wrapper := own(m.spec, tensors)
		bad := m.Store.Compare(kept, "")
		if bad == nil {
			bad = &nn.MismatchError{}
		}
		fits[i] = Fit{Name: m.Name, Wrapper: wrapper, Missing: bad.Missing, Unexpected: bad.Unexpected, Shapes: bad.Shapes}
		fits[i].Fits = fits[i].differences() == 0
	}
	slices.SortStableFunc(fits, func(a, b Fit) int { return cmp.Compare(a.differences(), b.differences()) })
	return fits
}
