package train

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"hgld/train/device"
	"hgld/train/grad"
)

// notes travel between the processes with every step: whether one was told to stop, and how long each has
// waited for the others. All processes therefore stop after the same step. nil: there is one process.
type notes struct {
	ranks    *ranks
	own, all device.Array // F32 [1,2] and [ranks,2]: told to stop, seconds waited in the step before
	found    device.Array // F32 [1]: values that are not finite
	stop     bool         // this process was told to stop
	waited   time.Duration
	memory   [2][]byte // downloads, used in turn
	bytes    [8]byte
	turn     int
}

func newNotes(b device.Backend, r *ranks) *notes {
	if r == nil {
		return nil
	}
	n := &notes{ranks: r, own: device.New(b, device.F32, 1, 2), all: device.New(b, device.F32, r.n, 2),
		found: device.New(b, device.F32, 1)}
	for i := range n.memory {
		n.memory[i] = make([]byte, 8*r.n)
	}
	return n
}

// told notes whether ctx is cancelled.
func (n *notes) told(ctx context.Context) {
	if n != nil {
		n.stop = ctx.Err() != nil
	}
}

// prepare uploads the notes of this process.
func (n *notes) prepare(b device.Backend) {
	if n == nil {
		return
	}
	var stop, waited float32
	if n.stop {
		stop = 1
	}
	if s, able := n.ranks.Collective.(device.Straggling); able {
		all := s.Waiting()
		waited, n.waited = float32((all - n.waited).Seconds()), all
	}
	binary.LittleEndian.PutUint32(n.bytes[:], math.Float32bits(stop))
	binary.LittleEndian.PutUint32(n.bytes[4:], math.Float32bits(waited))
	b.Upload(n.own, n.bytes[:])
}

// record records the exchange.
func (n *notes) record(t *grad.Tape) {
	if n != nil {
		t.Do(func(device.Backend) { n.ranks.AllGather(n.all, n.own) })
	}
}

// addGuard records that guard [1] counts what is not finite in any process: all skip a step or none does.
func (n *notes) addGuard(t *grad.Tape, guard device.Array) {
	if n != nil {
		t.Do(func(b device.Backend) {
			b.Copy(n.found, guard)
			n.ranks.AllReduce(n.found)
			b.Copy(guard, n.found)
		})
	}
}

// fetch queues the download of all notes. The result is valid until the call after the next.
func (n *notes) fetch(b device.Backend) ([]byte, device.Ticket) {
	if n == nil {
		return nil, 0
	}
	n.turn = 1 - n.turn
	return n.memory[n.turn], b.Download(n.memory[n.turn], n.all)
}

// noted is what the processes told each other in a step.
type noted struct {
	stop   *StopError // nil: none was told to stop
	waited []float64  // seconds that each waited in the step before
}

func readNotes(all []byte) (n noted) {
	for i := range len(all) / 8 {
		number := func(at int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(all[8*i+at:]))) }
		if number(0) != 0 && n.stop == nil {
			n.stop = &StopError{Rank: i}
		}
		n.waited = append(n.waited, number(4))
	}
	return n
}

// leastBucket is the least number of elements of a bucket but the last of a group: 16 MiB. A call for each weight would
// take longer, and one for all could only begin when the backward pass is over. Tests change it.
var leastBucket = 4 << 20

// bucket is a part of a group's gradient, which processes add at once.
type bucket struct {
	grads device.Array // F32 [n]
	at    int          // after so many operations of the tape it is complete
}

// buckets divides the gradient of a group. ready are the gradients of all weights, by offset. A part is complete when
// the last of its weights is. Parts without weights that are ready are complete at once.
func buckets(grads device.Array, ready []grad.Ready, least int) (list []bucket) {
	from, at := 0, 0
	end := func(to int) {
		if to > from {
			list = append(list, bucket{grads.RowRange(from, to), at})
			from, at = to, 0
		}
	}
	for _, r := range ready {
		if r.Grad.Buf != grads.Buf || r.Grad.Off < grads.Off || r.Grad.Off >= grads.Off+grads.Len() {
			continue
		}
		if lo := r.Grad.Off - grads.Off; lo-from >= least {
			end(lo)
		}
		at = max(at, r.At)
	}
	end(grads.Len())
	return list
}

// addGradients adds gradients over all processes. The tape has just run the backward pass. Replays add a part of them
// as soon as it is complete, beside the rest of the backward pass, if that saves time on the device.
func (r *ranks) addGradients(t *grad.Tape, groups []device.Array) {
	if r == nil {
		return
	}
	o, able := r.Collective.(device.Overlapping)
	if !able || !o.Overlaps() {
		for _, g := range groups {
			r.added(t, g)
		}
		return
	}
	ready := t.Ready()
	slices.SortFunc(ready, func(a, b grad.Ready) int { return a.Grad.Off - b.Grad.Off })
	var list []bucket
	for _, g := range groups {
		list = append(list, buckets(g, ready, leastBucket)...)
	}
	slices.SortStableFunc(list, func(a, b bucket) int { return a.at - b.at })
	var inserted []grad.Insertion
	for _, part := range list {
		o.AllReduceAside(part.grads)
		inserted = append(inserted, grad.Insertion{At: part.at, Op: func(device.Backend) { o.AllReduceAside(part.grads) }})
	}
	t.Insert(inserted)
	t.Do(func(device.Backend) { o.Settle() })
}
