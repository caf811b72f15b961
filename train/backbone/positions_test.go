package backbone_test

import (
	"math"
	"slices"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/train/backbone"
	"hgld/train/nn/testing/nntest"
)

// Positions sin(3i + j) of i = 0, 1, … tokens and j = 0, 1, as timm 1.0.31 resamples
// them (resample_abs_pos_embed, torch 2.15): one token in front and 3×3 patches to
// 5×5, two and 5×5 to 3×3.
var resampledPositions = []struct {
	distilled bool
	from      int // tokens
	input     int // pixels of the image, with patches of 16
	want      []float64
}{
	{false, 10, 80, []float64{
		0, 0.841471, 0.2331608, -0.9644173, -0.0358212, -0.234266, -0.3495817, 0.728299, 0.1776857, -0.0612866, 0.5640118,
		-0.6963673,
		-0.178776, -0.3733319, -0.0533732, -0.0711419, 0.1163402, 0.318605, 0.006161, -0.0581519, -0.0865215, -0.3532024,
		-0.6261473,
		0.4736063, -0.0575422, 0.1522119, 0.6502879, -0.2879033, -0.2063524, -0.0353772, -0.8567438, 0.1829172,
		0.3731767, 0.2262909,
		0.0712384, 0.0238845, -0.3182358, -0.2292193, 0.0579056, 0.0691355, 0.3525158, 0.2964119, 1.0884688,
		-0.0352389, 0.1572775,
		-0.0870126, -1.0230021, -0.120612, 0.2578692, 0.1359584, 1.2443454, 0.3102779,
	}},
	{true, 27, 48, []float64{
		0, 0.841471, 0.14112, -0.7568025, 0.0471524, 0.0597793, 0.002176, 0.0073411, -0.0172575, 0.0410751, -0.0343836,
		-0.0139759,
		-0.0039128, -0.003551, -0.0193721, -0.0348092, 0.0321785, -0.0275338, 0.0068517, 0.0008519, 0.0619534, 0.0392379,
	}},
}

func TestPositionsOfAnotherSizeAreResampledAsInTimm(t *testing.T) {
	for _, c := range resampledPositions {
		values := make([]float32, 2*c.from)
		for i := range values {
			values[i] = float32(math.Sin(float64(3*(i/2) + i%2)))
		}
		spec := backbone.DeiT{ViT: backbone.ViT{Width: 2, Depth: 1, Heads: 1, Patch: 16, Input: c.input},
			Distilled: c.distilled}
		tensors := []tensorfile.Tensor{tensorfile.NewF32("pos_embed", []int{1, c.from, 2}, values)}
		if c.distilled {
			tensors = append(tensors, tensorfile.NewF32("dist_token", []int{1, 1, 2}, []float32{1, 2}))
		}
		kept, _ := backbone.Pretrained(spec, tensors)
		got := kept[0]
		if want := []int{1, len(c.want) / 2, 2}; !slices.Equal(got.Shape, want) {
			t.Fatalf("shape %v, want %v", got.Shape, want)
		}
		list, err := got.Float64()
		must.Do(t, err)
		nntest.Near(t, "positions", list, c.want, 1e-6) // torch computes in float32, and seven digits are given
	}
}

// The tokens in front are not of the image, and another width is another network.
func TestPositionsThatAreNoSquareStay(t *testing.T) {
	spec := backbone.DeiT{ViT: backbone.ViT{Width: 2, Depth: 1, Heads: 1, Patch: 16, Input: 48}}
	for _, shape := range [][]int{{1, 9, 2}, {1, 5, 3}, {1, 10, 2}, {5, 2}, {1, 1, 2}} {
		n := 1
		for _, d := range shape {
			n *= d
		}
		kept, _ := backbone.Pretrained(spec, []tensorfile.Tensor{tensorfile.NewF32("pos_embed", shape, make([]float32, n))})
		got := kept[0]
		if !slices.Equal(got.Shape, shape) {
			t.Errorf("%v became %v", shape, got.Shape)
		}
	}
}
