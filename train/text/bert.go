package text

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn"
)

// BERT is a sentence encoder: a BERT (Devlin et al., "BERT: Pre-training of Deep
// Bidirectional Transformers", NAACL 2019) whose token vectors are averaged, or
// whose first one is taken, and brought to unit length (Reimers and Gurevych,
// "Sentence-BERT", EMNLP 2019).
type BERT struct{ encoder }

// bertConfig is config.json of a model.
type bertConfig struct {
	Type       string  `json:"model_type"`
	Activation string  `json:"hidden_act"`
	Heads      int     `json:"num_attention_heads"`
	Eps        float32 `json:"layer_norm_eps"`
	Positions  string  `json:"position_embedding_type"`

	first bool // the vector is that of [CLS] and not the mean
}

// Files are the weights of an encoder: the safetensors file, with the others of the
// model beside it, and its SHA-256, which goes into the encoder's name.
type Files struct {
	Weights string
	SHA256  string
}

func (f Files) beside(name string) string { return filepath.Join(filepath.Dir(f.Weights), name) }

// readJSON reads a file beside the weights. An optional one that is not there is
// not read.
func (f Files) readJSON(name string, into any, optional bool) error {
	data, err := os.ReadFile(f.beside(name))
	if optional && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", f.beside(name), err)
	}
	return nil
}

// OpenBERT reads a model of sentence-transformers: its weights under the names of
// transformers' BertModel, and beside them config.json, vocab.txt and, where they
// exist, tokenizer_config.json, sentence_bert_config.json, modules.json and
// 1_Pooling/config.json.
func OpenBERT(b device.Backend, f Files) (*BERT, error) {
	var c bertConfig
	if err := f.readJSON("config.json", &c, false); err != nil {
		return nil, fmt.Errorf("text: %w", err)
	}
	if c.Type != "bert" || c.Positions != "" && c.Positions != "absolute" {
		return nil, fmt.Errorf("text: %s: model_type is %q with %s positions, want \"bert\" with absolute ones", f.beside("config.json"), c.Type, c.Positions)
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
	if n := tokens.Size(); n > words {
		return nil, fmt.Errorf("text: %s has %d tokens, and the weights have %d", f.beside("vocab.txt"), n, words)
	}
	pooling := "mean"
	if c.first {
		pooling = "cls"
	}
	name := fmt.Sprintf("bert(heads=%d,activation=%s,eps=%g,pooling=%s,tokens=%d,lower=%t,vocabulary=%.8s,tokenizer=%d,sha256=%s)",
		c.Heads, c.Activation, c.Eps, pooling, tokens.longest, tokens.lower, vocabulary, tokenizers, f.SHA256)
	return &BERT{encoder{name: name, b: b, arena: device.NewArena(b), net: net, tokens: tokens.Encoder}}, nil
}

// pooling reads how token vectors become one: whether the first is taken.
func (f Files) pooling() (first bool, err error) {
	var modules []struct {
		Type string `json:"type"`
		Path string `json:"path"`
	}
	if err := f.readJSON("modules.json", &modules, true); err != nil {
		return false, err
	}
	folder := "1_Pooling"
	for _, m := range modules {
		switch kind := m.Type[1+lastDot(m.Type):]; kind {
		case "Transformer", "Normalize":
		case "Pooling":
			folder = m.Path
		default:
			return false, fmt.Errorf("%s: a module %s; read are a Transformer, Pooling and Normalize", f.beside("modules.json"), m.Type)
		}
	}
	p := struct {
		Mean bool `json:"pooling_mode_mean_tokens"`
		CLS  bool `json:"pooling_mode_cls_token"`
		Max  bool `json:"pooling_mode_max_tokens"`
		Root bool `json:"pooling_mode_mean_sqrt_len_tokens"`
	}{Mean: true}
	name := filepath.Join(filepath.FromSlash(folder), "config.json")
	if err := f.readJSON(name, &p, true); err != nil {
		return false, err
	}
	if p.Max || p.Root || p.Mean == p.CLS {
		return false, fmt.Errorf("%s: pooling is by the mean of the tokens or by the first one alone", f.beside(name))
	}
	return p.CLS, nil
}

func lastDot(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '.' {
			return i
		}
	}
	return -1
}

// wordPiece reads the tokenizer of a model with so many positions, and the SHA-256
// of its vocabulary.
func (f Files) wordPiece(positions int) (w *WordPiece, sum string, err error) {
	vocabulary, err := os.ReadFile(f.beside("vocab.txt"))
	if err != nil {
		return nil, "", err
	}
	t := struct {
		Lower  bool  `json:"do_lower_case"`
		Accent *bool `json:"strip_accents"`
	}{Lower: true}
	limit := struct {
		Tokens int `json:"max_seq_length"`
	}{positions}
	if err := errors.Join(f.readJSON("tokenizer_config.json", &t, true), f.readJSON("sentence_bert_config.json", &limit, true)); err != nil {
		return nil, "", err
	}
	if t.Accent != nil && *t.Accent != t.Lower {
		return nil, "", fmt.Errorf("%s: strip_accents is %t where do_lower_case is %t; they go together here", f.beside("tokenizer_config.json"), *t.Accent, t.Lower)
	}
	w, err = NewWordPiece(vocabulary, t.Lower, min(limit.Tokens, positions))
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", f.beside("vocab.txt"), err)
	}
	return w, fmt.Sprintf("%x", sha256.Sum256(vocabulary)), nil
}

// activations are the names of config.json and of open_clip for activations.
var activations = map[string]nn.Layer{
	"gelu": nn.GELU, "quick_gelu": nn.QuickGELU, "gelu_new": nn.GELUTanh, "gelu_pytorch_tanh": nn.GELUTanh, "relu": nn.ReLU,
}

// sentenceNet computes [N,T] ids of texts of one length, of which all tokens see
// each other.
type sentenceNet struct {
	words  *nn.Embedding
	layers []nn.Layer // [N,T,D] → … → [N,D]
}

func (s *sentenceNet) compare(a, b job) int { return cmp.Compare(len(a.ids), len(b.ids)) }

// batch takes texts of the first one's length, as many as make batchTokens tokens.
func (s *sentenceNet) batch(jobs []job) int {
	length, n := len(jobs[0].ids), 1
	for n < len(jobs) && len(jobs[n].ids) == length && (n+1)*length <= batchTokens {
		n++
	}
	return n
}

func (s *sentenceNet) forward(p *pass, jobs []job) *grad.Var {
	var ids []int32
	for _, j := range jobs {
		ids = append(ids, j.ids...)
	}
	x := s.words.Forward(p.Tape, p.index(ids, len(jobs), len(jobs[0].ids)))
	for _, layer := range s.layers {
		x = p.then(x, layer)
	}
	return x
}

// readBERT reads the network, of which everything but the activation and the number
// of heads is seen in the weights, and returns its positions and words.
func readBERT(b device.Backend, path string, c bertConfig) (net *sentenceNet, positions, words int, err error) {
	act, ok := activations[c.Activation]
	if !ok {
		return nil, 0, 0, fmt.Errorf("config.json: hidden_act is %q, want gelu, gelu_new or relu", c.Activation)
	}
	w, err := openWeights(b, path)
	if err != nil {
		return nil, 0, 0, err
	}
	root := ""
	if w.file.Has("bert.embeddings.word_embeddings.weight") {
		root = "bert."
	}
	table := w.shape(root+"embeddings.word_embeddings.weight", 2)
	places := w.shape(root+"embeddings.position_embeddings.weight", 2)
	if table == nil || places == nil {
		return nil, 0, 0, errors.Join(fmt.Errorf("%s: no matrices embeddings.word_embeddings.weight and embeddings.position_embeddings.weight: no BERT of transformers?", path), w.file.Close())
	}
	d := table[1]
	if c.Heads < 1 || d%c.Heads != 0 {
		return nil, 0, 0, errors.Join(fmt.Errorf("config.json: %d heads in vectors of %d", c.Heads, d), w.file.Close())
	}
	e := root + "embeddings."
	net = &sentenceNet{words: &nn.Embedding{Weight: w.param(table, e+"word_embeddings.weight")}}
	position := w.param([]int{places[0], d}, e+"position_embeddings.weight")
	kinds := w.shape(e+"token_type_embeddings.weight", 2)
	if kinds == nil {
		kinds = []int{2, d}
	}
	kind := w.param([]int{kinds[0], d}, e+"token_type_embeddings.weight")
	if !w.failed() {
		addToRows(b, position.Value, kind.Value)
	}
	place := func(t *grad.Tape, x *grad.Var) *grad.Var { return nn.AddPositions(t, x, position) }
	net.layers = append(net.layers, place, w.norm(e+"LayerNorm", d, c.Eps).Forward)
	for i := range w.count(root + "encoder.layer.%d.attention.self.query.weight") {
		net.layers = append(net.layers, bertBlock(w, fmt.Sprintf("%sencoder.layer.%d.", root, i), d, c.Heads, c.Eps, act).Forward)
	}
	pool := meanToken
	if c.first {
		pool = func(t *grad.Tape, x *grad.Var) *grad.Var { return nn.Token(t, x, 0) }
	}
	net.layers = append(net.layers, pool, unit)
	return net, places[0], table[0], w.done(e+"position_ids", root+"pooler.", "cls.")
}

// bertBlock reads a block, whose norms stand behind the residuals.
func bertBlock(w *weights, at string, d, heads int, eps float32, act nn.Layer) *nn.Block {
	hidden := 4 * d
	if s := w.shape(at+"intermediate.dense.weight", 2); s != nil {
		hidden = s[0]
	}
	self := at + "attention.self."
	return &nn.Block{
		Attention: &nn.Attention{QKV: w.linear(d, 3*d, self+"query", self+"key", self+"value"), Proj: w.linear(d, d, at+"attention.output.dense"), Heads: heads},
		Norm1:     w.norm(at+"attention.output.LayerNorm", d, eps),
		MLP:       &nn.MLP{FC1: w.linear(d, hidden, at+"intermediate.dense"), FC2: w.linear(hidden, d, at+"output.dense"), Act: act},
		Norm2:     w.norm(at+"output.LayerNorm", d, eps),
		Behind:    true,
	}
}

// addToRows adds row 0 of x, the vector of the first sentence of a pair, to every
// row of dst: a text alone has no other kind of token, so its table of positions
// may hold the sum.
func addToRows(b device.Backend, dst, x device.Array) {
	b.Axpby(dst, 1, dst, 1, x.RowRange(0, 1).Reshape(x.Cols()))
}

// meanToken is the mean of each row's tokens: [N,T,D] → [N,D].
func meanToken(t *grad.Tape, x *grad.Var) *grad.Var {
	n, tokens := x.Value.Dims[0], x.Value.Dims[1]
	w := t.New(device.F32, n, tokens)
	t.Do(func(b device.Backend) { b.Fill(w.Value, 1/float32(tokens)) })
	y := nn.WeighTokens(t, x, w.Value)
	t.Done(w)
	return y
}
