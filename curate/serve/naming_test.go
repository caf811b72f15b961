package serve

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"hgld/curate"
	"hgld/internal/testing/must"
)

// soleSuggester fails the test if it is called from two goroutines at a time.
type soleSuggester struct {
	Suggester
	t      *testing.T
	within atomic.Int32
	named  chan struct{} // gets a value when a vector is given to a group
}

func (s *soleSuggester) enter() func() {
	if s.within.Add(1) > 1 {
		s.t.Error("the suggester was called while another call was running")
	}
	return func() { s.within.Add(-1) }
}

func (s *soleSuggester) Place(int, map[int]string, []int, []int, []bool) { defer s.enter()() }

func (s *soleSuggester) Name(_ int, vector []float32) {
	defer s.enter()()
	if vector != nil {
		s.named <- struct{}{}
	}
}

// Distance takes as long as the names need, if nothing keeps them from coming.
func (s *soleSuggester) Distance(int) float64 {
	defer s.enter()()
	time.Sleep(time.Millisecond)
	return 0
}

// vectorNamer has a vector for every name at once.
type vectorNamer struct{}

func (vectorNamer) Names(_ context.Context, names []string) ([][]float32, error) {
	vectors := make([][]float32, len(names))
	for i := range vectors {
		vectors[i] = []float32{1}
	}
	return vectors, nil
}

// The names of the groups of a log may be encoded before all tags have been placed: the
// suggester still serves one call at a time.
func TestNamesWaitUntilTheServerIsMade(t *testing.T) {
	for range 20 {
		near := &soleSuggester{t: t, named: make(chan struct{}, 1)}
		session := must.Get(curate.NewSession(testDraft(30), nil))(t)
		o := move(0, "", "church", 0, 1, 2, 3, 11, 12, 13)
		if _, err := session.Apply(curate.Edit{Op: o.Op, From: o.From, To: o.To}, nil); err != nil {
			t.Fatal(err)
		}
		s, err := New(Config{Session: session, Save: func(curate.Edit) error { return nil }, Hosts: []string{testPort},
			Queue: "log of anna", Suggester: near, Namer: vectorNamer{}})
		must.Do(t, err)
		<-near.named
		s.Stop()
	}
}
