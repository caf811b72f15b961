package train

import (
	"context"
	"encoding/binary"
	"math"

	"hgld/train/device"
	"hgld/train/input"
)

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
