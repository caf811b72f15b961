package text

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/train/device/cpu"
	"hgld/train/nn"
)

// A CLIP and a BERT as small as their tokenizers allow, with weights that no two
// rows share.
const smallWidth, smallHeads = 16, 2

// wave fills a tensor with small numbers that depend on its name.
func wave(name string, dims ...int) tensorfile.Tensor {
	x := tensorfile.Tensor{Name: name, Shape: dims}
	values := make([]float32, x.Len())
	for i := range values {
		values[i] = float32(math.Sin(float64(i+1)*1.7+float64(len(name))) * 0.3)
	}
	if strings.Contains(name, "norm") && strings.HasSuffix(name, "weight") {
		for i := range values {
			values[i]++
		}
	}
	return tensorfile.NewF32(name, dims, values)
}

func smallCLIP() []tensorfile.Tensor {
	const d = smallWidth
	at := "text_model.encoder.layers.%d."
	list := []tensorfile.Tensor{
		wave("text_model.embeddings.token_embedding.weight", EndOfText+1, d),
		wave("text_model.embeddings.position_embedding.weight", 77, d),
		wave("text_model.final_layer_norm.weight", d), wave("text_model.final_layer_norm.bias", d),
		wave("text_projection.weight", 8, d),
		wave("visual_projection.weight", 8, 4),
	}
	for i := range 2 {
		in := fmt.Sprintf(at, i)
		for _, name := range []string{"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj"} {
			list = append(list, wave(in+name+".weight", d, d), wave(in+name+".bias", d))
		}
		list = append(list, wave(in+"layer_norm1.weight", d), wave(in+"layer_norm1.bias", d),
			wave(in+"layer_norm2.weight", d), wave(in+"layer_norm2.bias", d),
			wave(in+"mlp.fc1.weight", 2*d, d), wave(in+"mlp.fc1.bias", 2*d), wave(in+"mlp.fc2.weight", d, 2*d),
			wave(in+"mlp.fc2.bias", d))
	}
	return list
}

const smallVocabulary = "[UNK]\n[CLS]\n[SEP]\nchurch\nroad\nbridge\n##s\nof\nsaint\n,\n"

func smallBERT() []tensorfile.Tensor {
	const d = smallWidth
	at := "encoder.layer.0."
	list := []tensorfile.Tensor{
		wave("embeddings.word_embeddings.weight", 10, d), wave("embeddings.position_embeddings.weight", 32, d),
		wave("embeddings.token_type_embeddings.weight", 2, d),
		wave("pooler.dense.weight", d, d),
	}
	for _, name := range []string{"attention.self.query", "attention.self.key", "attention.self.value",
		"attention.output.dense"} {
		list = append(list, wave(at+name+".weight", d, d), wave(at+name+".bias", d))
	}
	list = append(list, wave(at+"intermediate.dense.weight", 4*d, d), wave(at+"intermediate.dense.bias", 4*d),
		wave(at+"output.dense.weight", d, 4*d), wave(at+"output.dense.bias", d))
	for _, name := range []string{"embeddings.LayerNorm", at + "attention.output.LayerNorm", at + "output.LayerNorm"} {
		list = append(list, wave(name+".weight", d), wave(name+".bias", d))
	}
	return list
}

// folder writes weights and the files beside them.
func folder(t *testing.T, tensors []tensorfile.Tensor, beside map[string]string) Files {
	t.Helper()
	path := writeWeights(t, tensors)
	for name, text := range beside {
		at := filepath.Join(filepath.Dir(path), name)
		must.Do(t, os.MkdirAll(filepath.Dir(at), 0o755))
		must.Do(t, os.WriteFile(at, []byte(text), 0o644))
	}
	return Files{Weights: path, SHA256: "5a"}
}

var bertFiles = map[string]string{
	"config.json": `{"model_type":"bert","hidden_act":"gelu","num_attention_heads":2,"layer_norm_eps":1e-12}`, "vocab.txt": smallVocabulary,
}

// both opens the two small encoders.
func both(t *testing.T, threads int) map[string]*encoder {
	t.Helper()
	clip, err := OpenCLIP(cpu.New(threads), folder(t, smallCLIP(), nil),
		CLIPOptions{Activation: "gelu", Heads: smallHeads})
	must.Do(t, err)
	bert, err := OpenBERT(cpu.New(threads), folder(t, smallBERT(), bertFiles))
	must.Do(t, err)
	return map[string]*encoder{"clip": &clip.encoder, "bert": &bert.encoder}
}

// odd are texts of all lengths, and rubbish.
func odd() []string {
	texts := []string{"church", "", " ", "road bridge", "church", "saints, saints", "\xff\xfe", "Église\x00",
		"<|endoftext|> church", "[SEP]",
		strings.Repeat("a", 100_000), strings.Repeat("church of ", 10_000), strings.Repeat("𒀀", 25_000)}
	for i := range 300 {
		texts = append(texts, strings.Repeat("bridge of ", i%11)+fmt.Sprint("church ", i))
	}
	return texts
}

func TestVectorOfATextDependsOnNothingElse(t *testing.T) {
	for name, e := range both(t, 2) {
		all, err := e.Encode(t.Context(), odd())
		must.Do(t, err)
		for i, text := range odd() {
			alone, err := e.Encode(t.Context(), []string{text})
			must.Do(t, err)
			if !slices.Equal(alone[0], all[i]) {
				t.Errorf("%s: %.40q: %v alone, %v among others", name, text, alone[0], all[i])
			}
			size := 0.0
			for _, v := range alone[0] {
				size += float64(v) * float64(v)
			}
			if math.Abs(size-1) > 1e-5 {
				t.Errorf("%s: %.40q: squared length %v", name, text, size)
			}
		}
	}
}

func TestVectorsAreTheSameOnAnyNumberOfThreads(t *testing.T) {
	one, two := both(t, 1), both(t, 2)
	for name, e := range one {
		a, err := e.Encode(t.Context(), odd())
		must.Do(t, err)
		b, err := two[name].Encode(t.Context(), odd())
		must.Do(t, err)
		for i := range a {
			if !slices.Equal(a[i], b[i]) {
				t.Fatalf("%s: text %d differs", name, i)
			}
		}
	}
}

func TestEncodeStopsWhenItIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, e := range both(t, 1) {
		if v, err := e.Encode(ctx, []string{"church"}); v != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
}

func TestPrefixesAreComputedOnce(t *testing.T) {
	p := prefixesOf([]job{{ids: []int32{1, 2, 9}}, {ids: []int32{1, 2, 3, 9}}, {ids: []int32{1, 4, 9}}})
	if want := []int32{1, 2, 9, 3, 9, 4, 9}; !slices.Equal(p.ids, want) {
		t.Errorf("nodes %v, want %v", p.ids, want)
	}
	if want := []int32{0, 1, 2, 0, 1, 3, 4, 0, 5, 6}; !slices.Equal(p.mask.keys, want) {
		t.Errorf("keys %v, want %v", p.mask.keys, want)
	}
	if want := []int32{0, 1, 0, 2, 0, 3, 3, 6, 3, 7, 7, 9, 7, 10}; !slices.Equal(p.mask.spans, want) {
		t.Errorf("spans %v, want %v", p.mask.spans, want)
	}
	if want := []int32{2, 4, 6}; !slices.Equal(p.ends, want) {
		t.Errorf("ends %v, want %v", p.ends, want)
	}
}

func TestWeightsThatDoNotFitAreNamed(t *testing.T) {
	open := func(list []tensorfile.Tensor) error {
		_, err := OpenCLIP(cpu.New(1), folder(t, list, nil), CLIPOptions{Activation: "gelu", Heads: smallHeads})
		return err
	}
	change := func(name string, f func(*tensorfile.Tensor)) []tensorfile.Tensor {
		list := smallCLIP()
		for i := range list {
			if list[i].Name == name {
				f(&list[i])
			}
		}
		return list
	}
	const norm = "text_model.encoder.layers.1.layer_norm2.weight"
	var bad *nn.MismatchError
	if err := open(change(norm, func(x *tensorfile.Tensor) { x.Name = "text_model.other" })); !errors.As(err, &bad) ||
		!slices.Equal(bad.Missing, []string{norm}) || !slices.Equal(bad.Unexpected, []string{"text_model.other"}) {
		t.Errorf("a missing tensor: %v", err)
	}
	if err := open(change(norm, func(x *tensorfile.Tensor) { *x = wave(norm, 17) })); !errors.As(err, &bad) ||
		len(bad.Shapes) != 1 {
		t.Errorf("a wrong shape: %v", err)
	}
	if err := open(change(norm, func(x *tensorfile.Tensor) {
		*x = tensorfile.NewI64(norm, []int{16},
			make([]int64, 16))
	})); !errors.As(err, &bad) || len(bad.Shapes) != 1 {
		t.Errorf("integers: %v", err)
	}
	table := "text_model.embeddings.token_embedding.weight"
	if err := open(change(table, func(x *tensorfile.Tensor) { *x = wave(table, 1000, 16) })); err == nil ||
		!strings.Contains(err.Error(), "1000 tokens") {
		t.Errorf("another vocabulary: %v", err)
	}
	if err := open(smallBERT()); err == nil || !strings.Contains(err.Error(), "want a text tower of CLIP") {
		t.Errorf("a BERT: %v", err)
	}
	if _, err := OpenCLIP(cpu.New(1), folder(t, smallCLIP(), nil), CLIPOptions{}); !errors.Is(err, ErrActivation) {
		t.Errorf("no activation: %v", err)
	}
	f := folder(t, smallCLIP(), nil)
	data, err := os.ReadFile(f.Weights)
	must.Do(t, err)
	var damaged *tensorfile.FormatError
	for _, n := range []int{0, 7, 100, len(data) / 2, len(data) - 1} {
		must.Do(t, os.WriteFile(f.Weights, data[:n], 0o644))
		if _, err := OpenCLIP(cpu.New(1), f, CLIPOptions{Activation: "gelu"}); !errors.As(err, &damaged) {
			t.Errorf("%d bytes of %d: %v", n, len(data), err)
		}
	}
}

func TestCLIPTakesItsActivationFromTheFilesBeside(t *testing.T) {
	for config, want := range map[string]string{
		`{"model_type":"clip","text_config":{"num_attention_heads":2,"hidden_act":"gelu"}}`: "activation=gelu",
		`{"model_type":"clip","text_config":{"num_attention_heads":2}}`:                     "activation=quick_gelu",
		`{"model_type":"clip","text_config":{}}`:                                            "heads=8,activation=quick_gelu",
		`{"model_type":"clip","text_config":{"num_attention_heads":3}}`:                     "",
		`{"model_type":"clip","text_config":{"num_attention_heads":"2"}}`:                   "",
		`{"model_type":"clip_text_model","num_attention_heads":2,"hidden_act":"gelu"}`:      "activation=gelu",
		`{"model_type":"clip_text_model","num_attention_heads":2,"hidden_act":"swish"}`:     "",
		`{"model_type":`: "",
	} {
		e, err := OpenCLIP(cpu.New(1), folder(t, smallCLIP(), map[string]string{"config.json": config}), CLIPOptions{})
		if want == "" && err == nil || want != "" && (err != nil || !strings.Contains(e.Name(), want)) {
			t.Errorf("%s: %v", config, err)
		}
	}
}

// Tables are padded to a multiple of 8, 64 or 128 rows; a vocabulary that lacks more
// was cut.
func TestVocabularyFitsItsTable(t *testing.T) {
	for _, c := range []struct {
		n, words int
		want     bool
	}{{30522, 30522, true}, {30522, 30528, true}, {30522, 30592, true}, {49408, 49408, true}, {50265, 50304, true},
		{30521, 30522, false}, {30523, 30522, false}, {15000, 30522, false}, {30400, 30528, false}, {0, 30522, false}} {
		if got := fits(c.n, c.words); got != c.want {
			t.Errorf("%d tokens for a table of %d: %t, want %t", c.n, c.words, got, c.want)
		}
	}
}

func TestBERTRefusesOtherModels(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"mpnet":                 {"config.json": `{"model_type":"mpnet","hidden_act":"gelu","num_attention_heads":2}`},
		"relative":              {"config.json": `{"model_type":"bert","hidden_act":"gelu","num_attention_heads":2,"position_embedding_type":"relative_key"}`},
		"heads":                 {"config.json": `{"model_type":"bert","hidden_act":"gelu","num_attention_heads":3}`},
		"activation":            {"config.json": `{"model_type":"bert","hidden_act":"mish","num_attention_heads":2}`},
		"no [CLS]":              {"vocab.txt": "[UNK]\n[SEP]\n"},
		"another vocabulary":    {"vocab.txt": smallVocabulary + "more\n"},
		"a cut vocabulary":      {"vocab.txt": strings.TrimSuffix(smallVocabulary, ",\n")},
		"twice the same token":  {"vocab.txt": smallVocabulary + "of\n"},
		"a further module":      {"modules.json": `[{"type":"sentence_transformers.models.Dense","path":"2_Dense"}]`},
		"short":                 {"sentence_bert_config.json": `{"max_seq_length":1}`},
		"pooled by the maximum": {"1_Pooling/config.json": `{"pooling_mode_max_tokens":true,"pooling_mode_mean_tokens":false}`},
		"pooled by the last":    {"1_Pooling/config.json": `{"embedding_dimension":16,"pooling_mode":"lasttoken"}`},
		"pooled twice":          {"1_Pooling/config.json": `{"pooling_mode_mean_tokens":true,"pooling_mode_weightedmean_tokens":true}`},
		"pooled by two":         {"1_Pooling/config.json": `{"pooling_mode":["mean","cls"]}`},
		"pooled by nothing":     {"1_Pooling/config.json": `{"pooling_mode_mean_tokens":false}`},
		"whole ideographs":      {"tokenizer_config.json": `{"tokenize_chinese_chars":false}`},
	} {
		all := map[string]string{}
		for _, m := range []map[string]string{bertFiles, files} {
			for k, v := range m {
				all[k] = v
			}
		}
		if _, err := OpenBERT(cpu.New(1), folder(t, smallBERT(), all)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := OpenBERT(cpu.New(1), folder(t, smallBERT(), nil)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no config.json: %v", err)
	}
}

// vocabularyJSON is smallVocabulary as transformers 5 writes it.
const vocabularyJSON = `{"model":{"type":"WordPiece","vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,"church":3,"road":4,"bridge":5,"##s":6,"of":7,"saint":8,",":9}}}`

func TestBERTUsesTransformersDefaults(t *testing.T) {
	files := map[string]string{"config.json": `{"model_type":"bert","num_attention_heads":2}`, "vocab.txt": smallVocabulary}
	e, err := OpenBERT(cpu.New(1), folder(t, smallBERT(), files))
	if err != nil || !strings.Contains(e.Name(), "heads=2,activation=gelu,eps=1e-12,") {
		t.Errorf("%v, %v", e, err)
	}
	files["config.json"] = `{"model_type":"bert","num_attention_heads":"2"}`
	if _, err := OpenBERT(cpu.New(1), folder(t, smallBERT(), files)); err == nil ||
		!strings.Contains(err.Error(), "config.json: num_attention_heads is a string, want a number") {
		t.Errorf("%v", err)
	}
}

func TestBERTReadsFilesOfLaterVersions(t *testing.T) {
	older, err := OpenBERT(cpu.New(1), folder(t, smallBERT(), map[string]string{"config.json": bertFiles["config.json"],
		"vocab.txt":             smallVocabulary,
		"1_Pooling/config.json": `{"word_embedding_dimension":16,"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false}`, "sentence_bert_config.json": `{"max_seq_length":9}`}))
	must.Do(t, err)
	later, err := OpenBERT(cpu.New(1), folder(t, smallBERT(), map[string]string{"config.json": bertFiles["config.json"],
		"tokenizer.json":   vocabularyJSON,
		"pool/config.json": `{"embedding_dimension":16,"pooling_mode":"cls"}`, "tokenizer_config.json": `{"do_lower_case":true,"strip_accents":null,"model_max_length":9}`,
		"modules.json": `[{"type":"a.transformer.Transformer","path":""},{"type":"a.pooling.Pooling","path":"pool"}]`}))
	must.Do(t, err)
	if later.Name() != older.Name() || !strings.Contains(later.Name(), "pooling=cls,tokens=9,") {
		t.Errorf("%s, and before %s", later.Name(), older.Name())
	}
	for what, tokenizer := range map[string]string{"BPE": `{"model":{"type":"BPE"}}`, "gap": strings.Replace(vocabularyJSON, `":9`, `":11`, 1), "twice": strings.Replace(vocabularyJSON, `":9`, `":8`, 1)} {
		if _, err := OpenBERT(cpu.New(1), folder(t, smallBERT(), map[string]string{"config.json": bertFiles["config.json"],
			"tokenizer.json": tokenizer})); err == nil || !strings.Contains(err.Error(), "tokenizer.json") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestWeightsOfOtherTypesAreConverted(t *testing.T) {
	list := smallBERT()
	want, err := both(t, 1)["bert"].Encode(t.Context(), []string{"church of saints"})
	must.Do(t, err)
	for i, x := range list {
		wide, err := x.Float64()
		must.Do(t, err)
		list[i].DType, list[i].Data = "F64", nil
		for _, v := range wide {
			list[i].Data = binary.LittleEndian.AppendUint64(list[i].Data, math.Float64bits(v))
		}
	}
	e, err := OpenBERT(cpu.New(1), folder(t, list, bertFiles))
	must.Do(t, err)
	if got, err := e.Encode(t.Context(), []string{"church of saints"}); err != nil || !slices.Equal(got[0], want[0]) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}
