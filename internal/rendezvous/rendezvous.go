// Package rendezvous connects the processes of a group to its rank 0 over TCP: they prove that they know a token, say
// who they are, and from then on notice within seconds when one of them is gone.
//
// Each line is a message in JSON. Rank 0 sends a challenge, a process answers with a hello that holds the HMAC-SHA256
// of the challenge under the token, and rank 0 welcomes or refuses it. A process says every second that it lives. When
// it ends well it says bye, and when it fails it says why. Rank 0 passes on that one is gone.
package rendezvous

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"hgld/internal/crash"
)

// Times of a group. A process that ends closes its connections at once. A machine that stalls or loses its power says
// nothing.
const (
	beat    = time.Second
	silence = 15 * time.Second // after which a process counts as gone
	arrival = time.Minute      // in which all must have come
)

// longestMessage bounds a message, since anyone may connect.
const longestMessage = 1 << 20

// Hello says who a process is.
type Hello struct {
	Rank    int    // its number, from 0
	Ranks   int    // processes of the group
	Version string // of the program; all must have the same
	Host    string // name of its machine
	PID     int    // number of the process there
	Proof   []byte // of the token
	Note    []byte // what else the others shall know; see Notes
}

func (h *Hello) name() string { return fmt.Sprintf("rank %d (%s, process %d)", h.Rank, h.Host, h.PID) }

// message is a line.
type message struct {
	Kind  string
	Hello *Hello   `json:",omitempty"`
	Bytes []byte   `json:",omitempty"`
	Text  string   `json:",omitempty"`
	Calls int64    `json:",omitempty"` // see Watch
	Notes [][]byte `json:",omitempty"` // of a welcome
}

// The kinds of messages.
const (
	challenge = "challenge"
	hello     = "hello"
	welcome   = "welcome"
	refused   = "refused"
	alive     = "alive"
	gone      = "gone"
	bye       = "bye"
)

// GoneError says that a process of the group is gone.
type GoneError struct {
	Who    Hello  // the process
	Reason string // its own words; "": it said nothing
}

// Error names the process.
func (e *GoneError) Error() string {
	if e.Reason == "" {
		return e.Who.name() + " is gone"
	}
	return e.Who.name() + " has failed: " + e.Reason
}

// RefusedError says that a process may not join the group.
type RefusedError struct{ Reason string }

// Error is the reason.
func (e *RefusedError) Error() string { return e.Reason }

// Group is the connections of a process: of rank 0 to all others, of another to rank 0.
type Group struct {
	own   Hello
	token []byte
	lost  chan error
	ctx   context.Context // until this process leaves
	stop  context.CancelFunc
	all   sync.WaitGroup
	calls atomic.Pointer[func() int64] // see Watch
	notes [][]byte

	mu    sync.Mutex
	peers []*peer
	ended bool // this process leaves; whatever the others do is of no interest
}

// Notes returns the notes of all processes, in the order of ranks.
func (g *Group) Notes() [][]byte { return g.notes }

// Lost receives a *GoneError for the first process that is gone.
func (g *Group) Lost() <-chan error { return g.lost }

// peer is a connection.
type peer struct {
	conn net.Conn
	in   *json.Decoder
	room *io.LimitedReader
	who  Hello
	seen atomic.Int64 // calls

	mu   sync.Mutex
	out  *json.Encoder
	left chan struct{} // closed after its bye
}

func newPeer(c net.Conn) *peer {
	room := &io.LimitedReader{R: c, N: longestMessage}
	return &peer{conn: c, in: json.NewDecoder(room), room: room, out: json.NewEncoder(c), left: make(chan struct{})}
}

func (p *peer) send(m message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn.SetWriteDeadline(time.Now().Add(silence))
	return p.out.Encode(m)
}

func (p *peer) read(wait time.Duration) (m message, err error) {
	p.conn.SetReadDeadline(time.Now().Add(wait))
	p.room.N = longestMessage
	err = p.in.Decode(&m)
	return m, err
}

func newGroup(own Hello, token []byte) *Group {
	g := &Group{own: own, token: token, lost: make(chan error, 1), notes: make([][]byte, own.Ranks)}
	g.own.Host, _ = os.Hostname()
	g.own.PID = os.Getpid()
	return g
}

// Accept waits at l for the other processes and closes l. It is for rank 0. own has the number of ranks, the version
// and the note.
func Accept(ctx context.Context, l net.Listener, own Hello, token []byte) (*Group, error) {
	g := newGroup(own, token)
	g.notes[0], g.own.Note = g.own.Note, nil
	ranks := own.Ranks
	defer l.Close()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	timer := time.AfterFunc(arrival, func() { l.Close() })
	defer timer.Stop()
	came := map[int]*Hello{0: &g.own}
	for len(came) < ranks {
		c, err := l.Accept()
		if err != nil {
			return nil, errors.Join(ctx.Err(), g.refuseAll(fmt.Errorf("%d of %d processes came, and within %v no other: ranks "+
				"%v are missing", len(came), ranks, arrival, missing(came, ranks))))
		}
		p := newPeer(c)
		h, err := g.greet(p)
		if err == nil && came[h.Rank] != nil {
			err = &RefusedError{fmt.Sprintf("%s came, and so did %s", h.name(), came[h.Rank].name())}
		}
		if err != nil {
			p.send(message{Kind: refused, Text: err.Error()})
			c.Close()
			if h == nil { // a stranger
				continue
			}
			return nil, g.refuseAll(err)
		}
		g.notes[h.Rank], h.Note, h.Proof = h.Note, nil, nil
		came[h.Rank], p.who = h, *h
		g.peers = append(g.peers, p)
	}
	for _, p := range g.peers {
		if err := p.send(message{Kind: welcome, Hello: &g.own, Notes: g.notes}); err != nil {
			return nil, g.refuseAll(&GoneError{Who: p.who})
		}
	}
	g.begin()
	return g, nil
}

func missing(came map[int]*Hello, ranks int) (list []int) {
	for r := range ranks {
		if came[r] == nil {
			list = append(list, r)
		}
	}
	return list
}

// refuseAll tells those that have come why the group fails.
func (g *Group) refuseAll(err error) error {
	for _, p := range g.peers {
		p.send(message{Kind: refused, Text: err.Error()})
		p.conn.Close()
	}
	return err
}

// greet checks a process that connects. The hello is nil if it does not know the token.
func (g *Group) greet(p *peer) (*Hello, error) {
	text := make([]byte, 32)
	rand.Read(text)
	if err := p.send(message{Kind: challenge, Bytes: text}); err != nil {
		return nil, err
	}
	m, err := p.read(silence)
	if err != nil || m.Hello == nil || !hmac.Equal(m.Hello.Proof, proof(g.token, text)) {
		return nil, errors.New("the token differs from that of rank 0")
	}
	h := m.Hello
	switch {
	case h.Ranks != g.own.Ranks:
		err = &RefusedError{fmt.Sprintf("%s is one of %d processes, rank 0 one of %d", h.name(), h.Ranks, g.own.Ranks)}
	case h.Rank < 1 || h.Rank >= h.Ranks:
		err = &RefusedError{fmt.Sprintf("%s is no rank of %d", h.name(), h.Ranks)}
	case h.Version != g.own.Version:
		err = &RefusedError{fmt.Sprintf("%s is %s, rank 0 is %s", h.name(), h.Version, g.own.Version)}
	}
	return h, err
}

func proof(token, text []byte) []byte {
	m := hmac.New(sha256.New, token)
	m.Write(text)
	return m.Sum(nil)
}

// Join connects to rank 0 at the first of its addresses that answers. own has the rank, the number of ranks, the
// version and the note.
func Join(ctx context.Context, addresses []string, own Hello, token []byte) (*Group, error) {
	g := newGroup(own, token)
	ctx, cancel := context.WithTimeout(ctx, arrival)
	defer cancel()
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		var failed []error
		for _, address := range addresses {
			c, err := (&net.Dialer{Timeout: silence}).DialContext(ctx, "tcp", address)
			if err == nil {
				if err := g.enter(c); err != nil {
					c.Close()
					return nil, err
				}
				return g, nil
			}
			failed = append(failed, err)
		}
		select { // rank 0 may begin later
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, fmt.Errorf("rank 0 cannot be reached: %w", errors.Join(failed...))
		}
	}
}

// enter introduces this process to rank 0.
func (g *Group) enter(c net.Conn) error {
	p := newPeer(c)
	p.who.Host, _, _ = net.SplitHostPort(c.RemoteAddr().String())
	m, err := p.read(arrival)
	if err != nil {
		return &GoneError{Who: p.who}
	}
	g.own.Proof = proof(g.token, m.Bytes)
	if err := p.send(message{Kind: hello, Hello: &g.own}); err != nil {
		return &GoneError{Who: p.who}
	}
	g.own.Proof, g.own.Note = nil, nil
	switch m, err = p.read(2 * arrival); {
	case err != nil:
		return &GoneError{Who: p.who}
	case m.Kind != welcome:
		return &RefusedError{m.Text}
	case m.Hello == nil || len(m.Notes) != g.own.Ranks:
		return &RefusedError{"rank 0 gave a welcome without notes"}
	}
	p.who, g.notes = *m.Hello, m.Notes
	g.peers = []*peer{p}
	g.begin()
	return nil
}

// begin watches the connections.
func (g *Group) begin() {
	ctx, stop := context.WithCancel(context.Background())
	g.ctx, g.stop = ctx, stop
	for _, p := range g.peers {
		g.all.Go(func() { defer crash.Guard(); g.watch(p) })
		g.all.Go(func() { defer crash.Guard(); g.live(ctx, p) })
	}
}

// live says every second that this process lives.
func (g *Group) live(ctx context.Context, p *peer) {
	t := time.NewTicker(beat)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			p.send(message{Kind: alive, Calls: g.made()})
		case <-ctx.Done():
			return
		}
	}
}

// watch reads what a process says until it is gone.
func (g *Group) watch(p *peer) {
	defer close(p.left)
	for {
		m, err := p.read(silence)
		switch {
		case err != nil:
			g.lose(&GoneError{Who: p.who}, p)
			return
		case m.Kind == gone && m.Hello != nil: // the peer or, if rank 0 says so, another process
			g.lose(&GoneError{Who: *m.Hello, Reason: m.Text}, p)
			return
		case m.Kind == bye:
			return
		}
		p.seen.Store(m.Calls)
	}
}

// lose reports the first process that is gone. Rank 0 tells the others.
func (g *Group) lose(err *GoneError, from *peer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return
	}
	select {
	case g.lost <- err:
	default:
		return
	}
	for _, p := range g.peers {
		if p != from && g.own.Rank == 0 {
			p.send(message{Kind: gone, Hello: &err.Who, Text: err.Reason})
		}
	}
}

// Leave ends the connections. With an error it tells the others that this process has failed. Without one, it returns
// when rank 0 leaves too, which therefore does so when it has nothing more to do: some launchers kill all processes
// when the first one ends.
func (g *Group) Leave(failed error) {
	g.mu.Lock()
	before := g.ended
	g.ended = true
	g.mu.Unlock()
	if before {
		return
	}
	for _, p := range g.peers {
		if failed != nil {
			p.send(message{Kind: gone, Hello: &g.own, Text: failed.Error()})
			continue
		}
		p.send(message{Kind: bye})
	}
	if failed == nil && g.own.Rank > 0 {
		select {
		case <-g.peers[0].left:
		case <-time.After(arrival):
		}
	}
	g.stop()
	time.AfterFunc(beat/10, func() {
		for _, p := range g.peers {
			p.conn.Close()
		}
	})
	g.all.Wait()
}
