package evaluation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"hgld/internal/tensorfile"
	"hgld/labels"
	"hgld/train/config"
	"hgld/train/input"
	"hgld/train/network"
)

// EmbedOptions are the options of EmbedAll.
type EmbedOptions struct {
	Progress func(done, total int) // items embedded; may be nil

	// Skip decides whether an unusable image is left out. It must be safe for concurrent use.
	// With nil, the first unusable image is an error.
	Skip func(*input.ImageError) bool

	// Side embeds each image in its own shape, with a longer side of at most Side pixels, as the landmark
	// benchmarks do. 0: as in an evaluation, cropped to the input of the network.
	Side int
}

// Embedded holds the embeddings of a data set.
type Embedded struct {
	Vectors tensorfile.Tensor   // F32 [len(Rows),D], of unit length
	Rows    []int               // item of each vector, ascending
	Failed  []*input.ImageError // skipped images, in their order
}

// EmbedAll returns the embeddings of a data set. The data set may have no levels. An embedding that
// is not finite is an error.
func (m *Model) EmbedAll(ctx context.Context, d input.Dataset, o EmbedOptions) (*Embedded, error) {
	type failure struct {
		row int
		err *input.ImageError
	}
	var failed []failure
	var mu sync.Mutex
	skip := func(row int, err *input.ImageError) bool {
		if o.Skip == nil || !o.Skip(err) {
			return false
		}
		mu.Lock()
		failed = append(failed, failure{row, err})
		mu.Unlock()
		return true
	}
	switch _, are := input.AsVectored(d); {
	case are && !m.Config.OfVectors():
		return nil, &config.Error{Err: errors.New("the model reads images, but the data are vectors")}
	case !are && m.Config.OfVectors():
		return nil, &config.Error{Err: fmt.Errorf("the model reads vectors of %d numbers, but the data are images",
			m.Config.VectorWidth())}
	}
	if o.Side > 0 {
		if err := m.Config.AnyShape(); err != nil {
			return nil, err
		}
	}
	d = labelled(d)
	t, err := m.embed(ctx, d, network.EmbedOptions{Progress: o.Progress, Skip: skip, Side: o.Side})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(failed, func(a, b failure) int { return cmp.Compare(a.row, b.row) })
	e := &Embedded{Vectors: t}
	bytes := 4 * t.Shape[1]
	for i := range d.Len() {
		if n := len(e.Failed); n < len(failed) && failed[n].row == i {
			e.Failed = append(e.Failed, failed[n].err)
			continue
		}
		copy(t.Data[len(e.Rows)*bytes:][:bytes], t.Data[i*bytes:][:bytes])
		e.Rows = append(e.Rows, i)
	}
	e.Vectors.Shape[0], e.Vectors.Data = len(e.Rows), t.Data[:len(e.Rows)*bytes]
	if i := e.Vectors.NotFinite(); i >= 0 {
		return nil, fmt.Errorf("train: the embedding of %s has a value that is not finite (column %d): "+
			"the weights of %s are unusable, or the image overflows them", d.ID(e.Rows[i/t.Shape[1]]), i%t.Shape[1], m.Path)
	}
	return e, nil
}

// labelled returns a data set that has a level.
func labelled(d input.Dataset) input.Dataset {
	if len(d.Levels()) == 0 {
		return unlabelled{d}
	}
	return d
}

// unlabelled adds a level without any class to a data set.
type unlabelled struct{ input.Dataset }

// Box implements input.Boxed.
func (u unlabelled) Box(i int) [4]float64 {
	b := input.Box(u.Dataset, i)
	return [4]float64{float64(b.Min.X), float64(b.Min.Y), float64(b.Max.X), float64(b.Max.Y)}
}

// Levels names the level.
func (unlabelled) Levels() []string { return []string{"none"} }

// Classes returns no classes.
func (unlabelled) Classes(int) []string { return nil }

// Labels returns no class.
func (unlabelled) Labels(int) labels.Path { return labels.Path{-1} }
