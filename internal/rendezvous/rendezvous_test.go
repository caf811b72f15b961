package rendezvous

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// group connects n processes. change may change what one of them says.
func group(t *testing.T, n int, change func(rank int, ranks *int, version, token *string)) ([]*Group, []error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := make([]*Group, n), make([]error, n)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for rank := range n {
		ranks, version, token := n, "hgld 1", "secret"
		if change != nil {
			change(rank, &ranks, &version, &token)
		}
		own := Hello{Rank: rank, Ranks: ranks, Version: version, Note: fmt.Append(nil, "note ", rank)}
		all.Go(func() {
			if rank == 0 {
				groups[0], errs[0] = Accept(ctx, l, own, []byte(token))
			} else {
				groups[rank], errs[rank] = Join(ctx, []string{l.Addr().String()}, own, []byte(token))
			}
			if errs[rank] != nil {
				cancel() // rank 0 would wait for one that knows the token
			}
		})
	}
	all.Wait()
	cancel()
	return groups, errs
}

func lost(t *testing.T, g *Group) *GoneError {
	t.Helper()
	select {
	case err := <-g.Lost():
		var e *GoneError
		if errors.As(err, &e) {
			return e
		}
		t.Fatal(err)
	case <-time.After(time.Minute):
		t.Fatal("nobody was missed")
	}
	return nil
}

func TestOthersNameTheOneThatIsGone(t *testing.T) {
	for _, dead := range []int{0, 2} {
		groups, errs := group(t, 4, nil)
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		groups[dead].mu.Lock() // a process that is killed says nothing, and the system closes its connections
		groups[dead].ended = true
		groups[dead].mu.Unlock()
		for _, p := range groups[dead].peers {
			p.conn.Close()
		}
		for rank, g := range groups {
			if rank == dead {
				continue
			}
			if e := lost(t, g); e.Who.Rank != dead || e.Who.PID == 0 || e.Reason != "" {
				t.Errorf("rank %d misses %v, want rank %d", rank, e, dead)
			}
		}
	}
}

func TestAllGetTheNotesOfAll(t *testing.T) {
	groups, errs := group(t, 3, nil)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for rank, g := range groups {
		if got := string(bytes.Join(g.Notes(), []byte(", "))); got != "note 0, note 1, note 2" {
			t.Errorf("rank %d has %q", rank, got)
		}
	}
}

func TestRankZeroAwaitsTheOthers(t *testing.T) {
	groups, errs := group(t, 3, nil)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	awaited := make(chan error, 1)
	go func() { awaited <- groups[0].Await(t.Context()) }()
	if err := groups[2].Done(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-awaited:
		t.Errorf("rank 0 did not wait for rank 1: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := errors.Join(groups[1].Done(), <-awaited); err != nil {
		t.Error(err)
	}
}

func TestOthersHearWhyOneFails(t *testing.T) {
	groups, errs := group(t, 3, nil)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	groups[1].Leave(errors.New("disk full"))
	for _, rank := range []int{0, 2} {
		if e := lost(t, groups[rank]); e.Who.Rank != 1 || !strings.HasSuffix(e.Error(), "has failed: disk full") {
			t.Errorf("rank %d hears %v", rank, e)
		}
	}
}

// The others end after rank 0, and nobody misses one that said bye.
func TestOthersLeaveWithRankZero(t *testing.T) {
	groups, errs := group(t, 3, nil)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	ended := make(chan int, 3)
	for _, rank := range []int{1, 2} {
		go func() { groups[rank].Leave(nil); ended <- rank }()
	}
	select {
	case rank := <-ended:
		t.Errorf("rank %d left before rank 0", rank)
	case <-time.After(100 * time.Millisecond):
	}
	groups[0].Leave(nil)
	for range 2 {
		<-ended
	}
	for rank, g := range groups {
		select {
		case err := <-g.Lost():
			t.Errorf("rank %d: %v", rank, err)
		default:
		}
	}
}

// A process that lives and does not go on is named to all, also to itself.
func TestOthersNameTheOneThatHangs(t *testing.T) {
	for _, hangs := range []int{0, 1} {
		groups, errs := group(t, 3, nil)
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		for rank, g := range groups {
			g.Watch(func() int64 {
				if rank == hangs {
					return 7
				}
				return 8
			}, 10*time.Millisecond)
		}
		for _, g := range groups {
			if e := lost(t, g); e.Who.Rank != hangs || !strings.Contains(e.Error(), "the others have waited for it") {
				t.Errorf("%v, want rank %d", e, hangs)
			}
		}
	}
}

// The first look may come when a process has begun no call yet and another has.
func TestNobodyHangsAtTheFirstLook(t *testing.T) {
	groups, errs := group(t, 2, nil)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	groups[0].Watch(func() int64 { return 0 }, time.Hour)
	groups[1].Watch(func() int64 { return 5 }, time.Hour)
	select {
	case err := <-groups[0].Lost():
		t.Error(err)
	case <-time.After(beat + beat/4):
	}
}

func TestDifferentProcessesAreRefused(t *testing.T) {
	for want, change := range map[string]func(rank int, ranks *int, version, token *string){
		"is hgld 2, rank 0 is hgld 1": func(rank int, _ *int, version, _ *string) { *version = fmt.Sprint("hgld ", 1+rank) },
		"is one of 5 processes, rank 0 one of 2": func(rank int, ranks *int, _, _ *string) {
			if rank == 1 {
				*ranks = 5
			}
		},
	} {
		_, errs := group(t, 2, change)
		for rank, err := range errs {
			if !errors.As(err, new(*RefusedError)) || !strings.Contains(err.Error(), want) {
				t.Errorf("rank %d: %v, want %q", rank, err, want)
			}
		}
	}
	_, errs := group(t, 2, func(rank int, _ *int, _, token *string) { *token = fmt.Sprint(rank) })
	if !errors.As(errs[1], new(*RefusedError)) || !strings.Contains(errs[1].Error(), "token differs") {
		t.Errorf("a wrong token: %v", errs[1])
	}
}
