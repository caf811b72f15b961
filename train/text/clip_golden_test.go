package text

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

// goldenCLIP compares a tower under each of its namings, a file of weights for each,
// with transformers, each text cut behind its first end token.
func goldenCLIP(t *testing.T, dir, name string, m goldenModel, weights []string) {
	expected := filepath.Join(dir, name+".expected.safetensors")
	embeds := readTensor(t, expected, "text_embeds_normalized.float64")
	for _, file := range weights {
		b := poisoned(0)
		w, err := openWeights(b, file)
		must.Do(t, err)
		net, size, err := readCLIP(w, clipNames(w), CLIPOptions{Activation: m.Activation, Heads: m.Heads, Eps: m.Eps})
		must.Do(t, err)
		if size.layers != m.Layers || size.width != m.Hidden {
			t.Errorf("%+v", size)
		}
		for _, padded := range []string{"input_ids", "input_ids_eos_padded"} {
			ids := readTensor(t, expected, padded)
			for i := range ids.Rows() {
				row := idsOf(ids, nil, i)
				row = row[:slices.Index(row, m.EOS)+1]
				got := states(t, b, net, row)
				what := fmt.Sprintf("%s, %s, row %d", filepath.Base(file), padded, i)
				for layer := range m.Layers { // the last block gives the end token alone
					want := readTensor(t, expected, fmt.Sprintf("hidden.%d.float64", layer)).Slice(i,
						i+1).Reshape(ids.Cols(), m.Hidden)
					near(t, fmt.Sprintf("%s, state %d", what, layer), got[layer], want.Slice(0, len(row)).Data, tiny)
				}
				for layer, tensor := range []string{fmt.Sprintf("hidden.%d.float64", m.Layers), "last_hidden_state.float64"} {
					want := readTensor(t, expected, tensor).Slice(i, i+1).Reshape(ids.Cols(), m.Hidden)
					near(t, what+", "+tensor, got[m.Layers+layer], want.Row(len(row)-1), tiny)
				}
				near(t, what+", projection", got[m.Layers+2], readTensor(t, expected, "text_embeds.float64").Row(i), tiny)
				near(t, what+", embedding", got[m.Layers+3], embeds.Row(i), tiny)
			}
		}
	}
}

func TestGoldenBPE(t *testing.T) {
	var cases []struct {
		Source string  `json:"source"`
		Text   string  `json:"text"`
		IDs    []int32 `json:"ids"`
	}
	goldens.ReadJSON(t, goldens.Shared(t, "data", "clip", "tokenizer_vectors.json"), &cases)
	v, err := NewBPE()
	must.Do(t, err)
	encode := v.Encoder(77)
	for i, c := range cases {
		t.Run(fmt.Sprintf("clip/%d", i), func(t *testing.T) {
			if got := encode(c.Text); !slices.Equal(got, c.IDs) {
				t.Errorf("%s: %q\n got %v\nwant %v", c.Source, c.Text, got, c.IDs)
			}
		})
	}
}
