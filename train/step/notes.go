package step

import (
	"context"
	"encoding/binary"
	"math"
	"time"

	"hgld/train/collective"
	"hgld/train/device"
	"hgld/train/grad"
)

// Notes travel between the processes with every step: whether one was told to stop, and how long each has
// waited for the others. All processes therefore stop after the same step. nil: there is one process.
type Notes struct {
	ranks    *collective.Group
	own, all device.Array // F32 [1,2] and [ranks,2]: told to stop, seconds waited in the step before
	found    device.Array // F32 [1]: values that are not finite
	stop     bool         // this process was told to stop
	waited   time.Duration
	memory   [2][]byte // downloads, used in turn
	bytes    [8]byte
	turn     int
}

func newNotes(b device.Backend, r *collective.Group) *Notes {
	if r == nil {
		return nil
	}
	n := &Notes{ranks: r, own: device.New(b, device.F32, 1, 2), all: device.New(b, device.F32, r.Size, 2),
		found: device.New(b, device.F32, 1)}
	for i := range n.memory {
		n.memory[i] = make([]byte, 8*r.Size)
	}
	return n
}

// NoteStop notes whether ctx is cancelled.
func (n *Notes) NoteStop(ctx context.Context) {
	if n != nil {
		n.stop = ctx.Err() != nil
	}
}

// prepare uploads the notes of this process.
func (n *Notes) prepare(b device.Backend) {
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
func (n *Notes) record(t *grad.Tape) {
	if n != nil {
		t.Do(func(device.Backend) { n.ranks.AllGather(n.all, n.own) })
	}
}

// addGuard records that guard [1] counts what is not finite in any process: all skip a step or none does.
func (n *Notes) addGuard(t *grad.Tape, guard device.Array) {
	if n != nil {
		t.Do(func(b device.Backend) {
			b.Copy(n.found, guard)
			n.ranks.AllReduce(n.found)
			b.Copy(guard, n.found)
		})
	}
}

// fetch queues the download of all notes. The result is valid until the call after the next.
func (n *Notes) fetch(b device.Backend) ([]byte, device.Ticket) {
	if n == nil {
		return nil, 0
	}
	n.turn = 1 - n.turn
	return n.memory[n.turn], b.Download(n.memory[n.turn], n.all)
}

// noted is what the processes told each other in a step.
type noted struct {
	Stop   *collective.StopError // nil: none was told to stop
	Waited []float64             // seconds that each waited in the step before
}

func readNotes(all []byte) (n noted) {
	for i := range len(all) / 8 {
		number := func(at int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(all[8*i+at:]))) }
		if number(0) != 0 && n.Stop == nil {
			n.Stop = &collective.StopError{Rank: i}
		}
		n.Waited = append(n.Waited, number(4))
	}
	return n
}
