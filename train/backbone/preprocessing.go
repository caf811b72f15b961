package backbone

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Preprocessing is what the publisher of weights says of the images that they were trained on, and of what
// their tensors do not show. Fields without a statement are zero.
type Preprocessing struct {
	Source  string `json:"source"`            // who says it: a file, or a published name
	Network string `json:"network,omitempty"` // the name of the network and its weights in timm

	// Mean and Std normalise the pixels, in 0…1.
	Mean   [3]float32 `json:"mean,omitzero"`
	Std    [3]float32 `json:"std,omitzero"`     // deviation
	Filter string     `json:"filter,omitempty"` // resamples: bilinear, bicubic or lanczos

	// Size is the side of the network's input, cut from the centre of a resized image.
	Size      int  `json:"size,omitempty"`
	Resize    int  `json:"resize,omitempty"`    // short side of the resized image
	Squash    bool `json:"squash,omitempty"`    // the image is resized to a square of side Resize
	Positions int  `json:"positions,omitempty"` // the side of the images that the position embeddings are for

	// Activation is that of the MLPs of a transformer: an entry of [Activations], or another name.
	Activation string  `json:"activation,omitempty"`
	Heads      int     `json:"heads,omitempty"`   // the number of attention heads
	Epsilon    float64 `json:"epsilon,omitempty"` // that of the LayerNorms

	// Unsupported describes preprocessing that hgld does not have, such as padding.
	Unsupported string `json:"unsupported,omitempty"`
	Unread      string `json:"unread,omitempty"` // says why a file was not read: it describes another kind of model
}

// Metadata keys of the files that hgld exports, with the settings of the run in JSON.
const (
	InputKey = "hgld.input"
	ModelKey = "hgld.model"
)

// String lists the statements, with hgld's names of the settings.
func (p Preprocessing) String() string {
	var list []string
	say := func(stated bool, format string, args ...any) {
		if stated {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	say(p.Network != "", "timm's %s", p.Network)
	say(p.Std != [3]float32{}, "mean %v, std %v", p.Mean, p.Std)
	say(p.Filter != "", "filter %s", p.Filter)
	say(p.Size > 0, "%s", p.Geometry())
	say(p.Positions > 0, "positions for %d pixels", p.Positions)
	say(p.Activation != "", "activation %s", p.Activation)
	say(p.Heads > 0, "heads %d", p.Heads)
	say(p.Epsilon > 0, "ε %g", p.Epsilon)
	say(p.Unsupported != "", "%s, which hgld does not have", p.Unsupported)
	say(p.Unread != "", "not read: %s", p.Unread)
	return strings.Join(list, ", ")
}

// Geometry describes how an image becomes the input.
func (p Preprocessing) Geometry() string {
	if p.Squash {
		return fmt.Sprintf("size %d of the whole image squashed to %d", p.Size, p.Resize)
	}
	return fmt.Sprintf("size %d of a short side of %d", p.Size, p.Resize)
}

// Published returns the preprocessing of the usual published weights of a network, without Source.
func Published(spec Spec) Preprocessing {
	f := spec.Facts()
	if f.Filter == "" {
		return Preprocessing{}
	}
	return Preprocessing{Mean: f.Mean, Std: f.Std, Filter: f.Filter, Size: f.Input, Resize: cmp.Or(f.Resize, f.Input),
		Squash: f.Squash}
}

// Unshown is what the tensors of a network do not show.
type Unshown struct {
	Activation string  // of the MLPs; "": it has none
	Settable   bool    // the activation is a setting
	Heads      int     // of attention; 0: it has none
	Epsilon    float64 // of the LayerNorms
}

// TimmActivation is the activation of a CLIP of timm by its name, or "" for another network. timm
// computes gelu with OpenAI's weights unless the name has quickgelu; they were trained with quick_gelu.
func TimmActivation(name string) string {
	network, tag, _ := strings.Cut(name, ".")
	trained, _, _ := strings.Cut(tag, "_")
	switch {
	case !strings.Contains(network, "_clip_"):
		return ""
	case strings.Contains(network, "quickgelu"),
		slices.Contains([]string{"openai", "dfn2b", "dfn5b", "metaclip"}, trained):
		return "quick_gelu"
	}
	return "gelu"
}
