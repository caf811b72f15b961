package text

import (
	"errors"
	"fmt"

	"hgld/train/device"
)

// BERT is a sentence encoder: a BERT (Devlin et al., "BERT: Pre-training of Deep Bidirectional
// Transformers", NAACL 2019) whose vector is the mean of the token vectors or the first of them,
// scaled to unit length (Reimers and Gurevych, "Sentence-BERT", EMNLP 2019).
type BERT struct{ encoder }

// bertConfig is the config.json of a model.
type bertConfig struct {
	Type       string  `json:"model_type"`
	Activation string  `json:"hidden_act"`
	Heads      int     `json:"num_attention_heads"`
	Eps        float32 `json:"layer_norm_eps"`
	Positions  string  `json:"position_embedding_type"`

	first bool // the vector is that of [CLS] instead of the mean
}

// OpenBERT reads a model of sentence-transformers: weights with the names of transformers'
// BertModel, and beside them config.json, vocab.txt or tokenizer.json and, if they exist,
// tokenizer_config.json, sentence_bert_config.json, modules.json and 1_Pooling/config.json.
func OpenBERT(b device.Backend, f Files) (*BERT, error) {
	c := bertConfig{Activation: "gelu", Heads: 12, Eps: 1e-12, Positions: "absolute"} // transformers' defaults
	if err := f.readJSON("config.json", &c, false); err != nil {
		return nil, fmt.Errorf("text: %w", err)
	}
	_, known := activations[c.Activation]
	switch {
	case c.Type != "bert":
		return nil, fmt.Errorf("text: %s: model_type is %.80q, want \"bert\"", f.companion("config.json"), c.Type)
	case c.Positions != "absolute":
		return nil, fmt.Errorf("text: %s: position_embedding_type is %.80q, want \"absolute\"", f.companion("config.json"),
			c.Positions)
	case !known:
		return nil, fmt.Errorf("text: %s: hidden_act is %.80q, want gelu, gelu_new or relu", f.companion("config.json"),
			c.Activation)
	}
	var err error
	if c.first, err = f.pooling(); err != nil {
		return nil, fmt.Errorf("text: %w", err)
	}
	net, positions, words, err := readBERT(b, f.Weights, c)
	if err != nil {
		return nil, fmt.Errorf("text: %w", err)
	}
	tokens, vocabulary, err := f.wordPiece(positions)
	if err != nil {
		return nil, fmt.Errorf("text: %w", err)
	}
	if n := tokens.Size(); !fits(n, words) {
		return nil, fmt.Errorf("text: %s has %d tokens, but the weights have %d; want the vocabulary of these weights",
			tokens.from, n, words)
	}
	pooling := "mean"
	if c.first {
		pooling = "cls"
	}
	name := fmt.Sprintf("bert(heads=%d,activation=%s,eps=%g,pooling=%s,tokens=%d,lower=%t,vocabulary=%.8s,"+
		"tokenizer=%d,sha256=%s)",
		c.Heads, c.Activation, c.Eps, pooling, tokens.longest, tokens.lower, vocabulary, tokenizers, f.SHA256)
	return &BERT{encoder{name: name, b: b, arena: device.NewArena(b), net: net, tokens: tokens.Encoder}}, nil
}

// fits reports whether a vocabulary of n tokens can belong to a table of the given number of
// words. Tables are padded to a multiple of 8, 64 or 128 rows, which a GPU multiplies faster. A
// shorter vocabulary was truncated.
func fits(n, words int) bool {
	padded := func(to int) bool { return words == (n+to-1)/to*to }
	return n == words || padded(8) || padded(64) || padded(128)
}

// activations maps the activation names of config.json and open_clip to functions.
var activations = map[string]device.Func{
	"gelu": device.GELU, "quick_gelu": device.QuickGELU, "gelu_new": device.GELUTanh, "gelu_pytorch_tanh": device.GELUTanh,
	"relu": device.ReLU,
}

// readBERT reads the network and returns its number of positions and words. The weights determine
// everything except the activation and the number of heads.
func readBERT(b device.Backend, path string, c bertConfig) (net *sentenceNet, positions, words int, err error) {
	w, err := openWeights(b, path)
	if err != nil {
		return nil, 0, 0, err
	}
	root := ""
	if w.file.Has("bert.embeddings.word_embeddings.weight") {
		root = "bert."
	}
	table := w.shape(root+"embeddings.word_embeddings.weight", 2)
	learnt := w.shape(root+"embeddings.position_embeddings.weight", 2)
	if table == nil || learnt == nil {
		return nil, 0, 0, errors.Join(fmt.Errorf("%s: it has no matrices embeddings.word_embeddings.weight and "+
			"embeddings.position_embeddings.weight, want a BERT of transformers", path), w.file.Close())
	}
	d := table[1]
	if c.Heads < 1 || d%c.Heads != 0 {
		return nil, 0, 0, errors.Join(fmt.Errorf("%s: its vectors of %d values do not divide by the %d heads of "+
			"config.json", path, d, c.Heads), w.file.Close())
	}
	e := root + "embeddings."
	net = &sentenceNet{
		tower: tower{heads: c.Heads, behind: true, act: activations[c.Activation]}, first: c.first,
		words:     w.param(table, e+"word_embeddings.weight"),
		positions: w.param([]int{learnt[0], d}, e+"position_embeddings.weight"),
		front:     w.norm(e+"LayerNorm", d, c.Eps),
	}
	kinds := w.shape(e+"token_type_embeddings.weight", 2)
	if kinds == nil {
		kinds = []int{2, d}
	}
	kind := w.param([]int{kinds[0], d}, e+"token_type_embeddings.weight")
	if !w.failed() {
		addToRows(b, net.positions, kind)
	}
	for i := range w.count(root + "encoder.layer.%d.attention.self.query.weight") {
		net.blocks = append(net.blocks, bertBlock(w, fmt.Sprintf("%sencoder.layer.%d.", root, i), d, c.Eps))
	}
	if len(net.blocks) == 0 {
		return nil, 0, 0, errors.Join(fmt.Errorf("%s: it has no layer encoder.layer.0, want a BERT of transformers", path),
			w.file.Close())
	}
	return net, learnt[0], table[0], w.done(e+"position_ids", root+"pooler.", "cls.")
}

// bertBlock reads a block with post-norms.
func bertBlock(w *weights, at string, d int, eps float32) block {
	hidden := 4 * d
	if s := w.shape(at+"intermediate.dense.weight", 2); s != nil {
		hidden = s[0]
	}
	self := at + "attention.self."
	return block{
		qkv:   w.linear(d, 3*d, self+"query.", self+"key.", self+"value."),
		proj:  w.linear(d, d, at+"attention.output.dense."),
		norm1: w.norm(at+"attention.output.LayerNorm", d, eps),
		fc1:   w.linear(d, hidden, at+"intermediate.dense."),
		fc2:   w.linear(hidden, d, at+"output.dense."),
		norm2: w.norm(at+"output.LayerNorm", d, eps),
	}
}

// addToRows adds row 0 of x, the vector of the first sentence of a pair, to every row of dst. A
// single text has no other kind of token, so its table of positions can hold the sum.
func addToRows(b device.Backend, dst, x device.Array) {
	b.Axpby(dst, 1, dst, 1, x.RowRange(0, 1).Reshape(x.Cols()))
}
