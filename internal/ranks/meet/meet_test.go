package meet

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"hgld/internal/testing/must"
	"hgld/internal/usage"
)

// group connects n processes. change may change what one of them says.
func group(t *testing.T, n int, change func(own *Hello, token *string)) ([]*Group, []error) {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	groups, errs := make([]*Group, n), make([]error, n)
	var all sync.WaitGroup
	for rank := range n {
		own, token := helloOf(rank, n), "secret"
		if change != nil {
			change(&own, &token)
		}
		all.Go(func() { groups[rank], errs[rank] = meet(t.Context(), l, own, token, time.Minute) })
	}
	all.Wait()
	return groups, errs
}

// meet is Accept or Join of a rank.
func meet(ctx context.Context, l net.Listener, own Hello, token string, wait time.Duration) (*Group, error) {
	if own.Rank == 0 {
		return Accept(ctx, l, own, []byte(token), wait, nil)
	}
	return Join(ctx, []string{l.Addr().String()}, own, []byte(token), wait)
}

func helloOf(rank, ranks int) Hello {
	return Hello{Rank: rank, Ranks: ranks, Version: "hgld 1", Job: "job 7", Note: fmt.Append(nil, "note ", rank)}
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
		must.Do(t, errors.Join(errs...))
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
	must.Do(t, errors.Join(errs...))
	for rank, g := range groups {
		if got := string(bytes.Join(g.Notes(), []byte(", "))); got != "note 0, note 1, note 2" {
			t.Errorf("rank %d has %q", rank, got)
		}
	}
}

func TestRankZeroAwaitsTheOthers(t *testing.T) {
	groups, errs := group(t, 3, nil)
	must.Do(t, errors.Join(errs...))
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
	must.Do(t, errors.Join(errs...))
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
	must.Do(t, errors.Join(errs...))
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

// watchAll begins the watch of a group in which one process has begun fewer calls than the others. Rank 0 looks once it
// has heard of all: with so little patience, it would not wait for a late message.
func watchAll(t *testing.T, groups []*Group, behind int) {
	t.Helper()
	calls := func(rank int) int64 {
		if rank == behind {
			return 7
		}
		return 8
	}
	for rank := len(groups) - 1; rank >= 0; rank-- {
		if rank == 0 {
			must.Become(t, "rank 0 hears how far the others are", func() bool {
				for _, p := range groups[0].peers {
					if p.seen.Load() != calls(p.who.Rank) {
						return false
					}
				}
				return true
			})
		}
		groups[rank].Watch(func() int64 { return calls(rank) }, 10*time.Millisecond)
	}
}

// A process that lives and does not go on is named to all, also to itself.
func TestOthersNameTheOneThatHangs(t *testing.T) {
	for _, hangs := range []int{0, 1} {
		groups, errs := group(t, 3, nil)
		must.Do(t, errors.Join(errs...))
		watchAll(t, groups, hangs)
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
	must.Do(t, errors.Join(errs...))
	groups[0].Watch(func() int64 { return 0 }, time.Hour)
	groups[1].Watch(func() int64 { return 5 }, time.Hour)
	select {
	case err := <-groups[0].Lost():
		t.Error(err)
	case <-time.After(beat + beat/4):
	}
}

func TestDifferentProcessesAreRefused(t *testing.T) {
	for want, change := range map[string]func(own *Hello, _ *string){
		"is hgld 2, rank 0 is hgld 1": func(own *Hello, _ *string) { own.Version = fmt.Sprint("hgld ", 1+own.Rank) },
		"is one of 5 processes, rank 0 one of 2": func(own *Hello, _ *string) {
			if own.Rank == 1 {
				own.Ranks = 5
			}
		},
	} {
		_, errs := group(t, 2, change)
		for rank, err := range errs {
			if !errors.As(err, new(*usage.Error)) || !strings.Contains(err.Error(), want) {
				t.Errorf("rank %d: %v, want %q", rank, err, want)
			}
		}
	}
}

// A process without the token, or of another job, is told so, and the group is complete without it.
func TestForeignProcessesAreNotLetIn(t *testing.T) {
	defer func(before time.Duration) { doubt = before }(doubt)
	doubt = 50 * time.Millisecond
	for want, change := range map[string]func(own *Hello, token *string){
		"the token differs from that of rank 0": func(_ *Hello, token *string) { *token = "" },
		"belongs to another job":                func(own *Hello, _ *string) { own.Job = "job 8" },
	} {
		l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
		zero := make(chan error, 1)
		go func() {
			_, err := meet(t.Context(), l, helloOf(0, 2), "secret", time.Minute)
			zero <- err
		}()
		own, token := helloOf(1, 2), "secret"
		change(&own, &token)
		_, err := meet(t.Context(), l, own, token, time.Minute)
		if !errors.As(err, new(*usage.Error)) || !strings.Contains(err.Error(), want) {
			t.Errorf("the foreign process: %v, want %q", err, want)
		}
		_, err = meet(t.Context(), l, helloOf(1, 2), "secret", time.Minute)
		if err = errors.Join(err, <-zero); err != nil {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Whoever proves nothing costs the others no time, whatever it says.
func TestStrangersDoNotHoldTheDoor(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	zero := make(chan error, 1)
	go func() {
		_, err := meet(t.Context(), l, helloOf(0, 2), "secret", time.Minute)
		zero <- err
	}()
	for i := range 2 * mostStrangers {
		c := must.Get(net.Dial("tcp", l.Addr().String()))(t)
		defer c.Close()
		c.Write([]byte([]string{"", "GET / HTTP/1.1\r\n\r\n", strings.Repeat("[", 1<<12), "null\n",
			`{"Kind":"hello","Bytes":"e30="}` + "\n"}[i%5]))
	}
	began := time.Now()
	_, err := meet(t.Context(), l, helloOf(1, 2), "secret", time.Minute)
	if err = errors.Join(err, <-zero); err != nil || time.Since(began) > silence {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// between relays lines, changed, between a process and rank 0.
func between(t *testing.T, zero net.Listener, change func(line string) string) net.Listener {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			a, err := l.Accept()
			if err != nil {
				return
			}
			b, err := net.Dial("tcp", zero.Addr().String())
			if err != nil {
				a.Close()
				continue
			}
			for from, to := range map[net.Conn]net.Conn{a: b, b: a} {
				go func() {
					defer to.Close()
					for lines := bufio.NewReader(from); ; {
						line, err := lines.ReadString('\n')
						if _, failed := io.WriteString(to, change(line)); err != nil || failed != nil {
							return
						}
					}
				}()
			}
		}
	}()
	return l
}

// Both sides prove every byte that they say, so that nobody in between changes one.
func TestNobodyInBetweenChangesWhatIsSaid(t *testing.T) {
	defer func(before time.Duration) { doubt = before }(doubt)
	doubt = 50 * time.Millisecond
	for _, kind := range []string{hello, welcome} {
		l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
		relay := between(t, l, func(line string) string {
			var m message
			if json.Unmarshal([]byte(line), &m) != nil || m.Kind != kind {
				return line
			}
			m.Bytes = bytes.ReplaceAll(m.Bytes, []byte(`"Version":"hgld 1"`), []byte(`"Version":"hgld 9"`))
			text, _ := json.Marshal(m)
			return string(text) + "\n"
		})
		ctx, cancel := context.WithCancel(t.Context())
		zero := make(chan error, 1)
		go func() {
			_, err := meet(ctx, l, helloOf(0, 2), "secret", time.Minute)
			zero <- err
		}()
		if g, err := meet(ctx, relay, helloOf(1, 2), "secret", time.Second); err == nil {
			t.Errorf("%s: rank 1 has joined %+v", kind, g.peers[0].who)
		}
		cancel()
		if err := <-zero; kind == hello && !errors.Is(err, context.Canceled) {
			t.Errorf("rank 0 took a changed hello: %v", err)
		}
	}
}

// A process that finds another service at the address of rank 0, or a rank 0 without the token, tells it nothing and
// waits for the right one.
func TestAnotherServiceIsNotRankZero(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	said := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		io.WriteString(c, `{"Kind":"challenge","Bytes":"QUFBQQ==","Proof":"QUFBQQ=="}`+"\n")
		text, _ := io.ReadAll(c)
		c.Close()
		go meet(t.Context(), l, helloOf(0, 2), "secret", time.Minute)
		said <- string(text)
	}()
	if _, err := meet(t.Context(), l, helloOf(1, 2), "secret", time.Minute); err != nil {
		t.Error(err)
	}
	if text := <-said; !strings.Contains(text, hail) || strings.Contains(text, "note") {
		t.Errorf("it has told a stranger %q", text)
	}
}

// Who does not come in time is named to all, as something that may pass.
func TestTheAbsentAreNamed(t *testing.T) {
	var l net.Listener
	for wait := time.Second; ; wait *= 4 { // in which rank 1 may be late, on a busy machine
		l = must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
		errs := make([]error, 2)
		var all sync.WaitGroup
		for rank := range errs {
			all.Go(func() {
				_, errs[rank] = meet(t.Context(), l, helloOf(rank, 4), "secret", wait+time.Duration(rank)*time.Minute)
			})
		}
		all.Wait()
		if wait < time.Minute && errs[0] != nil && strings.Contains(errs[0].Error(), "1 of 4 processes came") {
			continue
		}
		for _, err := range errs {
			if !errors.As(err, new(*AbsentError)) ||
				!strings.Contains(err.Error(), "2 of 4 processes came: ranks 2 and 3 are missing") {
				t.Errorf("%v", err)
			}
		}
		break
	}
	_, err := Join(t.Context(), []string{l.Addr().String()}, helloOf(1, 2), nil, 100*time.Millisecond)
	if !errors.As(err, new(*AbsentError)) || !strings.Contains(err.Error(), "rank 0 cannot be reached within 100ms") {
		t.Errorf("nobody listens: %v", err)
	}
}

// A process that died while the others came is replaced when it is started again.
func TestAProcessThatIsStartedAgainTakesItsPlace(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	zero := make(chan error, 1)
	go func() {
		_, err := meet(t.Context(), l, helloOf(0, 3), "secret", time.Minute)
		zero <- err
	}()
	dying, kill := context.WithCancel(t.Context())
	died := make(chan error, 1)
	go func() {
		_, err := meet(dying, l, helloOf(1, 3), "secret", time.Minute)
		died <- err
	}()
	time.Sleep(200 * time.Millisecond) // it may come before it dies, or not
	kill()
	if err := <-died; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	again := make(chan error, 1)
	go func() {
		_, err := meet(t.Context(), l, helloOf(1, 3), "secret", time.Minute)
		again <- err
	}()
	_, err := meet(t.Context(), l, helloOf(2, 3), "secret", time.Minute)
	must.Do(t, errors.Join(err, <-again, <-zero))
}

// A process that has done its part may leave at once.
func TestWhoHasDoneItsPartIsNotMissed(t *testing.T) {
	groups, errs := group(t, 101, nil)
	must.Do(t, errors.Join(errs...))
	for _, g := range groups[1:] {
		go func() { g.Done(); g.Leave(nil) }()
	}
	for _, p := range groups[0].peers {
		<-p.left
	}
	if err := groups[0].Await(t.Context()); err != nil {
		t.Error(err)
	}
	groups[0].Leave(nil)
}

// Nobody waits in vain for a process that says what it does.
func TestBusyProcessesAreNotMissed(t *testing.T) {
	for _, slow := range []int{0, 1} {
		groups, errs := group(t, 3, nil)
		must.Do(t, errors.Join(errs...))
		end := groups[slow].Busy("copying")
		watchAll(t, groups, slow) // a message has both
		select {
		case err := <-groups[0].Lost():
			t.Errorf("rank %d is busy: %v", slow, err)
		case <-time.After(3 * beat):
		}
		end()
		if e := lost(t, groups[2]); e.Who.Rank != slow {
			t.Errorf("%v, want rank %d", e, slow)
		}
	}
}
