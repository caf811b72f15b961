package cluster

import (
	"context"
	"fmt"
	"strings"

	"hgld/internal/registry"
)

// Encoder turns texts into vectors of equal length, one row for each text in the
// order given. Encode is deterministic; on an error it returns no vectors. Name
// carries every setting that changes the vectors, because it is written into the
// draft as their origin.
type Encoder interface {
	Name() string
	Encode(ctx context.Context, texts []string) ([][]float32, error)
}

// Prompt is the sentence that a tag is put into before it is encoded: "{}"
// stands for the tag. Models trained on captions know "a photo of a church"
// better than "church".
type Prompt string

// Prompts are the named prompts. On 200 real tags in 150 clusters of MiniLM
// vectors, "photo" raises the adjusted Rand index against the 78 published
// supercategories from 0.53 to 0.65; the encoder of character n-grams gains
// nothing from words that all texts share.
var Prompts = registry.Table[Prompt]{
	{Name: "tag", About: "the tag alone", Value: "{}"},
	{Name: "photo", About: "the tag in a caption, as zero-shot classifiers do", Value: "a photo of a {}"},
	{Name: "picture", About: "the tag in a caption, as H-GLDv2 does", Value: "A picture of a {}"},
}

// Fill puts each text into the prompt. A prompt without "{}" would make all
// texts equal and is an error.
func (p Prompt) Fill(texts []string) ([]string, error) {
	if !strings.Contains(string(p), "{}") {
		return nil, fmt.Errorf(`prompt %q has no {} for the tag to stand in, as in "a photo of a {}"`, string(p))
	}
	filled := make([]string, len(texts))
	for i, t := range texts {
		filled[i] = strings.ReplaceAll(string(p), "{}", t)
	}
	return filled, nil
}

// Embed fills the prompt with each text and encodes the results into one matrix
// [len(texts), D].
func Embed(ctx context.Context, e Encoder, p Prompt, texts []string) (Matrix, error) {
	filled, err := p.Fill(texts)
	if err != nil {
		return Matrix{}, fmt.Errorf("cluster: %w", err)
	}
	vectors, err := e.Encode(ctx, filled)
	if err != nil {
		return Matrix{}, fmt.Errorf("cluster: encoder %s: %w", e.Name(), err)
	}
	if len(vectors) != len(texts) {
		return Matrix{}, fmt.Errorf("cluster: encoder %s returned %d vectors for %d texts", e.Name(), len(vectors), len(texts))
	}
	return Pack(vectors)
}
