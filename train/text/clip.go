package text

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"hgld/train/device"
)

// CLIP is the text tower of Radford et al., "Learning Transferable Visual Models From Natural
// Language Supervision", ICML 2021: a transformer with a causal mask and pre-norms. The vector of
// the end token is projected and normalised.
//
// Under this mask a token's vector depends only on the tokens before it. The padding to 77 tokens
// in OpenAI's code therefore has no effect and is not computed. A common prefix of texts, such as
// a prompt, is computed once per batch (see causalNet).
type CLIP struct{ encoder }

// CLIPOptions are settings that the weights do not determine. An empty field is filled in from a
// companion file of the weights: config.json for names of Hugging Face, open_clip_config.json for
// OpenAI's.
type CLIPOptions struct {
	Activation string  // "quick_gelu" (OpenAI's weights) or "gelu" (most others)
	Heads      int     // default: one per 64 values, as in all published models
	Eps        float32 // of the norms; default 1e-5
}

// OpenCLIP reads a text tower with the names of transformers' CLIPModel and
// CLIPTextModelWithProjection, or of OpenAI and open_clip. It ignores the weights of the image
// tower in the same file.
func OpenCLIP(b device.Backend, f Files, o CLIPOptions) (*CLIP, error) {
	w, err := openWeights(b, f.Weights)
	if err != nil {
		return nil, fmt.Errorf("text: %w", err)
	}
	names := clipNames(w)
	if names == nil {
		return nil, errors.Join(fmt.Errorf("text: %s: neither text_model.embeddings.token_embedding.weight nor "+
			"token_embedding.weight found, want a text tower of CLIP", f.Weights), w.file.Close())
	}
	if err := names.options(f, &o); err != nil {
		return nil, errors.Join(fmt.Errorf("text: %w", err), w.file.Close())
	}
	net, size, err := readCLIP(w, names, o)
	if err != nil {
		return nil, fmt.Errorf("text: %w", err)
	}
	if size.words != EndOfText+1 {
		return nil, fmt.Errorf("text: %s: its vocabulary has %d tokens, want %d as in CLIP", f.Weights, size.words,
			EndOfText+1)
	}
	bpe, err := NewBPE()
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("clip(%d layers of %d,vectors=%d,heads=%d,activation=%s,eps=%g,tokenizer=%d,sha256=%s)",
		size.layers, size.width, size.vector, size.heads, o.Activation, o.Eps, tokenizers, f.SHA256)
	tokens := func() func(string) []int32 {
		encode := bpe.Encoder(size.tokens)
		return func(text string) []int32 {
			ids := encode(text)
			return ids[:slices.Index(ids, EndOfText)+1] // a text may contain the mark itself; the first one counts
		}
	}
	return &CLIP{encoder{name: name, b: b, arena: device.NewArena(b), net: net, tokens: tokens}}, nil
}

// clipSize is the size of a tower, read from the shapes of its weights.
type clipSize struct{ words, tokens, width, layers, heads, vector int }

// naming holds a library's names for the parameters of a text tower.
type naming struct {
	words, positions, last string
	block                  string // with the number of the block
	norm1, norm2           string
	qkv                    []string // of each part, as the next three in front of weight and bias
	proj, fc1, fc2         string
	out                    string
	transposed             bool // out is [width, vector]
	ignored                []string
}

var huggingFace = &naming{
	words: "text_model.embeddings.token_embedding.weight", positions: "text_model.embeddings.position_embedding.weight",
	last: "text_model.final_layer_norm", block: "text_model.encoder.layers.%d.",
	norm1: "layer_norm1", norm2: "layer_norm2",
	qkv:  []string{"self_attn.q_proj.", "self_attn.k_proj.", "self_attn.v_proj."},
	proj: "self_attn.out_proj.", fc1: "mlp.fc1.", fc2: "mlp.fc2.", out: "text_projection.weight",
	ignored: []string{"vision_model.", "visual_projection.", "logit_scale", "text_model.embeddings.position_ids"},
}

var openAI = &naming{
	words: "token_embedding.weight", positions: "positional_embedding",
	last: "ln_final", block: "transformer.resblocks.%d.",
	norm1: "ln_1", norm2: "ln_2", qkv: []string{"attn.in_proj_"},
	proj: "attn.out_proj.", fc1: "mlp.c_fc.", fc2: "mlp.c_proj.", out: "text_projection", transposed: true,
	ignored: []string{"visual.", "logit_scale", "logit_bias", "input_resolution", "context_length", "vocab_size",
		"attn_mask"},
}

// clipNames returns the naming that a file uses.
func clipNames(w *weights) *naming {
	for _, n := range []*naming{huggingFace, openAI} {
		if w.file.Has(n.words) {
			return n
		}
	}
	return nil
}

// options fills empty fields of o from a configuration file.
func (n *naming) options(f Files, o *CLIPOptions) error {
	var activation string
	var heads int
	var eps float32
	if n == huggingFace {
		type part struct {
			Activation string  `json:"hidden_act"`
			Heads      int     `json:"num_attention_heads"`
			Eps        float32 `json:"layer_norm_eps"`
		}
		var c struct {
			part
			Type string `json:"model_type"`
			Text *part  `json:"text_config"`
		}
		if err := f.readJSON("config.json", &c, true); err != nil {
			return err
		}
		p := c.part
		if c.Text != nil {
			p = *c.Text
		}
		activation, heads, eps = p.Activation, p.Heads, p.Eps
		if c.Type != "" { // transformers omits default values
			activation, heads = cmp.Or(activation, "quick_gelu"), cmp.Or(heads, 8)
		}
	} else {
		var c struct {
			Model *struct {
				Quick bool `json:"quick_gelu"`
				Text  struct {
					Heads int `json:"heads"`
				} `json:"text_cfg"`
			} `json:"model_cfg"`
		}
		if err := f.readJSON("open_clip_config.json", &c, true); err != nil {
			return err
		}
		if c.Model != nil {
			heads, activation = c.Model.Text.Heads, "gelu"
			if c.Model.Quick {
				activation = "quick_gelu"
			}
		}
	}
	return o.complete(activation, heads, eps)
}

// complete fills empty fields with the given values.
func (o *CLIPOptions) complete(activation string, heads int, eps float32) error {
	o.Activation, o.Heads, o.Eps = cmp.Or(o.Activation, activation), cmp.Or(o.Heads, heads), cmp.Or(o.Eps, eps, 1e-5)
	_, known := activations[o.Activation]
	switch {
	case o.Activation == "":
		return ErrActivation
	case !known:
		return fmt.Errorf("activation %.80q is unknown; want quick_gelu or gelu", o.Activation)
	}
	return nil
}

// ErrActivation says that neither the options nor a companion file names the activation
// that the weights were trained with. The tensors cannot show it.
var ErrActivation = errors.New("neither config.json nor open_clip_config.json beside the weights says whether their " +
	"activation is quick_gelu, as in OpenAI's, or gelu, as in most others")

// readCLIP reads the tower and closes the file.
func readCLIP(w *weights, n *naming, o CLIPOptions) (*causalNet, clipSize, error) {
	words, positions, out := w.shape(n.words, 2), w.shape(n.positions, 2), w.shape(n.out, 2)
	if words == nil || positions == nil || out == nil {
		return nil, clipSize{}, errors.Join(fmt.Errorf("%s: no matrices %s, %s and %s", w.path, n.words, n.positions, n.out),
			w.file.Close())
	}
	s := clipSize{words: words[0], tokens: positions[0], width: words[1], heads: o.Heads, vector: out[0],
		layers: w.count(n.block + n.norm1 + ".weight")}
	if n.transposed {
		s.vector = out[1]
	}
	s.heads = cmp.Or(s.heads, s.width/64)
	if s.tokens < 2 || s.layers < 1 {
		return nil, s, errors.Join(fmt.Errorf("%s: %d layers for %d tokens, want at least one layer and two tokens", w.path,
			s.layers, s.tokens), w.file.Close())
	}
	if s.heads < 1 || s.width%s.heads != 0 {
		return nil, s, errors.Join(fmt.Errorf("%s: its vectors of %d values do not divide by %d heads, which the settings "+
			"or the configuration beside it give", w.path, s.width, s.heads), w.file.Close())
	}
	net := &causalNet{
		tower: tower{heads: s.heads, act: activations[o.Activation]},
		words: w.param(words, n.words), positions: w.param(positions, n.positions), last: w.norm(n.last, s.width, o.Eps),
	}
	for i := range s.layers {
		net.blocks = append(net.blocks, n.readBlock(w, fmt.Sprintf(n.block, i), s.width, o.Eps))
	}
	size := []int{s.vector, s.width}
	if n.transposed {
		size = []int{s.width, s.vector}
	}
	net.project = linear{weight: w.matrix(size, n.transposed, n.out), transposed: n.transposed}
	return net, s, w.done(n.ignored...)
}

func (n *naming) readBlock(w *weights, at string, d int, eps float32) block {
	hidden := 4 * d
	if shape := w.shape(at+n.fc1+"weight", 2); shape != nil {
		hidden = shape[0]
	}
	parts := make([]string, len(n.qkv))
	for i, part := range n.qkv {
		parts[i] = at + part
	}
	return block{
		norm1: w.norm(at+n.norm1, d, eps),
		qkv:   w.linear(d, 3*d, parts...),
		proj:  w.linear(d, d, at+n.proj),
		norm2: w.norm(at+n.norm2, d, eps),
		fc1:   w.linear(d, hidden, at+n.fc1),
		fc2:   w.linear(hidden, d, at+n.fc2),
	}
}
