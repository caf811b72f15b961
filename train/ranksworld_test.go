package train

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"hgld/train/device/cpu"
)

// world moves numbers between goroutines as an engine does between processes.
type world struct {
	n       int
	mu      sync.Mutex
	changed *sync.Cond
	arrived int
	round   int
	gone    error // a process that has left with an error; no call returns anything else after that
	parts   [][]byte
	sums    [][]float32
}

func newWorld(n int) *world {
	w := &world{n: n, parts: make([][]byte, n), sums: make([][]float32, n)}
	w.changed = sync.NewCond(&w.mu)
	return w
}

// meet waits for all members.
func (w *world) meet() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	round := w.round
	if w.arrived++; w.arrived == w.n {
		w.arrived, w.round = 0, round+1
		w.changed.Broadcast()
	}
	for w.round == round && w.gone == nil {
		w.changed.Wait()
	}
	if w.round != round {
		return nil // all came, even if one has failed since
	}
	return w.gone
}

func (w *world) leave(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = err
	w.changed.Broadcast()
}

// member is one of a world.
type member struct {
	*world
	rank int
}

func (m member) Rank() (rank, ranks int) { return m.rank, m.n }

func (m member) AllReduce(x []float32) error {
	m.sums[m.rank] = slices.Clone(x)
	if err := m.meet(); err != nil {
		return err
	}
	for i := range x {
		x[i] = m.sums[0][i]
		for r := 1; r < m.n; r++ {
			x[i] += m.sums[r][i]
		}
	}
	return m.meet()
}

func (m member) AllGather(all, part []byte) error {
	m.parts[m.rank] = slices.Clone(part)
	if err := m.meet(); err != nil {
		return err
	}
	for r, p := range m.parts {
		copy(all[r*len(part):], p)
	}
	return m.meet()
}

func (m member) Broadcast(x []byte) error {
	m.parts[m.rank] = slices.Clone(x)
	if err := m.meet(); err != nil {
		return err
	}
	copy(x, m.parts[0])
	return m.meet()
}

// trained is what one process of a training has at its end.
type trained struct {
	events  []Event
	losses  []float64
	weights map[string][]float64 // tensors of a checkpoint
	run     *Run                 // closed
	err     error
}

// onRanks trains on n ranks, or as one process. change may change what a rank is given, and seen is called
// with its events.
func onRanks(t *testing.T, n int, c Config, data Data, change func(rank int, c *Config, d *Data, o *Options),
	seen func(rank int, e Event, cancel func())) []trained {
	t.Helper()
	list, w := make([]trained, n), newWorld(n)
	var group sync.WaitGroup
	for rank := range n {
		group.Go(func() {
			c, data, o := c, data, Options{Backend: cpu.New(1)}
			if n > 1 {
				joined := cpu.Join(cpu.New(1), member{w, rank})
				joined.Overlap(n == 4)
				o.Backend = joined
			}
			if change != nil {
				change(rank, &c, &data, &o)
			}
			list[rank].err = list[rank].train(c, data, o, func(e Event, cancel func()) {
				if seen != nil {
					seen(rank, e, cancel)
				}
			})
			if list[rank].err != nil && !errors.Is(list[rank].err, context.Canceled) {
				w.leave(errors.New("a rank has failed"))
			}
		})
	}
	group.Wait()
	return list
}

func (l *trained) train(c Config, data Data, o Options, seen func(Event, func())) error {
	r, err := New(c, data, o)
	if err != nil {
		return err
	}
	l.run = r
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for e, failed := range r.Events(ctx) {
		if failed != nil {
			err = failed
			break
		}
		l.events = append(l.events, e)
		if e.Kind == Stepped && e.Loss != nil {
			l.losses = append(l.losses, *e.Loss)
		}
		seen(e, cancel)
	}
	failed := r.thread.Do(func() error { return l.keep(r) })
	return errors.Join(err, failed, r.Close())
}

func (l *trained) keep(r *Run) error {
	l.weights = map[string][]float64{}
	tensors, err := r.network.store.Export(r.o.Backend)
	if err != nil {
		return err
	}
	average, err := r.step.update.exportAverage(r.network)
	for _, t := range average {
		t.Name = "average." + t.Name
		tensors = append(tensors, t)
	}
	for _, t := range tensors {
		if v, err := t.Float64(); err == nil {
			l.weights[t.Name] = v
		}
	}
	return err
}
