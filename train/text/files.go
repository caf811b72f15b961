package text

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"

	"hgld/internal/regular"
)

// Files names the safetensors file of an encoder and its SHA-256, which is part of the
// encoder's name. The model's other files are in the same folder.
type Files struct {
	Weights string // path of the .safetensors
	SHA256  string // of that file, in hexadecimal
}

func (f Files) companion(name string) string { return filepath.Join(filepath.Dir(f.Weights), name) }

// readJSON reads a companion file. A missing file is an error unless optional is set.
func (f Files) readJSON(name string, into any, optional bool) error {
	data, err := regular.ReadFile(f.companion(name))
	if optional && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = json.Unmarshal(data, into)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return fmt.Errorf("%s: %s is a %s, want a %s", f.companion(name), cmp.Or(kind.Field, "the whole"), kind.Value,
			jsonKind(kind.Type))
	case err != nil:
		return fmt.Errorf("%s is not JSON: %w", f.companion(name), err)
	}
	return nil
}

// jsonKind returns JSON's name for the values of a Go type.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Slice:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	}
	return "number"
}

// pooling reads how token vectors are reduced to one, and returns whether the first is taken.
// Since version 6, sentence-transformers writes one "pooling_mode"; earlier versions write a flag
// for each mode.
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
		switch kind := m.Type[1+strings.LastIndexByte(m.Type, '.'):]; kind {
		case "Transformer", "Normalize":
		case "Pooling":
			folder = m.Path
		default:
			return false, fmt.Errorf("%s: unsupported module %s, want Transformer, Pooling and Normalize",
				f.companion("modules.json"), m.Type)
		}
	}
	settings := map[string]any{}
	name := filepath.Join(filepath.FromSlash(folder), "config.json")
	if err := f.readJSON(name, &settings, true); err != nil {
		return false, err
	}
	mode := settings["pooling_mode"]
	for key, value := range settings {
		flag, old := strings.CutPrefix(key, "pooling_mode_")
		if !old || value != true {
			continue
		}
		if mode != nil {
			return false, fmt.Errorf("%s: pooling is by %v and %s, want the mean of the tokens or the first token",
				f.companion(name), mode, flag)
		}
		mode = flag
	}
	switch mode {
	case "mean", "mean_tokens":
		return false, nil
	case "cls", "cls_token":
		return true, nil
	case nil:
		if _, said := settings["pooling_mode_mean_tokens"]; !said {
			return false, nil // the default
		}
		mode = "nothing"
	}
	return false, fmt.Errorf("%s: pooling is by %v, want the mean of the tokens or the first token",
		f.companion(name), mode)
}

// wordPiece reads the tokenizer of a model with the given number of positions, and returns the
// SHA-256 of its vocabulary.
func (f Files) wordPiece(positions int) (w *WordPiece, sum string, err error) {
	vocabulary, from, err := f.vocabulary()
	if err != nil {
		return nil, "", err
	}
	t := struct {
		Lower   bool    `json:"do_lower_case"`
		Accent  *bool   `json:"strip_accents"`
		Chinese *bool   `json:"tokenize_chinese_chars"`
		Tokens  float64 `json:"model_max_length"` // 1e30: no limit
	}{Lower: true}
	var s struct {
		Tokens int  `json:"max_seq_length"`
		Lower  bool `json:"do_lower_case"`
	}
	if err := errors.Join(f.readJSON("tokenizer_config.json", &t, true),
		f.readJSON("sentence_bert_config.json", &s, true)); err != nil {
		return nil, "", err
	}
	switch {
	case t.Accent != nil && *t.Accent != t.Lower:
		return nil, "", fmt.Errorf("%s: strip_accents is %t and do_lower_case is %t, want the same value for both",
			f.companion("tokenizer_config.json"), *t.Accent, t.Lower)
	case t.Chinese != nil && !*t.Chinese:
		return nil, "", fmt.Errorf("%s: tokenize_chinese_chars is false, want a tokenizer that splits ideographs",
			f.companion("tokenizer_config.json"))
	case s.Lower && !t.Lower:
		return nil, "", fmt.Errorf("%s: do_lower_case is true, but false in tokenizer_config.json, want a model in which "+
			"they agree", f.companion("sentence_bert_config.json"))
	}
	longest := positions
	switch {
	case s.Tokens != 0:
		longest = min(s.Tokens, positions)
	case t.Tokens > 0:
		longest = int(min(t.Tokens, float64(positions)))
	}
	if w, err = NewWordPiece(vocabulary, t.Lower, longest); err != nil {
		return nil, "", fmt.Errorf("%s: %w", from, err)
	}
	w.from = from
	return w, fmt.Sprintf("%x", sha256.Sum256(vocabulary)), nil
}

// vocabulary returns vocab.txt, one token per line, or the same from tokenizer.json, which is all
// that transformers 5 writes.
func (f Files) vocabulary() (lines []byte, from string, err error) {
	from = f.companion("vocab.txt")
	if lines, err = regular.ReadFile(from); !errors.Is(err, fs.ErrNotExist) {
		return lines, from, err
	}
	var t struct {
		Model struct {
			Type  string         `json:"type"`
			Vocab map[string]int `json:"vocab"`
		} `json:"model"`
	}
	if missing := f.readJSON("tokenizer.json", &t, true); missing != nil {
		return nil, "", missing
	}
	if t.Model.Type == "" {
		return nil, "", err // the error of vocab.txt: neither file exists
	}
	from = f.companion("tokenizer.json")
	if t.Model.Type != "WordPiece" {
		return nil, "", fmt.Errorf("%s: a tokenizer of type %s, want WordPiece", from, t.Model.Type)
	}
	tokens := make([][]byte, len(t.Model.Vocab))
	for token, id := range t.Model.Vocab {
		if id < 0 || id >= len(tokens) || tokens[id] != nil || strings.ContainsAny(token, "\r\n") {
			return nil, "", fmt.Errorf("%s: token %.80q is number %d of %d, want each number once", from, token, id, len(tokens))
		}
		tokens[id] = []byte(token)
	}
	return append(bytes.Join(tokens, []byte("\n")), '\n'), from, nil
}
