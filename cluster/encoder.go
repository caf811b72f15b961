package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hgld/internal/registry"
)

// Encoder turns texts into vectors.
type Encoder interface {
	// Name names the encoder and every setting that changes its vectors. It is written
	// into the draft as their origin.
	Name() string
	// Encode returns one vector for each text, in order and all of one length. It is
	// deterministic; with an error it returns no vectors.
	Encode(ctx context.Context, texts []string) ([][]float32, error)
}

// Prompt is the sentence that a tag is put into before it is encoded; "{}" stands for
// the tag. Models trained on captions know "a photo of a church" better than "church".
//
// Several sentences, one per line, form an ensemble. The vector of a tag is then the
// mean of its sentences' vectors, each of unit length, scaled to unit length again, as
// in the zero-shot classifiers of Radford et al., "Learning Transferable Visual Models
// From Natural Language Supervision", ICML 2021, section 3.1.4.
type Prompt string

// Prompts are the named prompts. On 200 real tags in 150 clusters of MiniLM vectors,
// "photo" raises the adjusted Rand index against the 78 published supercategories from
// 0.53 to 0.65. The encoder of character n-grams gains nothing from words that all
// texts share.
var Prompts = registry.Table[Prompt]{
	{Name: "tag", About: "the tag alone", Value: "{}"},
	{Name: "photo", About: "the tag in a caption, as zero-shot classifiers do", Value: "a photo of a {}"},
	{Name: "picture", About: "the tag in a caption, as H-GLDv2 does", Value: "A picture of a {}"},
	{Name: "captions", About: "four captions of sights, averaged",
		Value: "a photo of a {}\na photo of the {}, a landmark\na picture of a famous {}\na view of the {}"},
}

// ParsePrompt returns named prompts, several separated by commas, as one ensemble. A text with
// "{}" is a prompt itself. A name that is not known is a *registry.UnknownError.
func ParsePrompt(text string) (Prompt, error) {
	if strings.Contains(text, "{}") {
		_, err := Prompt(text).Fill(nil)
		return Prompt(text), err
	}
	var sentences []string
	for name := range strings.SplitSeq(text, ",") {
		p, err := Prompts.Get("prompt", name)
		if err != nil {
			return "", err
		}
		sentences = append(sentences, string(p))
	}
	return Prompt(strings.Join(sentences, "\n")), nil
}

// Texts returns each different text that [Prompt.Fill] makes of the tags, in its order.
func (p Prompt) Texts(tags []string) ([]string, error) {
	filled, err := p.Fill(tags)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var texts []string
	for _, t := range slices.Concat(filled...) {
		if !seen[t] {
			seen[t] = true
			texts = append(texts, t)
		}
	}
	return texts, nil
}

// Sentences lists the sentences of p.
func (p Prompt) Sentences() []string {
	return strings.FieldsFunc(string(p), func(r rune) bool { return r == '\n' || r == '\r' })
}

// Fill puts each text into each sentence of the prompt, [sentences][texts]. A sentence
// without "{}" would make all texts equal and is an error.
func (p Prompt) Fill(texts []string) ([][]string, error) {
	sentences := p.Sentences()
	if len(sentences) == 0 {
		return nil, fmt.Errorf(`the prompt is empty; the tag alone is "{}"`)
	}
	filled := make([][]string, len(sentences))
	for at, s := range sentences {
		if !strings.Contains(s, "{}") {
			return nil, fmt.Errorf(`prompt %.80q has no {} in place of the tag, as in "a photo of a {}"`, s)
		}
		filled[at] = make([]string, len(texts))
		for i, t := range texts {
			filled[at][i] = strings.ReplaceAll(s, "{}", t)
		}
	}
	return filled, nil
}

// Embed fills the prompt with each text and encodes the results into a matrix
// [len(texts), D]. The sentences of an ensemble are encoded one after the other, each
// for all texts.
func Embed(ctx context.Context, e Encoder, p Prompt, texts []string) (Matrix, error) {
	filled, err := p.Fill(texts)
	if err != nil {
		return Matrix{}, fmt.Errorf("cluster: %w", err)
	}
	var sum Matrix
	for at, sentence := range filled {
		vectors, err := e.Encode(ctx, sentence)
		if err != nil {
			return Matrix{}, fmt.Errorf("cluster: encoder %s: %w", e.Name(), err)
		}
		if len(vectors) != len(texts) {
			return Matrix{}, fmt.Errorf("cluster: encoder %s returned %d vectors for %d texts", e.Name(), len(vectors),
				len(texts))
		}
		x, err := Pack(vectors)
		if err != nil || len(filled) == 1 {
			return x, err
		}
		if sum, err = addUnit(sum, x, at); err != nil {
			return Matrix{}, fmt.Errorf("cluster: encoder %s: %.80q: %w", e.Name(), p.Sentences()[at], err)
		}
	}
	mean, _, err := normalize(sum)
	if err != nil {
		return Matrix{}, fmt.Errorf("cluster: encoder %s: the vectors of the prompt's sentences cancel out: "+
			"%w", e.Name(), err)
	}
	return mean, nil
}

// addUnit adds the rows of x, scaled to unit length, to those of sum, which is empty
// for the first sentence.
func addUnit(sum, x Matrix, sentence int) (Matrix, error) {
	x, _, err := normalize(x)
	if err != nil || sentence == 0 {
		return x, err
	}
	if x.Cols != sum.Cols {
		return Matrix{}, fmt.Errorf("%d values in a vector, and %d for the sentences before", x.Cols, sum.Cols)
	}
	for i, v := range x.Data {
		sum.Data[i] += v
	}
	return sum, nil
}
