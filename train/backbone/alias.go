package backbone

import (
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// Alias is a name that another library has for a network of this package.
type Alias struct {
	Name     string         // the entry of [All]
	Settings map[string]any // those in which the network differs from the entry
	Stated   Preprocessing  // the preprocessing of the weights that the name names
}

// aliasPatterns are names of timm, of transformers' hub, of open_clip and of torch.hub. The groups are size, patch and
// side in pixels; the first letter of size decides. kind says which network it is.
var aliasPatterns = []struct {
	kind string
	name *regexp.Regexp
}{
	{"resnet", regexp.MustCompile(`^(?P<size>resnet(18|34|50|101))$`)},
	{"vit", regexp.MustCompile(`^vit_(?P<size>tiny|small|base|large|huge)_patch(?P<patch>\d{1,2})_(?P<side>\d{2,4})$`)},
	{"deit-distilled", regexp.MustCompile(`^deit_(?P<size>tiny|small|base)_distilled_patch(?P<patch>16)_(?P<side>\d{2,4})$`)},
	{"deit", regexp.MustCompile(`^deit_(?P<size>tiny|small|base)_patch(?P<patch>16)_(?P<side>\d{2,4})$`)},
	{"dinov2", regexp.MustCompile(`^vit_(?P<size>small|base|large)_patch(?P<patch>14)_dinov2$`)},
	{"dinov2-registers", regexp.MustCompile(`^vit_(?P<size>small|base|large)_patch(?P<patch>14)_reg4_dinov2$`)},
	{"clip", regexp.MustCompile(`^vit_(?P<size>base|large|huge)_patch(?P<patch>\d{1,2})_clip_(quickgelu_)?(?P<side>\d{2,4})$`)},
	{"siglip", regexp.MustCompile(`^vit_(?P<size>base|large)_patch(?P<patch>\d{1,2})_siglip_(?P<side>\d{2,4})$`)},

	{"dinov2", regexp.MustCompile(`^dinov2_vit(?P<size>[sbl])(?P<patch>14)$`)},
	{"dinov2-registers", regexp.MustCompile(`^dinov2_vit(?P<size>[sbl])(?P<patch>14)_reg$`)},
	{"dinov2", regexp.MustCompile(`^facebook/dinov2-(?P<size>small|base|large)$`)},
	{"dinov2-registers", regexp.MustCompile(`^facebook/dinov2-with-registers-(?P<size>small|base|large)$`)},
	{"clip", regexp.MustCompile(`^openai/clip-vit-(?P<size>base|large)-patch(?P<patch>\d{1,2})(-(?P<side>336))?$`)},
	{"siglip", regexp.MustCompile(`^google/siglip-(?P<size>base|large)-patch(?P<patch>16)-(?P<side>\d{2,4})$`)},
	{"clip", regexp.MustCompile(`^ViT-(?P<size>[BLH])[-/](?P<patch>\d+)([-@](?P<side>336)(px)?)?(-quickgelu)?$`)},
}

// sizes are width, depth, heads and CLIP's projection by the first letter of a transformer's size.
var sizes = map[byte][4]int{'t': {192, 12, 3, 0}, 's': {384, 12, 6, 0}, 'b': {768, 12, 12, 512},
	'l': {1024, 24, 16, 768}, 'h': {1280, 32, 16, 1024}}

// AliasOf returns the network that another library calls name, with or without the tag of its
// weights (vit_small_patch16_224.dino), or false.
func AliasOf(name string) (a Alias, ok bool) {
	for _, hub := range []string{"hf_hub:", "hf-hub:", "timm/", "torchvision/"} {
		name = strings.TrimPrefix(name, hub)
	}
	network, tag, _ := strings.Cut(name, ".")
	for _, p := range aliasPatterns {
		m := p.name.FindStringSubmatch(network)
		if m == nil {
			continue
		}
		parts := map[string]string{}
		for i, group := range p.name.SubexpNames() {
			parts[group] = m[i]
		}
		var spec Spec
		if a.Name, spec = transformerOf(p.kind, parts, network, tag); spec == nil {
			a.Name = network
		}
		own, err := All.Get("backbone", a.Name)
		if err != nil {
			return a, false
		}
		if spec == nil {
			spec = own
		} else {
			a.Settings = differing(own, spec)
		}
		a.Stated = Published(spec)
		a.Stated.Source = "the name " + name
		a.Stated.tagged(p.kind, network, tag)
		return a, true
	}
	return a, false
}

// transformerOf returns the entry of [All] that is nearest to a transformer, and the transformer. For
// a ResNet it returns nil.
func transformerOf(kind string, parts map[string]string, network, tag string) (name string, spec Spec) {
	number := func(group string, otherwise int) int {
		if n, err := strconv.Atoi(parts[group]); err == nil {
			return n
		}
		return otherwise
	}
	of := sizes[strings.ToLower(parts["size"])[0]]
	v := ViT{Width: of[0], Depth: of[1], Heads: of[2], Patch: number("patch", 16), Input: number("side", 224)}
	size := "-base"
	switch {
	case v.Width < 768:
		size = "-small"
	case v.Width > 768 && !strings.HasPrefix(kind, "deit"):
		size = "-large"
	}
	kind, more, _ := strings.Cut(kind, "-")
	switch kind {
	case "vit":
		return "vit" + size, v
	case "deit":
		if more != "" {
			return "deit" + size + "-distilled", DeiT{v, true}
		}
		return "deit" + size, DeiT{v, false}
	case "dinov2":
		v.Patch = 14
		if strings.HasPrefix(network, "vit_") {
			v.Input = 518 // timm keeps the size of the weights
		}
		if more != "" {
			return "dinov2" + size + "-registers", DINOv2{v, 4}
		}
		return "dinov2" + size, DINOv2{v, 0}
	case "clip":
		projection := of[3]
		if strings.Contains(tag, "_ft_") {
			projection = 0 // a classifier is in its place
		}
		name = "clip-b16"
		if v.Patch == 32 {
			name = "clip-b32"
		}
		return name, CLIP{v, projection, "quick_gelu"}
	case "siglip":
		return "siglip-b16", SigLIP{v, "gelu_tanh"}
	}
	return "", nil
}

// differing returns the settings of a network that are not those of another of its kind.
func differing(own, spec Spec) map[string]any {
	a, b := reflect.ValueOf(own), reflect.ValueOf(spec)
	list := map[string]any{}
	for _, f := range reflect.VisibleFields(a.Type()) {
		if x := b.FieldByIndex(f.Index); !f.Anonymous && !x.Equal(a.FieldByIndex(f.Index)) {
			list[strings.ToLower(f.Name)] = x.Interface()
		}
	}
	return list
}

// tagged changes the preprocessing to that of weights with a tag of timm, and the activation to that of
// the weights that a name names.
func (p *Preprocessing) tagged(kind, network, tag string) {
	share := func(of float64) { p.Resize = int(float64(p.Size) / of) }
	trained, _, _ := strings.Cut(tag, "_")
	switch {
	case kind == "vit" && (tag == "dino" || tag == "mae"):
		p.Mean, p.Std = imageNet[0], imageNet[1]
	case kind == "vit" && tag == "bamboo":
		p.Mean, p.Std, p.Resize = clipPixels[0], clipPixels[1], p.Size
	case kind == "clip" && strings.HasPrefix(network, "vit_large_") && trained == "laion2b":
		p.Mean, p.Std = [3]float32{0.5, 0.5, 0.5}, [3]float32{0.5, 0.5, 0.5}
	case kind == "resnet" && tag != "" && trained != "tv" && trained != "fb": // both are resampled as torchvision's
		p.resnetTag(trained, network, share)
	}
	switch {
	case kind == "clip" && strings.HasPrefix(network, "vit_"):
		p.Activation = TimmActivation(network + "." + tag)
	case kind == "clip" && strings.HasPrefix(network, "ViT-") && !strings.ContainsAny(network, "/q"): // open_clip's
		p.Activation = "gelu"
	case kind == "clip":
		p.Activation = "quick_gelu"
	case kind == "siglip" && strings.HasPrefix(network, "vit_"):
		p.Activation = "gelu"
	case kind == "siglip":
		p.Activation = "gelu_tanh"
	}
}

// resnetTag is tagged for the ResNets that timm and others trained.
func (p *Preprocessing) resnetTag(trained, network string, share func(float64)) {
	p.Filter = "bicubic"
	switch trained {
	case "tv2":
		p.Filter, p.Size = "bilinear", 176
	case "a3":
		p.Size = 160
	case "a1h":
		if network == "resnet50" {
			p.Size = 176
		}
	case "ra4":
		p.Mean, p.Std = [3]float32{0.5, 0.5, 0.5}, [3]float32{0.5, 0.5, 0.5}
	}
	switch trained {
	case "a1", "a2", "a3", "b1k", "b2k", "c1", "c2", "d":
		share(0.95)
	case "a1h":
		share(map[bool]float64{true: 0.9, false: 0.95}[network == "resnet50"])
	case "ra4":
		share(0.9)
	case "bamboo":
		share(1)
	default:
		share(0.875)
	}
}
