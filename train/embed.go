package train

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"hgld/internal/tensorfile"
	"hgld/labels"
	"hgld/train/device"
	"hgld/train/input"
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
	case are && !m.Config.ofVectors():
		return nil, &ConfigError{errors.New("the model reads images, but the data are vectors")}
	case !are && m.Config.ofVectors():
		return nil, &ConfigError{fmt.Errorf("the model reads vectors of %d numbers, but the data are images",
			m.Config.vectorWidth())}
	}
	if o.Side > 0 {
		if err := m.AnyShape(); err != nil {
			return nil, err
		}
	}
	d = labelled(d)
	t, err := m.embed(ctx, d, embedOptions{progress: o.Progress, skip: skip, side: o.Side})
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

// ShapeError says that a network takes images of one size alone, and none in their own shapes.
type ShapeError struct {
	Network string // its name
	Side    int    // of its images
}

// Error names the network and the size that it takes.
func (e *ShapeError) Error() string {
	return fmt.Sprintf("%s takes images of %d×%d pixels alone, and none in their own shapes", e.Network, e.Side, e.Side)
}

// AnyShape returns a *ShapeError if the network takes images of one size alone.
func (m *Model) AnyShape() error {
	spec, err := pick(m.Config.backbones(), "backbone", "model.backbone", m.Config.Model.Backbone)
	if err != nil {
		return err
	}
	if f := spec.Facts(); f.Fixed {
		return &ShapeError{m.Config.Model.Backbone.Name, f.Input}
	}
	return nil
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

// embedShare embeds this process's part of a data set and gathers those of all. A part is a number of whole
// batches, so that every vector has the bytes that one process would compute. The last parts may be shorter or
// empty; a process whose part is empty embeds the last batch again, and nobody reads it.
func (n *network) embedShare(ctx context.Context, d input.Dataset, o embedOptions) (device.Array, error) {
	turns, part := n.ranks.turns(d.Len())
	lo := min(n.ranks.rank*part, (d.Len()-1)/EmbedBatch*EmbedBatch)
	own := &input.Subset{Of: d}
	for i := lo; i < min(lo+part, d.Len()); i++ {
		own.Rows = append(own.Rows, i)
	}
	mine, err := n.embedAlone(ctx, own, o)
	if err != nil {
		return mine, err
	}
	var out device.Array
	err = o.thread.Do(func() error {
		for range turns - (own.Len()+EmbedBatch-1)/EmbedBatch {
			if err := n.ranks.agreed(ctx); err != nil {
				return err
			}
		}
		from := device.New(n.b, device.F32, part, mine.Cols())
		n.b.Fill(from, 0)
		n.b.Copy(from.RowRange(0, own.Len()), mine)
		n.b.Free(mine.Buf)
		out = device.New(n.b, device.F32, part*n.ranks.n, mine.Cols())
		n.ranks.AllGather(out, from)
		n.b.Free(from.Buf)
		return n.b.Sync()
	})
	return out.RowRange(0, d.Len()), err
}

// turns returns how many batches a process embeds of n rows, and their rows.
func (r *ranks) turns(n int) (batches, rows int) {
	all := (n + EmbedBatch - 1) / EmbedBatch
	batches = (all + r.n - 1) / r.n
	return batches, batches * EmbedBatch
}

// common returns the value of rank 0, by which all processes choose what to do next.
func (r *Run) common(value float64) (float64, error) {
	group := r.network.ranks
	if group == nil {
		return value, nil
	}
	var all [][]byte
	err := r.thread.Do(func() (err error) {
		all, err = group.exchange(binary.LittleEndian.AppendUint64(nil, math.Float64bits(value)))
		return err
	})
	if err != nil {
		return 0, err
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(all[0])), nil
}
