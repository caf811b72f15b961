package backbone

import (
	"math"
	"slices"
	"strings"

	"hgld/internal/img"
	"hgld/internal/tensorfile"
	"hgld/train/nn"
)

// Prefix begins the names of the backbone's tensors in checkpoints of a Retrieval.
const Prefix = "backbone."

// supRankNames maps the parts of a ResNet in SupRank's checkpoints, where it is a list of
// modules, to their names in torchvision's files.
var supRankNames = map[string]string{
	"0": "conv1", "1": "bn1", "4": "layer1", "5": "layer2", "6": "layer3", "7": "layer4",
}

// supRankTwins are prefixes of arrays that SupRank's checkpoints hold under two names. The other
// name is read.
var supRankTwins = []string{"head."}

// FromSupRank returns hgld's name for a tensor of a SupRank checkpoint, or false for a duplicate.
// It does not change names of transformers, of pooling and fc, or names that are already hgld's.
func FromSupRank(name string) (string, bool) {
	for _, twin := range supRankTwins {
		if strings.HasPrefix(name, twin) {
			return "", false
		}
	}
	if rest, ok := strings.CutPrefix(name, Prefix); ok {
		part, inner, _ := strings.Cut(rest, ".")
		if ours, ok := supRankNames[part]; ok {
			return Prefix + ours + "." + inner, true
		}
	}
	return name, true
}

// Checkpoint renames the tensors of a whole network, hgld's or SupRank's, to the names that a
// Retrieval declares. wrapper is the prefix that training programs had put before the names.
func Checkpoint(tensors []tensorfile.Tensor) (kept []tensorfile.Tensor, wrapper string) {
	whole := unwrappings(tensors)[0]
	for _, t := range whole.tensors {
		if name, ok := FromSupRank(t.Name); ok {
			t.Name = name
			kept = append(kept, t)
		}
	}
	return kept, whole.prefix
}

// Pretrained renames the tensors of a file to the names that spec declares, without a prefix. The
// file has torchvision's or timm's names, or is a checkpoint of a whole network, hgld's or
// SupRank's, of which only the backbone is read. wrapper is the prefix that training programs had put
// before the names. Pretrained drops the published classifier, and
// the distillation token with its position if the network has none. It resamples positions for
// another image size as the library of the file does: timm antialiases, transformers does not.
func Pretrained(spec Spec, tensors []tensorfile.Tensor) (kept []tensorfile.Tensor, wrapper string) {
	s := nn.NewStore()
	spec.Build(s.Group("all"), Options{})
	list := unwrappings(tensors)
	for i, u := range list {
		other := renamedFor(spec, s.Layout(), u.tensors)
		fits := s.Compare(other, "") == nil
		if i == 0 || fits {
			kept, wrapper = other, u.prefix
			if isWhole(u.tensors) {
				wrapper += Prefix
			}
		}
		if fits {
			break
		}
	}
	return kept, wrapper
}

// isWhole reports whether tensors are those of a network around a backbone.
func isWhole(tensors []tensorfile.Tensor) bool {
	return slices.ContainsFunc(tensors, func(t tensorfile.Tensor) bool { return strings.HasPrefix(t.Name, Prefix) })
}

// renamedFor is Pretrained for names without the prefix of a training program.
func renamedFor(spec Spec, layout []nn.Shape, tensors []tensorfile.Tensor) []tensorfile.Tensor {
	distilled := slices.ContainsFunc(layout, func(x nn.Shape) bool { return x.Name == distToken })
	var kept []tensorfile.Tensor
	whole := isWhole(tensors)
	for _, t := range tensors {
		if whole {
			name, _ := FromSupRank(t.Name) // "" for a duplicate
			var inside bool
			if t.Name, inside = strings.CutPrefix(name, Prefix); !inside {
				continue
			}
		}
		kept = append(kept, t)
	}
	ofTransformers := false
	if r, is := spec.(renamed); is {
		kept, ofTransformers = r.timmNames(layout, kept)
	}
	kept = slices.DeleteFunc(kept, func(t tensorfile.Tensor) bool { return isHead(t.Name) && !own(layout, t.Name) })
	if !distilled {
		kept = withoutDistillation(kept)
	}
	fronts := 1
	if p, is := spec.(positioned); is {
		fronts = p.fronts()
	}
	resize := resizeAntialiased
	if ofTransformers {
		resize = resizeCubic
	}
	for _, x := range layout {
		if x.Name == positions {
			resamplePositions(kept, x.Dims, fronts, resize)
		}
	}
	return kept
}

// renamed is a [Spec] whose weights are also published with names other than timm's.
type renamed interface {
	// timmNames gives tensors timm's names and shapes. ofTransformers reports that the file has
	// the names of the library transformers.
	timmNames(layout []nn.Shape, tensors []tensorfile.Tensor) (list []tensorfile.Tensor, ofTransformers bool)
}

// positioned is a [Spec] that does not have exactly one position before those of the patches.
type positioned interface {
	// fronts counts the rows of positions that belong to tokens before the patches.
	fronts() int
}

// heads are the prefixes of classifiers in torchvision's and timm's files. timm's first
// ImageNet-21k networks had a pre-logits layer before theirs.
var heads = []string{"fc.", "head.", "head_dist.", "classifier.", "pre_logits."}

func isHead(name string) bool {
	return slices.ContainsFunc(heads, func(h string) bool { return strings.HasPrefix(name, h) })
}

const (
	distToken = "dist_token"
	positions = "pos_embed"
)

// withoutDistillation turns the tensors of a distilled transformer into those of a plain one. It
// keeps rows 0 and 2, 3, … of the positions. Other tensors are returned unchanged.
func withoutDistillation(tensors []tensorfile.Tensor) []tensorfile.Tensor {
	at := slices.IndexFunc(tensors, func(t tensorfile.Tensor) bool { return t.Name == distToken })
	if at < 0 {
		return tensors
	}
	var kept []tensorfile.Tensor
	for i, t := range tensors {
		if i == at {
			continue
		}
		if t.Name == positions && len(t.Shape) == 3 && t.Shape[0] == 1 && t.Shape[1] > 2 {
			row := len(t.Data) / t.Shape[1]
			t.Shape = []int{1, t.Shape[1] - 1, t.Shape[2]}
			t.Data = slices.Concat(t.Data[:row], t.Data[2*row:])
		}
		kept = append(kept, t)
	}
	return kept
}

// resizeAntialiased resizes a square of from² places with d numbers each to to². It is bicubic
// and antialiased, as in timm.
func resizeAntialiased(values []float32, from, to, d int) []float32 {
	return img.ResizePlane(values, from, to, d, img.Bicubic)
}

// resamplePositions resamples the positions of a square of patches to the square of a network
// with dimensions want = [1,T,D]. Positions of the tokens in front are unchanged. Positions that
// do not form a square are returned unchanged.
func resamplePositions(tensors []tensorfile.Tensor, want []int, fronts int,
	resize func(values []float32, from, to, d int) []float32) {
	for i, t := range tensors {
		if t.Name != positions || len(t.Shape) != 3 || t.Shape[0] != 1 || t.Shape[2] != want[2] || t.Shape[1] == want[1] {
			continue
		}
		from, square := side(t.Shape[1] - fronts)
		to, fits := side(want[1] - fronts)
		values, err := t.Float32()
		if !square || !fits || err != nil {
			continue // the import reports what does not fit
		}
		front := fronts * want[2]
		resized := resize(values[front:], from, to, want[2])
		tensors[i] = tensorfile.NewF32(positions, want, slices.Concat(values[:front], resized))
	}
}

// side returns the side of a square of n places, and whether n is a square number.
func side(n int) (int, bool) {
	s := int(math.Sqrt(float64(max(n, 0))))
	return s, s > 0 && s*s == n
}
