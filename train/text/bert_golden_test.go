package text

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/atomicfile"
	"hgld/internal/tensorfile"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/tensor"
)

// goldenModels is cases.json.
type goldenModels struct {
	Models map[string]goldenModel `json:"models"`
}

// goldenModel is a case. A CLIP tower has a context and a projection, a BERT encoder
// positions, and a published sentence encoder is named by its package.
type goldenModel struct {
	Hidden     int     `json:"hidden"`
	Heads      int     `json:"heads"`
	Activation string  `json:"hidden_act"`
	Eps        float32 `json:"layer_norm_eps"`
	EOS        int32   `json:"eos"`
	Layers     int     `json:"layers"`
	Context    int     `json:"context"`
	Positions  int     `json:"positions"`
	Package    string  `json:"package"`
}

// test finds how a case is compared: by its kind, and by the files that lie there
// under its name.
func (m goldenModel) test(dir, name string) (func(t *testing.T), error) {
	switch {
	case m.Package != "":
		stem, err := packagedStem(dir, name)
		return func(t *testing.T) { goldenPackage(t, dir, stem, m) }, err
	case m.Context > 0:
		files, err := weightsOfCase(dir, name+".*.safetensors")
		return func(t *testing.T) { goldenCLIP(t, dir, name, m, files) }, err
	case m.Positions > 0:
		files, err := weightsOfCase(dir, name+".safetensors")
		return func(t *testing.T) { goldenBERT(t, dir, name, m, files[0]) }, err
	}
	return nil, fmt.Errorf("%s has neither a context (CLIP) nor positions (BERT) nor a package", name)
}

// weightsOfCase lists the files of weights of a case, without the expected values.
func weightsOfCase(dir, pattern string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, ".expected.safetensors") })
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no file %s in %s", pattern, dir)
	}
	return files, err
}

// packagedStem finds the files STEM.json, STEM.safetensors and STEM_state_dict.json of
// a packaged encoder, whose name contains the stem.
func packagedStem(dir, name string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_state_dict.json"))
	for _, f := range files {
		stem := strings.TrimSuffix(filepath.Base(f), "_state_dict.json")
		if strings.Contains(strings.ToLower(name), strings.ToLower(stem)) {
			return stem, nil
		}
	}
	return "", errors.Join(err, fmt.Errorf("no STEM_state_dict.json in %s whose STEM is part of %s", dir, name))
}

// tiny is what torch loses in float32, times fifteen (README of the goldens).
const tiny = 1e-5

// poisoned is the CPU with memory that shows what nothing wrote.
func poisoned(threads int) device.Backend {
	b := cpu.New(threads)
	b.Poison = true
	return b
}

func readTensor(t *testing.T, path, name string) *tensor.Tensor {
	t.Helper()
	x, err := tensor.Read(path, name)
	must.Do(t, err)
	return x
}

// near compares by the relative L2 distance.
func near(t *testing.T, what string, got, want []float32, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	diff, size := 0.0, 0.0
	for i, v := range want {
		d := float64(got[i]) - float64(v)
		diff, size = diff+d*d, size+float64(v)*float64(v)
	}
	if d := math.Sqrt(diff / size); !(d <= tolerance) {
		t.Errorf("%s: relative error %.3g, tolerance %g", what, d, tolerance)
	}
}

// tokens of row i that are not padding.
func idsOf(ids, mask *tensor.Tensor, i int) []int32 {
	var out []int32
	for j, v := range ids.Row(i) {
		if mask == nil && v >= 0 || mask != nil && mask.Row(i)[j] > 0 {
			out = append(out, int32(v))
		}
	}
	return out
}

// states computes one text and returns what each layer gives.
func states(t *testing.T, b device.Backend, net network, ids []int32) [][]float32 {
	t.Helper()
	var out [][]float32
	p := &pass{b: b, arena: device.NewArena(b)}
	defer p.end()
	p.show = func(x device.Array) {
		y, err := tensor.FromDevice(b, x)
		must.Do(t, err)
		out = append(out, y.Data)
	}
	net.forward(p, []job{{ids: ids}})
	return out
}

func TestGoldenText(t *testing.T) {
	dir := goldens.Dir(t, "text")
	var cases goldenModels
	goldens.ReadJSON(t, filepath.Join(dir, "cases.json"), &cases)
	for name, m := range cases.Models {
		t.Run("text/"+name, func(t *testing.T) {
			compare, err := m.test(dir, name)
			must.Do(t, err)
			compare(t)
		})
	}
}

// A case that no test has been written for runs by its kind and its files.
func TestGoldenTextRunsFurtherCases(t *testing.T) {
	dir := goldens.Dir(t, "text")
	var cases goldenModels
	goldens.ReadJSON(t, filepath.Join(dir, "cases.json"), &cases)
	further := t.TempDir()
	for from, name := range map[string]string{"bert_tiny": "another_encoder", "clip_tiny_gelu": "another_tower"} {
		files, err := filepath.Glob(filepath.Join(dir, from+".*"))
		if err != nil || len(files) < 2 {
			t.Fatal(files, err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			must.Do(t, err)
			to := filepath.Join(further, name+strings.TrimPrefix(filepath.Base(f), from))
			must.Do(t, os.WriteFile(to, data, 0o644))
		}
		compare, err := cases.Models[from].test(further, name)
		must.Do(t, err)
		compare(t)
	}
	for name, m := range map[string]goldenModel{"none": {}, "absent": {Positions: 8}, "unpacked": {Package: "x"}} {
		if _, err := m.test(further, name); err == nil {
			t.Errorf("%s: a case without files is passed over", name)
		}
	}
}

func goldenBERT(t *testing.T, dir, name string, m goldenModel, weights string) {
	b := poisoned(0)
	net, _, _, err := readBERT(b, weights, bertConfig{Activation: m.Activation, Heads: m.Heads, Eps: m.Eps})
	must.Do(t, err)
	expected := filepath.Join(dir, name+".expected.safetensors")
	ids, mask := readTensor(t, expected, "input_ids"), readTensor(t, expected, "attention_mask")
	for i := range ids.Rows() {
		row := idsOf(ids, mask, i)
		got := states(t, b, net, row)
		for layer := range m.Layers + 1 { // the first state is behind positions and norm
			want := readTensor(t, expected, fmt.Sprintf("hidden.%d.float64", layer)).Slice(i, i+1).Reshape(ids.Cols(),
				m.Hidden).Slice(0, len(row))
			near(t, fmt.Sprintf("row %d, state %d", i, layer), got[layer+1], want.Data, tiny)
		}
		near(t, fmt.Sprintf("row %d, mean", i), got[m.Layers+2], readTensor(t, expected, "mean_pooled.float64").Row(i), tiny)
		near(t, fmt.Sprintf("row %d, embedding", i), got[m.Layers+3], readTensor(t, expected, "embedding.float64").Row(i),
			tiny)
	}
}

// goldenPackage compares a published sentence encoder. The weights of MiniLM are no
// part of the goldens. Without them the names and shapes of its tensors are compared
// with what is read; in the folder that $HGLD_MINILM names (scripts/check_text) they
// are, and give ids and embeddings.
func goldenPackage(t *testing.T, dir, stem string, m goldenModel) {
	var layout [][3]any // name, shape, type
	goldens.ReadJSON(t, filepath.Join(dir, stem+"_state_dict.json"), &layout)
	var zeros []tensorfile.Tensor
	for _, x := range layout {
		z := tensorfile.Tensor{Name: x[0].(string), DType: "F16"}
		for _, d := range x[1].([]any) {
			z.Shape = append(z.Shape, int(d.(float64)))
		}
		z.Data = make([]byte, 2*z.Len())
		zeros = append(zeros, z)
	}
	path := writeWeights(t, zeros)
	if _, positions, words, err := readBERT(cpu.New(0), path,
		bertConfig{Activation: cmp.Or(m.Activation, "gelu"), Heads: cmp.Or(m.Heads, 12)}); err != nil ||
		positions != 512 || words != 30522 {
		t.Errorf("%d positions and %d words, %v", positions, words, err)
	}
	folder := os.Getenv("HGLD_MINILM")
	if folder == "" {
		return
	}
	var want struct {
		Texts []string  `json:"texts"`
		IDs   [][]int32 `json:"input_ids"`
	}
	goldens.ReadJSON(t, filepath.Join(dir, stem+".json"), &want)
	e, err := OpenBERT(poisoned(0), Files{Weights: filepath.Join(folder, "model.safetensors")})
	must.Do(t, err)
	tokenize := e.tokens()
	for i, text := range want.Texts {
		if got := tokenize(text); !slices.Equal(got, want.IDs[i]) {
			t.Errorf("%q: ids %v, want %v", text, got, want.IDs[i])
		}
	}
	got, err := e.Encode(context.Background(), want.Texts)
	must.Do(t, err)
	embeddings := readTensor(t, filepath.Join(dir, stem+".safetensors"), "embeddings")
	for i, row := range got {
		near(t, want.Texts[i], row, embeddings.Row(i), 2e-5) // float32 in another order loses 8e-7 (README of the goldens)
	}
}

// writeWeights writes a safetensors file.
func writeWeights(t *testing.T, tensors []tensorfile.Tensor) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := atomicfile.Write(path, func(w io.Writer) error {
		return tensorfile.WriteSafetensors(w, tensors,
			nil)
	}); err != nil {
		t.Fatal(err)
	}
	return path
}
