package text

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hgld/internal/atomicfile"
	"hgld/internal/goldens"
	"hgld/internal/tensorfile"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/tensor"
)

// goldenModels is cases.json.
type goldenModels struct {
	Models map[string]struct {
		Hidden     int     `json:"hidden"`
		Heads      int     `json:"heads"`
		Activation string  `json:"hidden_act"`
		Eps        float32 `json:"layer_norm_eps"`
		EOS        int32   `json:"eos"`
		Layers     int     `json:"layers"`
	} `json:"models"`
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
	if err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, y.Data)
	}
	net.forward(p, []job{{ids: ids}})
	return out
}

func TestGoldenText(t *testing.T) {
	dir := goldens.Dir(t, "text")
	var cases goldenModels
	goldens.ReadJSON(t, filepath.Join(dir, "cases.json"), &cases)
	for name := range cases.Models {
		t.Run("text/"+name, func(t *testing.T) {
			switch name {
			case "bert_tiny":
				goldenBERT(t, dir, name, cases)
			case "clip_tiny_quickgelu", "clip_tiny_gelu":
				goldenCLIP(t, dir, name, cases)
			case "all-MiniLM-L6-v2":
				goldenMiniLM(t, dir)
			default:
				t.Fatalf("no test for a model %s", name)
			}
		})
	}
}

func goldenBERT(t *testing.T, dir, name string, cases goldenModels) {
	m := cases.Models[name]
	b := poisoned(0)
	net, _, _, err := readBERT(b, filepath.Join(dir, name+".safetensors"), bertConfig{Activation: m.Activation, Heads: m.Heads, Eps: m.Eps})
	if err != nil {
		t.Fatal(err)
	}
	expected := filepath.Join(dir, name+".expected.safetensors")
	ids, mask := readTensor(t, expected, "input_ids"), readTensor(t, expected, "attention_mask")
	for i := range ids.Rows() {
		row := idsOf(ids, mask, i)
		got := states(t, b, net, row)
		for layer := range m.Layers + 1 { // the first state is behind positions and norm
			want := readTensor(t, expected, fmt.Sprintf("hidden.%d.float64", layer)).Slice(i, i+1).Reshape(ids.Cols(), m.Hidden).Slice(0, len(row))
			near(t, fmt.Sprintf("row %d, state %d", i, layer), got[layer+1], want.Data, tiny)
		}
		near(t, fmt.Sprintf("row %d, mean", i), got[m.Layers+2], readTensor(t, expected, "mean_pooled.float64").Row(i), tiny)
		near(t, fmt.Sprintf("row %d, embedding", i), got[m.Layers+3], readTensor(t, expected, "embedding.float64").Row(i), tiny)
	}
}

// The weights of MiniLM are no part of the goldens. Without them the names and
// shapes of its tensors are compared with what is read; in the folder that
// $HGLD_MINILM names (scripts/check_text) they are, and give ids and embeddings.
func goldenMiniLM(t *testing.T, dir string) {
	var layout [][3]any // name, shape, type
	goldens.ReadJSON(t, filepath.Join(dir, "minilm_state_dict.json"), &layout)
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
	if _, positions, words, err := readBERT(cpu.New(0), path, bertConfig{Activation: "gelu", Heads: 12}); err != nil || positions != 512 || words != 30522 {
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
	goldens.ReadJSON(t, filepath.Join(dir, "minilm.json"), &want)
	e, err := OpenBERT(poisoned(0), Files{Weights: filepath.Join(folder, "model.safetensors")})
	if err != nil {
		t.Fatal(err)
	}
	tokenize := e.tokens()
	for i, text := range want.Texts {
		if got := tokenize(text); !slices.Equal(got, want.IDs[i]) {
			t.Errorf("%q: ids %v, want %v", text, got, want.IDs[i])
		}
	}
	got, err := e.Encode(context.Background(), want.Texts)
	if err != nil {
		t.Fatal(err)
	}
	embeddings := readTensor(t, filepath.Join(dir, "minilm.safetensors"), "embeddings")
	for i, row := range got {
		near(t, want.Texts[i], row, embeddings.Row(i), 2e-5) // float32 in another order loses 8e-7 (README of the goldens)
	}
}

// writeWeights writes a safetensors file.
func writeWeights(t *testing.T, tensors []tensorfile.Tensor) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := atomicfile.Write(path, func(w io.Writer) error { return tensorfile.WriteSafetensors(w, tensors, nil) }); err != nil {
		t.Fatal(err)
	}
	return path
}
