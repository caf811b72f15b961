package input

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hgld/internal/testing/must"
	"hgld/train/testing/places"
)

// slowStore is a data set whose images come late.
type slowStore struct {
	*places.Set
	latency     func(i int) time.Duration // by the clock of a synctest bubble
	failing     map[int]bool
	now, atOnce atomic.Int64 // reads that are in progress, and the most of them
}

func (s *slowStore) Image(ctx context.Context, i int) ([]byte, error) {
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.atOnce.Load(); n > most && !s.atOnce.CompareAndSwap(most, n); most = s.atOnce.Load() {
	}
	select {
	case <-time.After(s.latency(i)):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.failing[i] {
		return nil, errors.New("the store has lost it")
	}
	return s.Set.Image(ctx, i)
}

func always(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

func newSlowStore(latency func(i int) time.Duration) *slowStore {
	return &slowStore{Set: &places.Set{Forms: 2, PerForm: 2, Views: 8, Size: 24}, latency: latency} // 32 images
}

// Two workers do not hold back the reads: 32 images of 8 at a time take four times the latency.
func TestReadsRunAheadOfTheWorkers(t *testing.T) {
	for reads, want := range map[int]time.Duration{1: 32 * time.Second, 8: 4 * time.Second, 100: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := newSlowStore(always(time.Second))
			l := testLoader(s, 2, 3) // four batches of 8
			l.Reads = reads
			began := time.Now()
			for _, err := range l.Batches(t.Context(), InOrder(s.Len(), l.Size)) {
				must.Do(t, err)
			}
			if took := time.Since(began); took != want || s.atOnce.Load() != int64(min(reads, 32)) {
				t.Errorf("%d reads: %v, want %v; %d reads at once", reads, took, want, s.atOnce.Load())
			}
		})
	}
}

// While nobody takes batches, what is read ahead is bounded: by the batches, and by the memory for encoded images.
func TestReadingAheadIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		s := newSlowStore(func(int) time.Duration { n.Add(1); return time.Millisecond })
		l := testLoader(s, 2, 1)
		l.Reads = 5
		if p := l.newPipeline(new(times)); cap(p.files) != 7 || len(p.files) != 7 {
			t.Errorf("memory for %d encoded images, want 5 and 2", cap(p.files))
		}
		for _, err := range l.Batches(t.Context(), InOrder(s.Len(), l.Size)) {
			must.Do(t, err)
			time.Sleep(time.Hour)
			if got := n.Load(); got != 16 { // the batch that is shown, and another
				t.Errorf("%d images were read, want 16", got)
			}
			break
		}
	})
}

func TestAStopEndsAllReadsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newSlowStore(always(time.Hour))
		l := testLoader(s, 2, 3)
		l.Reads = 8
		began := time.Now()
		time.AfterFunc(time.Second, cancel)
		var failed error
		for _, err := range l.Batches(ctx, InOrder(s.Len(), l.Size)) {
			failed = err
		}
		if took := time.Since(began); !errors.Is(failed, context.Canceled) || took != time.Second || s.now.Load() != 0 {
			t.Errorf("error %v after %v, %d reads left", failed, took, s.now.Load())
		}
	})
}

// The second batch has two lost images, of which the later one fails first; the third has one that fails before all.
func TestErrorsOfReadsComeInTheOrderOfTheBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowStore(func(i int) time.Duration { return time.Duration(100-i) * time.Second })
		s.failing = map[int]bool{10: true, 13: true, 20: true}
		l := testLoader(s, 3, 3)
		l.Reads = 32
		batches := 0
		var failed error
		for _, err := range l.Batches(t.Context(), InOrder(s.Len(), l.Size)) {
			if failed = err; err == nil {
				batches++
			}
		}
		if batches != 1 || failed == nil || !strings.Contains(failed.Error(), "view-0010: the store has lost it") {
			t.Errorf("%d batches, error %v", batches, failed)
		}
	})
}

func TestBatchesDoNotDependOnTheReads(t *testing.T) {
	want := collect(t, testLoader(newSlowStore(always(0)), 1, 1), Position{}, 10)
	synctest.Test(t, func(t *testing.T) {
		for _, reads := range []int{1, 3, 40} {
			l := testLoader(newSlowStore(func(i int) time.Duration { return time.Duration(i*7%5) * time.Second }), 3, 2)
			l.Reads = reads
			for i, b := range collect(t, l, Position{}, 10) {
				if !sameBatch(b, want[i]) {
					t.Fatalf("%d reads: batch %d differs", reads, i)
				}
			}
		}
	})
}

// By the clock of the bubble, decoding takes no time: the workers wait for all reads.
func TestMeasureTellsWaitingFromReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := testLoader(newSlowStore(always(100*time.Millisecond)), 2, 8)
		l.Reads = 4
		r, err := l.Measure(t.Context(), 2, 64, 1)
		must.Do(t, err)
		if math.Abs(r.Read-40) > 1e-6 || math.Abs(r.All-40) > 1e-6 || math.Abs(r.Waited-1) > 1e-6 {
			t.Errorf("%+v, want 4 reads in each tenth of a second, and workers that wait all the time", r)
		}
	})
	// The consumer is slow: it is not the reads that the workers wait for.
	synctest.Test(t, func(t *testing.T) {
		s := newSlowStore(always(time.Second))
		l := testLoader(s, 1, 1)
		l.Reads = 16
		var took times
		for _, err := range l.timed(t.Context(), InOrder(s.Len(), l.Size), &took) {
			must.Do(t, err)
			time.Sleep(time.Minute)
		}
		if got := time.Duration(took.waiting.Load()); got > 4*time.Second {
			t.Errorf("the worker waited %v for reads of a second in four batches", got)
		}
		if got := time.Duration(took.reading.Load()); got != 32*time.Second {
			t.Errorf("reading took %v, want a second for each image", got)
		}
	})
}
