package meet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"hgld/internal/crash"
	"hgld/internal/terminal"
	"hgld/internal/usage"
)

// Accept waits at l for the other processes and closes l. It is for rank 0. own has the number of ranks, the version,
// the job and the note. say, which may be nil, is told now and then who is missing. If not all come within wait, the
// error is an [*AbsentError].
func Accept(ctx context.Context, l net.Listener, own Hello, token []byte, wait time.Duration, log func(string)) (*Group,
	error) {
	g := newGroup(own, token)
	g.notes[0], g.own.Note = g.own.Note, nil
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d := &door{g: g, came: make(chan *peer)}
	go func() {
		defer crash.Guard()
		d.open(ctx, l)
	}()
	defer l.Close()
	came := map[int]*peer{}
	late, progress := time.NewTimer(wait), time.NewTimer(10*time.Second)
	for len(came)+1 < own.Ranks || !stillThere(came) {
		select {
		case p := <-d.came:
			if err := g.admit(came, p); err != nil {
				return nil, g.refuseAll(came, err)
			}
		case <-progress.C:
			if progress.Reset(30 * time.Second); log != nil {
				log(d.state(came))
			}
		case <-late.C:
			return nil, g.refuseAll(came, &AbsentError{fmt.Sprintf("%s; the others have not come within %v", d.state(came),
				wait)})
		case <-ctx.Done():
			return nil, g.refuseAll(came, ctx.Err())
		}
	}
	for rank := 1; rank < own.Ranks; rank++ {
		p := came[rank]
		g.peers = append(g.peers, p)
		if err := p.prove(token, welcome, welcoming{g.own, g.notes}); err != nil {
			return nil, g.refuseAll(came, &GoneError{Who: p.who})
		}
	}
	g.begin()
	return g, nil
}

// admit lets a process in that knows the token. An error is one of the whole group.
func (g *Group) admit(came map[int]*peer, p *peer) (err error) {
	h := &p.who
	switch {
	case h.Job != g.own.Job: // which is none of this group's business
		p.refuse(g.token, usage.Errorf("%s belongs to another job than rank 0 there: %s, not %s", h.name(), h.Job,
			g.own.Job))
		return nil
	case h.Ranks != g.own.Ranks:
		err = usage.Errorf("%s is one of %d processes, rank 0 one of %d", h.name(), h.Ranks, g.own.Ranks)
	case h.Rank < 1 || h.Rank >= h.Ranks:
		err = usage.Errorf("%s is not one of %d ranks", h.name(), h.Ranks)
	case h.Version != g.own.Version:
		err = usage.Errorf("%s is %s, rank 0 is %s", h.name(), h.Version, g.own.Version)
	case came[h.Rank] != nil && came[h.Rank].waits():
		err = usage.Errorf("%s came, and so did %s", h.name(), came[h.Rank].who.name())
	}
	if err != nil {
		p.refuse(g.token, err)
		return err
	}
	if before := came[h.Rank]; before != nil { // it was started again
		before.conn.Close()
	}
	g.notes[h.Rank], h.Note = h.Note, nil
	came[h.Rank] = p
	return nil
}

// waits reports whether a process that has come is still there. It says nothing while it waits.
func (p *peer) waits() bool {
	p.conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	_, err := p.conn.Read(make([]byte, 1))
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// stillThere forgets those that have come and gone, and reports whether there was none.
func stillThere(came map[int]*peer) bool {
	var away sync.Map
	var all sync.WaitGroup
	for rank, p := range came {
		all.Go(func() {
			defer crash.Guard()
			if !p.waits() {
				away.Store(rank, p)
			}
		})
	}
	all.Wait()
	whole := true
	for rank, p := range away.Range {
		whole = false
		p.(*peer).conn.Close()
		delete(came, rank.(int))
	}
	return whole
}

// refuse sends a process away.
func (p *peer) refuse(token []byte, err error) {
	p.prove(token, refused, refusal{err.Error(), !errors.As(err, new(*usage.Error))})
	p.conn.Close()
}

// refuseAll tells those that have come why the group fails.
func (g *Group) refuseAll(came map[int]*peer, err error) error {
	for _, p := range came {
		p.refuse(g.token, err)
	}
	return err
}

// door greets those who connect, side by side.
type door struct {
	g    *Group
	came chan *peer // those that know the token

	mu        sync.Mutex
	strangers []net.Conn // that have not proved anything yet, the oldest first
	away      int        // strangers that went or were sent away
}

func (d *door) open(ctx context.Context, l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(beat / 10) // such as too many open files
			continue
		}
		d.mu.Lock()
		if d.strangers = append(d.strangers, c); len(d.strangers) > mostStrangers {
			d.strangers[0].Close()
			d.strangers = d.strangers[1:]
		}
		d.mu.Unlock()
		go func() {
			defer crash.Guard()
			p := newPeer(c)
			known := d.g.greet(p)
			d.mu.Lock()
			d.strangers = slices.DeleteFunc(d.strangers, func(other net.Conn) bool { return other == c })
			if !known {
				d.away++
			}
			d.mu.Unlock()
			if known {
				select {
				case d.came <- p:
					return
				case <-ctx.Done():
				}
			}
			c.Close()
		}()
	}
}

// state says who has come.
func (d *door) state(came map[int]*peer) string {
	var missing []int
	for r := 1; r < d.g.own.Ranks; r++ {
		if came[r] == nil {
			missing = append(missing, r)
		}
	}
	text := fmt.Sprintf("%d of %d processes came: %s %s missing", len(came)+1, d.g.own.Ranks,
		terminal.Numbered("rank", missing), terminal.Are(len(missing)))
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.away > 0 {
		text += fmt.Sprintf("; closed %s without the token", terminal.Count(d.away, "connection"))
	}
	return text
}

// greet reports whether a process that connects knows the token, and asks who it is.
func (g *Group) greet(p *peer) bool {
	m, err := p.read(silence)
	if err != nil || m.Kind != hail {
		return false
	}
	own := nonce()
	p.nonces = append(m.Bytes, own...)
	if p.send(message{Kind: challenge, Bytes: own, Proof: p.proof(g.token, challenge, nil)}) != nil {
		return false
	}
	m, err = p.read(silence)
	return err == nil && m.Kind == hello && p.proves(g.token, m) && json.Unmarshal(m.Bytes, &p.who) == nil
}
