package train

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"hgld/train/device"
	"hgld/train/grad"
)

// ranks is the group of processes that train one model together. Each embeds its rows of a batch. All gather
// the embeddings and compute the same loss of the whole batch, with the same proxies and memory. Each takes
// its rows of the embeddings' gradient through the network, and the gradients of the weights are added. So a
// step is that of one process, apart from the rounding of sums over a batch. nil: there is one process.
type ranks struct {
	device.Collective
	b       device.Backend
	rank, n int
}

// ranksOf returns the group of a device.
func ranksOf(b device.Backend) *ranks {
	c, able := b.(device.Collective)
	if !able {
		return nil
	}
	r := &ranks{Collective: c, b: b}
	if r.rank, r.n = c.Rank(); r.n < 2 {
		return nil
	}
	return r
}

// count returns the number of processes.
func (r *ranks) count() int {
	if r == nil {
		return 1
	}
	return r.n
}

// leads reports whether this process writes the files of the run.
func (r *ranks) leads() bool { return r == nil || r.rank == 0 }

// share returns the rows [lo, hi) of a batch that this process embeds.
func (r *ranks) share(batch int) (lo, hi int, err error) {
	if r == nil {
		return 0, batch, nil
	}
	if batch%r.n != 0 {
		return 0, 0, &ConfigError{fmt.Errorf("sampler.batch is %d, want a multiple of the %d processes", batch, r.n)}
	}
	part := batch / r.n
	return r.rank * part, (r.rank + 1) * part, nil
}

// gathered records the embeddings [B,D] of the whole batch from those of this process.
func (r *ranks) gathered(t *grad.Tape, e *grad.Var) *grad.Var {
	if r == nil {
		return e
	}
	rows := e.Value.Rows()
	all := t.New(device.F32, rows*r.n, e.Value.Cols())
	t.Do(func(device.Backend) { r.AllGather(all.Value, e.Value) })
	t.Back(func(b device.Backend) {
		if de, acc := t.Onto(e); !de.Absent() {
			b.Axpby(de, 1, t.Grad(all).RowRange(r.rank*rows, (r.rank+1)*rows), acc, de)
		}
	})
	t.Done(e)
	return all
}

// added records the sum of an array over all processes.
func (r *ranks) added(t *grad.Tape, a device.Array) {
	if r != nil {
		t.Do(func(device.Backend) { r.AllReduce(a) })
	}
}

// exchange sends a text to all processes and returns those of all, in the order of ranks. It runs on the
// device's thread.
func (r *ranks) exchange(own []byte) ([][]byte, error) {
	lengths, err := r.gatherWords(binary.LittleEndian.AppendUint32(nil, uint32(len(own))))
	if err != nil {
		return nil, err
	}
	size := func(i int) int { return int(binary.LittleEndian.Uint32(lengths[4*i:])) }
	longest := 0
	for i := range r.n {
		longest = max(longest, size(i))
	}
	longest = max((longest+3)/4*4, 4)
	padded := append(slices.Clone(own), make([]byte, longest-len(own))...)
	all, err := r.gatherWords(padded)
	if err != nil {
		return nil, err
	}
	texts := make([][]byte, r.n)
	for i := range texts {
		texts[i] = all[i*longest:][:size(i)]
	}
	return texts, nil
}

// gatherWords gathers words of 4 bytes, equally many of every process.
func (r *ranks) gatherWords(own []byte) ([]byte, error) {
	from, to := device.New(r.b, device.I32, len(own)/4), device.New(r.b, device.I32, r.n, len(own)/4)
	defer r.b.Free(from.Buf)
	defer r.b.Free(to.Buf)
	r.b.Upload(from, own)
	r.AllGather(to, from)
	all := make([]byte, r.n*len(own))
	return all, r.b.Wait(r.b.Download(all, to))
}

// shielded returns a context for work that all processes stop together: when agreed says so, and not when ctx
// is cancelled.
func (r *ranks) shielded(ctx context.Context) context.Context {
	if r == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// agreed returns a *StopError if ctx is cancelled in any of the processes, which call it together. It runs on
// the device's thread.
func (r *ranks) agreed(ctx context.Context) error {
	if r == nil {
		return nil
	}
	word := make([]byte, 4)
	if ctx.Err() != nil {
		word[0] = 1
	}
	all, err := r.gatherWords(word)
	if err != nil {
		return err
	}
	for i := range r.n {
		if all[4*i] != 0 {
			return &StopError{Rank: i}
		}
	}
	return nil
}

// StopError says that one of several processes was told to stop, so that all stop. It wraps context.Canceled.
type StopError struct {
	Rank int // of the first process that was told to stop
}

// Error names the rank.
func (e *StopError) Error() string { return fmt.Sprintf("rank %d was told to stop", e.Rank) }

// Unwrap returns context.Canceled.
func (e *StopError) Unwrap() error { return context.Canceled }
