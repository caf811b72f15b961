// Package collective is the group of processes that train one model together: what they gather, add up and agree on.
package collective

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"hgld/train/device"
	"hgld/train/grad"
)

// Group is the group of processes that train one model together. Each embeds its rows of a batch. All gather
// the embeddings and compute the same loss of the whole batch, with the same proxies and memory. Each takes
// its rows of the embeddings' gradient through the network, and the gradients of the weights are added. So a
// step is that of one process, apart from the rounding of sums over a batch. nil: there is one process.
type Group struct {
	device.Collective
	b           device.Backend
	Index, Size int // rank of this process, and number of processes
}

// Of returns the group of a device.
func Of(b device.Backend) *Group {
	c, able := b.(device.Collective)
	if !able {
		return nil
	}
	r := &Group{Collective: c, b: b}
	if r.Index, r.Size = c.Rank(); r.Size < 2 {
		return nil
	}
	return r
}

// Count returns the number of processes.
func (r *Group) Count() int {
	if r == nil {
		return 1
	}
	return r.Size
}

// Leads reports whether this process writes the files of the run.
func (r *Group) Leads() bool { return r == nil || r.Index == 0 }

// Gather records the embeddings [B,D] of the whole batch from those of this process.
func (r *Group) Gather(t *grad.Tape, e *grad.Var) *grad.Var {
	if r == nil {
		return e
	}
	rows := e.Value.Rows()
	all := t.New(device.F32, rows*r.Size, e.Value.Cols())
	t.Do(func(device.Backend) { r.AllGather(all.Value, e.Value) })
	t.Back(func(b device.Backend) {
		if de, acc := t.Onto(e); !de.Absent() {
			b.Axpby(de, 1, t.Grad(all).RowRange(r.Index*rows, (r.Index+1)*rows), acc, de)
		}
	})
	t.Done(e)
	return all
}

// Sum records the sum of an array over all processes.
func (r *Group) Sum(t *grad.Tape, a device.Array) {
	if r != nil {
		t.Do(func(device.Backend) { r.AllReduce(a) })
	}
}

// Exchange sends a text to all processes and returns those of all, in the order of ranks. It runs on the
// device's thread.
func (r *Group) Exchange(own []byte) ([][]byte, error) {
	lengths, err := r.gatherWords(binary.LittleEndian.AppendUint32(nil, uint32(len(own))))
	if err != nil {
		return nil, err
	}
	size := func(i int) int { return int(binary.LittleEndian.Uint32(lengths[4*i:])) }
	longest := 0
	for i := range r.Size {
		longest = max(longest, size(i))
	}
	longest = max((longest+3)/4*4, 4)
	padded := append(slices.Clone(own), make([]byte, longest-len(own))...)
	all, err := r.gatherWords(padded)
	if err != nil {
		return nil, err
	}
	texts := make([][]byte, r.Size)
	for i := range texts {
		texts[i] = all[i*longest:][:size(i)]
	}
	return texts, nil
}

// Differ returns the ranks whose text is not that of rank 0. It runs on the device's thread.
func (r *Group) Differ(own []byte) (ranks []int, err error) {
	all, err := r.Exchange(own)
	for i, text := range all {
		if !slices.Equal(text, all[0]) {
			ranks = append(ranks, i)
		}
	}
	return ranks, err
}

// gatherWords gathers words of 4 bytes, equally many of every process.
func (r *Group) gatherWords(own []byte) ([]byte, error) {
	from, to := device.New(r.b, device.I32, len(own)/4), device.New(r.b, device.I32, r.Size, len(own)/4)
	defer r.b.Free(from.Buf)
	defer r.b.Free(to.Buf)
	r.b.Upload(from, own)
	r.AllGather(to, from)
	all := make([]byte, r.Size*len(own))
	return all, r.b.Wait(r.b.Download(all, to))
}

// Shield returns a context for work that all processes stop together: when agreed says so, and not when ctx
// is cancelled.
func (r *Group) Shield(ctx context.Context) context.Context {
	if r == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// CheckStop returns a *StopError if ctx is cancelled in any of the processes, which call it together. It runs on
// the device's thread.
func (r *Group) CheckStop(ctx context.Context) error {
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
	for i := range r.Size {
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
