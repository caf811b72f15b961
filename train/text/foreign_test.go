//go:build foreign

package text

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

// TestForeignTokens compares both tokenizers with ids that others gave, in the
// folder that $HGLD_TOKENS names: tokens.json, and vocab.txt for WordPiece.
// scripts/check_text makes it.
func TestForeignTokens(t *testing.T) {
	dir := os.Getenv("HGLD_TOKENS")
	if dir == "" {
		t.Fatal("HGLD_TOKENS names no folder of tokens")
	}
	var want map[string][]struct {
		Text string  `json:"text"`
		IDs  []int32 `json:"ids"`
	}
	goldens.ReadJSON(t, filepath.Join(dir, "tokens.json"), &want)
	vocabulary, err := os.ReadFile(filepath.Join(dir, "vocab.txt"))
	must.Do(t, err)
	words, err := NewWordPiece(vocabulary, true, 512)
	must.Do(t, err)
	cased, err := NewWordPiece(vocabulary, false, 512)
	must.Do(t, err)
	bpe, err := NewBPE()
	must.Do(t, err)
	encoders := map[string]func(string) []int32{"wordpiece": words.Encoder(), "wordpiece-cased": cased.Encoder(),
		"bpe": bpe.Encoder(77)}
	for name, cases := range want {
		wrong := 0
		for _, c := range cases {
			if got := encoders[name](c.Text); !slices.Equal(got, c.IDs) {
				if wrong++; wrong <= 10 {
					t.Errorf("%s: %+q\n got %v\nwant %v", name, c.Text, got, c.IDs)
				}
			}
		}
		t.Logf("%s: %d of %d texts differ", name, wrong, len(cases))
	}
}
