package backbone

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"hgld/internal/tensorfile"
	"hgld/train/nn"
)

// towerPrefixes are the prefixes of an image tower in files that hold more than one tower:
// open_clip around a timm network, transformers, open_clip and OpenAI. Tensors without the prefix
// belong to another tower.
var towerPrefixes = []string{"visual.trunk.", "vision_model.", "visual.", "dinov2_with_registers.", "dinov2."}

// outside is the prefix of image tower tensors that lack the tower's prefix.
const outside = "visual_projection."

// towerNames translates names to timm's. Rules are applied in this order.
var towerNames = []struct {
	from *regexp.Regexp
	to   string
}{
	// transformers, DINOv2; Meta's own files differ from timm's only in the registers
	{regexp.MustCompile(`^embeddings\.(cls_token)$`), "$1"},
	{regexp.MustCompile(`^(embeddings\.)?register_tokens$`), "reg_token"},
	{regexp.MustCompile(`^embeddings\.position_embeddings$`), positions},
	{regexp.MustCompile(`^embeddings\.patch_embeddings\.projection\.`), "patch_embed.proj."},
	{regexp.MustCompile(`^encoder\.layers?\.`), "blocks."},
	{regexp.MustCompile(`\.attention\.attention\.(q|k|v)(uery|ey|alue)\.`), ".attn.$1."},
	{regexp.MustCompile(`\.attention\.output\.dense\.`), ".attn.proj."},
	{regexp.MustCompile(`\.layer_scale([12])\.lambda1$`), ".ls$1.gamma"},
	{regexp.MustCompile(`^layernorm\.`), "norm."},
	// transformers, CLIP and SigLIP
	{regexp.MustCompile(`^embeddings\.class_embedding$`), "cls_token"},
	{regexp.MustCompile(`^embeddings\.position_embedding\.weight$`), positions},
	{regexp.MustCompile(`^embeddings\.patch_embedding\.`), "patch_embed.proj."},
	{regexp.MustCompile(`^pre_layrnorm\.`), "norm_pre."},
	{regexp.MustCompile(`^post_layernorm\.`), "norm."},
	{regexp.MustCompile(`\.layer_norm([12])\.`), ".norm$1."},
	{regexp.MustCompile(`\.self_attn\.([qkv])_proj\.`), ".attn.$1."},
	{regexp.MustCompile(`\.self_attn\.out_proj\.`), ".attn.proj."},
	{regexp.MustCompile(`^visual_projection\.`), "head."},
	{regexp.MustCompile(`^head\.probe$`), "attn_pool.latent"},
	{regexp.MustCompile(`^head\.attention\.in_proj_(weight|bias)$`), "attn_pool.qkv.$1"},
	{regexp.MustCompile(`^head\.attention\.out_proj\.`), "attn_pool.proj."},
	{regexp.MustCompile(`^head\.layernorm\.`), "attn_pool.norm."},
	{regexp.MustCompile(`^head\.mlp\.`), "attn_pool.mlp."},
	// OpenAI and open_clip
	{regexp.MustCompile(`^class_embedding$`), "cls_token"},
	{regexp.MustCompile(`^positional_embedding$`), positions},
	{regexp.MustCompile(`^conv1\.`), "patch_embed.proj."},
	{regexp.MustCompile(`^ln_pre\.`), "norm_pre."},
	{regexp.MustCompile(`^ln_post\.`), "norm."},
	{regexp.MustCompile(`^transformer\.resblocks\.`), "blocks."},
	{regexp.MustCompile(`\.ln_([12])\.`), ".norm$1."},
	{regexp.MustCompile(`\.attn\.in_proj_(weight|bias)$`), ".attn.qkv.$1"},
	{regexp.MustCompile(`\.attn\.out_proj\.`), ".attn.proj."},
	{regexp.MustCompile(`\.mlp\.c_fc\.`), ".mlp.fc1."},
	{regexp.MustCompile(`\.mlp\.c_proj\.`), ".mlp.fc2."},
}

// unused are tensors of image towers that inference does not read.
var unused = []string{"mask_token", "embeddings.mask_token", "embeddings.position_ids"}

// towerTensors gives the tensors of an image tower timm's names and shapes. The file may come
// from timm, transformers, OpenAI and open_clip, or Meta. ofTransformers reports that it comes
// from transformers.
func towerTensors(layout []nn.Shape, tensors []tensorfile.Tensor) (list []tensorfile.Tensor, ofTransformers bool) {
	inside := withoutTowerPrefix(tensors)
	for _, t := range inside {
		if slices.Contains(unused, t.Name) {
			continue
		}
		ofTransformers = ofTransformers || strings.HasPrefix(t.Name, "embeddings.")
		if t.Name == "proj" && len(t.Shape) == 2 { // [width, projection], multiplied from the right
			t = transposed(t)
			t.Name = "head.weight"
		}
		for _, r := range towerNames {
			t.Name = r.from.ReplaceAllString(t.Name, r.to)
		}
		list = append(list, t)
	}
	list = splitPool(joinQKV(list))
	for i, t := range list {
		for _, x := range layout { // [D] or [T,D] where timm has leading ones
			if x.Name == t.Name && len(t.Shape) < len(x.Dims) && (t.Name == positions || t.Name == "cls_token") {
				list[i].Shape = append(slices.Repeat([]int{1}, len(x.Dims)-len(t.Shape)), t.Shape...)
			}
		}
	}
	return withHeadBias(layout, list), ofTransformers
}

// withoutTowerPrefix removes the prefix from names and drops the tensors of another tower.
func withoutTowerPrefix(tensors []tensorfile.Tensor) []tensorfile.Tensor {
	for _, prefix := range towerPrefixes {
		has := func(t tensorfile.Tensor) bool { return strings.HasPrefix(t.Name, prefix) }
		if !slices.ContainsFunc(tensors, has) {
			continue
		}
		var kept []tensorfile.Tensor
		for _, t := range tensors {
			if has(t) || strings.HasPrefix(t.Name, outside) {
				t.Name = strings.TrimPrefix(t.Name, prefix)
				kept = append(kept, t)
			}
		}
		return kept
	}
	return tensors
}

// transposed returns the transpose of a matrix.
func transposed(t tensorfile.Tensor) tensorfile.Tensor {
	rows, cols := t.Shape[0], t.Shape[1]
	if rows*cols == 0 || len(t.Data)%(rows*cols) != 0 {
		return t
	}
	size := len(t.Data) / (rows * cols)
	data := make([]byte, 0, len(t.Data))
	for c := range cols {
		for r := range rows {
			data = append(data, t.Data[(r*cols+c)*size:][:size]...)
		}
	}
	t.Shape, t.Data = []int{cols, rows}, data
	return t
}

// joinQKV joins attn.q, attn.k and attn.v of each block to attn.qkv.
func joinQKV(tensors []tensorfile.Tensor) []tensorfile.Tensor {
	at := map[string]tensorfile.Tensor{}
	for _, t := range tensors {
		at[t.Name] = t
	}
	var kept []tensorfile.Tensor
	for _, t := range tensors {
		block, kind, is := strings.Cut(t.Name, ".attn.q.")
		k, v := at[block+".attn.k."+kind], at[block+".attn.v."+kind]
		switch {
		case is && slices.Equal(t.Shape, k.Shape) && slices.Equal(t.Shape, v.Shape) && t.DType == k.DType &&
			t.DType == v.DType && len(t.Shape) > 0:
			t.Name = block + ".attn.qkv." + kind
			t.Shape = append([]int{3 * t.Shape[0]}, t.Shape[1:]...)
			t.Data = slices.Concat(t.Data, k.Data, v.Data)
		case strings.Contains(t.Name, ".attn.k.") || strings.Contains(t.Name, ".attn.v."):
			continue // joined; where that failed, q remains and is reported
		}
		kept = append(kept, t)
	}
	return kept
}

// splitPool splits the packed projections of an attention pool into the query's and those of keys
// and values.
func splitPool(tensors []tensorfile.Tensor) []tensorfile.Tensor {
	var kept []tensorfile.Tensor
	for _, t := range tensors {
		kind, is := strings.CutPrefix(t.Name, "attn_pool.qkv.")
		if !is || len(t.Shape) == 0 || t.Shape[0]%3 != 0 {
			kept = append(kept, t)
			continue
		}
		q, kv, third := t, t, len(t.Data)/3
		q.Name, q.Data, q.Shape = "attn_pool.q."+kind, t.Data[:third], append([]int{t.Shape[0] / 3}, t.Shape[1:]...)
		kv.Name, kv.Data, kv.Shape = "attn_pool.kv."+kind, t.Data[third:], append([]int{2 * t.Shape[0] / 3}, t.Shape[1:]...)
		kept = append(kept, q, kv)
	}
	return kept
}

// withHeadBias adds a zero bias to a projection without one, as timm does. It drops a projection
// that the network does not have.
func withHeadBias(layout []nn.Shape, tensors []tensorfile.Tensor) []tensorfile.Tensor {
	at := slices.IndexFunc(layout, func(x nn.Shape) bool { return x.Name == "head.bias" })
	named := func(name string) bool {
		return slices.ContainsFunc(tensors, func(t tensorfile.Tensor) bool { return t.Name == name })
	}
	if at >= 0 && named("head.weight") && !named("head.bias") {
		tensors = append(tensors, tensorfile.NewF32("head.bias", layout[at].Dims, make([]float32, layout[at].Dims[0])))
	}
	return tensors
}

// placeClass adds the position of the class token to the token, if a file has one and the network
// has positions only for patches. This applies to DINOv2 with registers from transformers and
// Meta.
func placeClass(tensors []tensorfile.Tensor) {
	class := slices.IndexFunc(tensors, func(t tensorfile.Tensor) bool { return t.Name == "cls_token" })
	place := slices.IndexFunc(tensors, func(t tensorfile.Tensor) bool { return t.Name == positions })
	if class < 0 || place < 0 || len(tensors[place].Shape) != 3 {
		return
	}
	p, c := tensors[place], tensors[class]
	rows, width := p.Shape[1], p.Shape[2]
	if _, square := side(rows - 1); !square || len(c.Shape) == 0 || c.Shape[len(c.Shape)-1] != width {
		return
	}
	at, err := p.Float32()
	token, err2 := c.Float32()
	if err != nil || err2 != nil || len(token) != width {
		return
	}
	for i := range token {
		token[i] += at[i]
	}
	tensors[class] = tensorfile.NewF32(c.Name, c.Shape, token)
	tensors[place] = tensorfile.NewF32(p.Name, []int{1, rows - 1, width}, at[width:])
}

// resizeCubic resizes a square of from² places with d numbers each to to², as torch's interpolate
// does: bicubic (a = −0.75), without antialiasing. transformers resamples positions this way.
func resizeCubic(values []float32, from, to, d int) []float32 {
	taps := make([][4]int, to)
	weights := make([][4]float64, to)
	for i := range to {
		x := (float64(i)+0.5)*float64(from)/float64(to) - 0.5
		low := math.Floor(x)
		weights[i] = cubic(x - low)
		for j := range 4 {
			taps[i][j] = min(max(int(low)-1+j, 0), from-1)
		}
	}
	out := make([]float32, to*to*d)
	for y := range to {
		for x := range to {
			for c := range d {
				sum := 0.0
				for i, row := range taps[y] {
					for j, col := range taps[x] {
						sum += weights[y][i] * weights[x][j] * float64(values[(row*from+col)*d+c])
					}
				}
				out[(y*to+x)*d+c] = float32(sum)
			}
		}
	}
	return out
}

// cubic returns the weights of the four neighbours for a fraction t after the second.
func cubic(t float64) (w [4]float64) {
	const a = -0.75
	near := func(x float64) float64 { return ((a+2)*x-(a+3))*x*x + 1 }
	far := func(x float64) float64 { return ((a*x-5*a)*x+8*a)*x - 4*a }
	return [4]float64{far(1 + t), near(t), near(1 - t), far(2 - t)}
}
