package cluster

import (
	"context"
	"errors"
	"fmt"
)

// Relative is an encoder whose vector of a text depends on the other texts of an Encode.
type Relative interface {
	Encoder
	// EncodeAmong returns the vectors that texts have among others, which have none of
	// their own here.
	EncodeAmong(ctx context.Context, others, texts []string) ([][]float32, error)
}

// Namer encodes names of groups as tags were encoded, so that the vectors of both can be
// compared.
type Namer struct {
	Encoder Encoder  // the encoder of the tags
	Prompt  Prompt   // the prompt of the tags
	Tags    []string // the texts of the tags
}

// Names returns a vector for each name, nil for a name that a Lookup does not have.
func (n *Namer) Names(ctx context.Context, names []string) ([][]float32, error) {
	x, err := n.embed(ctx, names)
	vectors := make([][]float32, len(names))
	switch missing := (*MissingTextsError)(nil); {
	case errors.As(err, &missing) && len(names) > 1:
		for i := range names {
			one, err := n.Names(ctx, names[i:i+1])
			if err != nil {
				return nil, err
			}
			vectors[i] = one[0]
		}
	case errors.As(err, &missing):
	case err != nil:
		return nil, err
	default:
		for i := range vectors {
			vectors[i] = x.Row(i)
		}
	}
	return vectors, nil
}

// All returns the vectors of names, a row for each. It fails if one has none.
func (n *Namer) All(ctx context.Context, names []string) (Matrix, error) { return n.embed(ctx, names) }

func (n *Namer) embed(ctx context.Context, names []string) (Matrix, error) {
	r, relative := n.Encoder.(Relative)
	if !relative {
		return Embed(ctx, n.Encoder, n.Prompt, names)
	}
	filled, err := n.Prompt.Fill(n.Tags)
	if err != nil {
		return Matrix{}, fmt.Errorf("cluster: %w", err)
	}
	return Embed(ctx, &among{Relative: r, sentences: filled}, n.Prompt, names)
}

// among encodes the texts of each sentence of a prompt, one after the other, among the
// tags in the same sentence.
type among struct {
	Relative
	sentences [][]string
}

// Encode implements Encoder.
func (a *among) Encode(ctx context.Context, texts []string) ([][]float32, error) {
	tags := a.sentences[0]
	a.sentences = a.sentences[1:]
	return a.EncodeAmong(ctx, tags, texts)
}

// Lazy is an encoder that is opened when a text has to be encoded, and closed after. A
// Cache of it that has every text does not open it.
type Lazy struct {
	// Of is the name that the encoder must have.
	Of string
	// Open opens it.
	Open func() (Encoder, error)

	watch func(done int)
}

// Name returns Of.
func (l *Lazy) Name() string { return l.Of }

// Watch implements Cacheable.
func (l *Lazy) Watch(f func(done int)) { l.watch = f }

// EncoderError is the error for vectors of another encoder than the one that is set.
type EncoderError struct{ Made, Set string }

// Error names both encoders.
func (e *EncoderError) Error() string {
	return fmt.Sprintf("the vectors were made by %s, but the encoder is now %s", e.Made, e.Set)
}

// Encode opens the encoder and encodes texts. It returns an [EncoderError] if the encoder is not
// l.Of.
func (l *Lazy) Encode(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	e, err := l.Open()
	if err != nil {
		return nil, err
	}
	if e.Name() != l.Of {
		return nil, &EncoderError{l.Of, e.Name()}
	}
	if c, ok := e.(Cacheable); ok && l.watch != nil {
		c.Watch(l.watch)
	}
	return e.Encode(ctx, texts)
}
