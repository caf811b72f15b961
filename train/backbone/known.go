package backbone

import (
	"cmp"
	"slices"
	"strings"

	"hgld/internal/tensorfile"
	"hgld/train/nn"
)

// Known is a network that a file of weights may fit: a backbone, or a published retrieval network
// around one.
type Known struct {
	Name       string    `json:"name"`               // its name in All or Models
	About      string    `json:"about"`              // describes it
	Net        bool      `json:"net"`                // set for a published retrieval net
	Backbone   string    `json:"backbone"`           // the name of the backbone
	Released   string    `json:"released,omitempty"` // the name that the authors of the network use
	Parameters int       `json:"parameters"`         // the number of trained values
	Embedding  int       `json:"embedding"`          // the length of an embedding
	Input      int       `json:"input"`              // the side of an image in pixels
	Weights    []Weights `json:"weights,omitempty"`  // says where weights of the backbone are published
	Store      *nn.Store `json:"-"`                  // the declared tensors, without values
	Facts      Facts     `json:"-"`                  // the facts of the backbone
	Model      *Model    `json:"-"`                  // the entry of Models, nil for a backbone

	spec Spec // of the backbone
}

// unstated stands for a licence that the library does not state.
const unstated = "not stated with the weights"

// Address returns where the file is published, and the file beside it that says how images are prepared; "": none.
func (w Weights) Address() (file, settings string) {
	if strings.HasPrefix(w.From, "torchvision ") {
		return "https://download.pytorch.org/models/" + w.File, ""
	}
	folder := "https://huggingface.co/" + w.From + "/resolve/main/"
	if strings.HasPrefix(w.From, "timm/") {
		return folder + w.File, folder + "config.json"
	}
	return folder + w.File, folder + "preprocessor_config.json"
}

// KnownNetworks declares every backbone and every published network.
func KnownNetworks() ([]Known, error) {
	var list []Known
	for _, e := range All {
		f := e.Value.Facts()
		m := Known{Name: e.Name, About: e.About, Backbone: e.Name, Embedding: f.Channels, Input: f.Input,
			Store: nn.NewStore(), spec: e.Value, Facts: f}
		for _, w := range f.Weights {
			w.Licence = cmp.Or(w.Licence, unstated)
			m.Weights = append(m.Weights, w)
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
		m.Parameters, m.Embedding = m.Store.Size(), cmp.Or(e.Value.Dim, m.Facts.Channels)
		list = append(list, m)
	}
	return list, nil
}

// Fit describes how a file of weights fits a network.
type Fit struct {
	Name string `json:"name"` // the name of the network
	Fits bool   `json:"fits"` // set if the file has exactly the tensors of the network

	// Wrapper is the prefix that training programs had put before the names, such as "module.".
	Wrapper    string   `json:"wrapper,omitempty"`
	Missing    []string `json:"missing,omitempty"`          // names the tensors that the file lacks
	Unexpected []string `json:"unexpected,omitempty"`       // names the tensors that the network does not have
	Shapes     []string `json:"of_another_shape,omitempty"` // describes the tensors whose shapes differ
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
		bad := cmp.Or(m.Store.Compare(kept, ""), &nn.MismatchError{})
		fits[i] = Fit{Name: m.Name, Wrapper: wrapper, Missing: bad.Missing, Unexpected: bad.Unexpected, Shapes: bad.Shapes}
		fits[i].Fits = fits[i].differences() == 0
	}
	slices.SortStableFunc(fits, func(a, b Fit) int { return cmp.Compare(a.differences(), b.differences()) })
	return fits
}
