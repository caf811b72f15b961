// Package meet connects the processes of a group to its rank 0 over TCP: both sides prove that they know a token, say
// who they are, and from then on notice within seconds when one of them is gone.
//
// Each line is a message in JSON. A process hails rank 0 with a nonce. Rank 0 answers with a nonce of its own, and
// with a proof: the HMAC-SHA256 under the token of both nonces. The process then says who it is, and rank 0 welcomes or
// refuses it when all have come; both prove both nonces and every byte of what they say. Whoever proves nothing is a
// stranger, which costs the others no time. A process says every second that it lives, and whether it is busy with work
// of its own. When it ends well it says bye, and when it fails it says why. Rank 0 passes on that one is gone. The
// messages after the welcome are not signed, and nothing is encrypted.
package meet

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
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
	"hgld/internal/usage"
)

// Times of a group. A process that ends closes its connections at once. A machine that stalls or loses its power says
// nothing.
const (
	beat    = time.Second
	silence = 15 * time.Second // after which a process counts as gone, and a stranger is sent away
	parting = time.Minute      // in which rank 0 leaves after the others
)

// doubt is how long rank 0 may lack the token of a process before the tokens count as different: at first, the rank 0
// of a job that is ending may still have the port. Tests shorten it.
var doubt = time.Minute

const (
	longestMessage = 1 << 20 // since anyone may connect
	mostStrangers  = 256     // that have proved nothing yet; the first of more are sent away
)

// Hello says who a process is.
type Hello struct {
	Rank    int    // its number, from 0
	Ranks   int    // processes of the group
	Version string // of the program; all must have the same
	Job     string // what they compute together; a process of another job is not let in
	Host    string // name of its machine
	PID     int    // number of the process there
	Note    []byte // what else the others shall know; see Notes
}

func (h *Hello) name() string { return fmt.Sprintf("rank %d (%s, process %d)", h.Rank, h.Host, h.PID) }

// message is a line.
type message struct {
	Kind  string
	Bytes []byte `json:",omitempty"` // a nonce, or JSON of what the kind says
	Proof []byte `json:",omitempty"` // of the nonces and Bytes
	Calls int64  `json:",omitempty"` // see Watch
	Busy  string `json:",omitempty"` // see Busy
}

// The kinds of messages.
const (
	hail      = "hail"      // a nonce
	challenge = "challenge" // a nonce
	hello     = "hello"     // a Hello
	welcome   = "welcome"   // a welcoming
	refused   = "refused"   // a refusal
	alive     = "alive"
	done      = "done"
	gone      = "gone" // a loss
	bye       = "bye"
)

type (
	welcoming struct {
		Zero  Hello
		Notes [][]byte
	}
	refusal struct {
		Text   string
		Absent bool // the group is not complete; otherwise the process does not belong to it
	}
	loss struct {
		Who    Hello
		Reason string
	}
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

// AbsentError says that not all processes have come in time.
type AbsentError struct {
	Text string // who is missing
}

// Error says who is missing.
func (e *AbsentError) Error() string { return e.Text }

// Group is the connections of a process: of rank 0 to all others, of another to rank 0.
type Group struct {
	own   Hello
	token []byte
	lost  chan error
	ctx   context.Context // until this process leaves
	stop  context.CancelFunc
	all   sync.WaitGroup
	calls atomic.Pointer[func() int64] // see Watch
	busy  atomic.Pointer[string]       // see Busy
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
	conn   net.Conn
	in     *json.Decoder
	room   *io.LimitedReader
	who    Hello
	nonces []byte       // of both sides
	seen   atomic.Int64 // calls
	busy   atomic.Bool

	mu   sync.Mutex
	out  *json.Encoder
	done chan struct{} // closed when it is done
	left chan struct{} // closed after its bye
}

func newPeer(c net.Conn) *peer {
	room := &io.LimitedReader{R: c, N: longestMessage}
	return &peer{conn: c, in: json.NewDecoder(room), room: room, out: json.NewEncoder(c), done: make(chan struct{}),
		left: make(chan struct{})}
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

// prove sends what a process says with its proof.
func (p *peer) prove(token []byte, kind string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return p.send(message{Kind: kind, Bytes: text, Proof: p.proof(token, kind, text)})
}

// proof is the HMAC of a kind of message, the nonces and the text.
func (p *peer) proof(token []byte, kind string, text []byte) []byte {
	m := hmac.New(sha256.New, token)
	for _, part := range [][]byte{[]byte(kind), p.nonces, text} {
		m.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(part))))
		m.Write(part)
	}
	return m.Sum(nil)
}

func (p *peer) proves(token []byte, m message) bool {
	return hmac.Equal(m.Proof, p.proof(token, m.Kind, m.Bytes))
}

func nonce() []byte {
	text := make([]byte, 32)
	rand.Read(text)
	return text
}

func newGroup(own Hello, token []byte) *Group {
	g := &Group{own: own, token: token, lost: make(chan error, 1), notes: make([][]byte, own.Ranks)}
	g.own.Host, _ = os.Hostname()
	g.own.PID = os.Getpid()
	return g
}

// Join connects to rank 0 at the first of its addresses where it is. own has the rank, the number of ranks, the
// version, the job and the note. If rank 0 is not there within wait, or not all others are, the error is an
// [*AbsentError].
func Join(ctx context.Context, addresses []string, own Hello, token []byte, wait time.Duration) (*Group, error) {
	g := newGroup(own, token)
	within, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var doubted time.Time // the first answer of a rank 0 without the token
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		var failed []error
		for _, address := range addresses {
			err := g.enter(within, address)
			switch {
			case err == nil:
				return g, nil
			case errors.As(err, new(*usage.Error)), errors.As(err, new(*AbsentError)):
				return nil, err
			case errors.Is(err, errToken) && doubted.IsZero():
				doubted = time.Now()
			case errors.Is(err, errToken) && time.Since(doubted) > doubt:
				return nil, &usage.Error{Err: err}
			}
			failed = append(failed, err)
		}
		select { // rank 0 may begin later, or again
		case <-time.After(pause):
		case <-within.Done():
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, &AbsentError{fmt.Sprintf("rank 0 cannot be reached within %v: %v", wait,
				errors.Join(failed...))}
		}
	}
}

var (
	errToken = errors.New("the token differs from that of rank 0")
	errOther = errors.New("another service answers")
)

// enter introduces this process to rank 0 at an address, and waits until all have come.
func (g *Group) enter(ctx context.Context, address string) error {
	c, err := (&net.Dialer{Timeout: silence}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	entered := false
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer func() {
		if stop(); !entered {
			c.Close()
		}
	}()
	at := func(err error) error { return fmt.Errorf("%s: %w", address, err) }
	p := newPeer(c)
	p.nonces = nonce()
	if err := p.send(message{Kind: hail, Bytes: p.nonces}); err != nil {
		return at(err)
	}
	m, err := p.read(silence)
	if err != nil || m.Kind != challenge {
		return at(errOther)
	}
	if p.nonces = append(p.nonces, m.Bytes...); !hmac.Equal(m.Proof, p.proof(g.token, challenge, nil)) {
		return at(errToken)
	}
	if err := p.prove(g.token, hello, g.own); err != nil {
		return at(err)
	}
	deadline, _ := ctx.Deadline()
	if m, err = p.read(time.Until(deadline)); err != nil {
		return at(errors.New("rank 0 left before all had come"))
	}
	if !p.proves(g.token, m) {
		return at(errToken)
	}
	var in welcoming
	var out refusal
	switch {
	case m.Kind == refused && json.Unmarshal(m.Bytes, &out) == nil && out.Absent:
		return &AbsentError{out.Text}
	case m.Kind == refused:
		return &usage.Error{Err: errors.New(out.Text)}
	case m.Kind != welcome || json.Unmarshal(m.Bytes, &in) != nil || len(in.Notes) != g.own.Ranks:
		return at(errOther)
	}
	if !stop() { // ctx has ended
		return ctx.Err()
	}
	p.who, g.notes, g.peers, entered, g.own.Note = in.Zero, in.Notes, []*peer{p}, true, nil
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
			p.send(message{Kind: alive, Calls: g.made(), Busy: g.work()})
		case <-ctx.Done():
			return
		}
	}
}

// watch reads what a process says until it is gone.
func (g *Group) watch(p *peer) {
	defer close(p.left)
	var finished sync.Once
	for {
		m, err := p.read(silence)
		var l loss
		switch {
		case err != nil:
			g.lose(&GoneError{Who: p.who}, p)
			return
		case m.Kind == gone && json.Unmarshal(m.Bytes, &l) == nil: // the peer or, if rank 0 says so, another process
			g.lose(&GoneError{l.Who, l.Reason}, p)
			return
		case m.Kind == bye:
			return
		case m.Kind == done:
			finished.Do(func() { close(p.done) })
			continue
		}
		p.seen.Store(m.Calls)
		p.busy.Store(m.Busy != "")
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
			p.prove(g.token, gone, loss{err.Who, err.Reason})
		}
	}
}

// Done tells rank 0 that this process has done its part.
func (g *Group) Done() error { return g.peers[0].send(message{Kind: done}) }

// Await returns when the others have done their parts, whether or not they have left since. It is for rank 0.
func (g *Group) Await(ctx context.Context) error {
	for _, p := range g.peers {
		select {
		case <-p.done:
		case <-p.left:
			select {
			case <-p.done: // before it left
			default:
				return &GoneError{Who: p.who}
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
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
			p.prove(g.token, gone, loss{g.own, failed.Error()})
			continue
		}
		p.send(message{Kind: bye})
	}
	if failed == nil && g.own.Rank > 0 {
		select {
		case <-g.peers[0].left:
		case <-time.After(parting):
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

// Busy says that this process does work of its own while the others wait for it, until the returned function is called.
// Nobody's patience ends meanwhile.
func (g *Group) Busy(what string) (end func()) {
	g.busy.Store(&what)
	return func() { g.busy.Store(nil) }
}

// work returns what this process is busy with, or "".
func (g *Group) work() string {
	if what := g.busy.Load(); what != nil {
		return *what
	}
	return ""
}

// Watch notices a process that lives and does not go on. calls returns how many collective calls this process has
// begun, which all processes begin equally often. If one of them has begun fewer than the others for longer than
// patience, and no more meanwhile, it counts as gone, unless it says that it is busy.
func (g *Group) Watch(calls func() int64, patience time.Duration) {
	g.calls.Store(&calls)
	if g.own.Rank == 0 {
		g.all.Go(func() {
			defer crash.Guard()
			g.missed(patience)
		})
	}
}

// made returns how many calls this process has begun.
func (g *Group) made() int64 {
	if calls := g.calls.Load(); calls != nil {
		return (*calls)()
	}
	return 0
}

// missed watches the slowest process.
func (g *Group) missed(patience time.Duration) {
	t := time.NewTicker(beat)
	defer t.Stop()
	since := time.Now() // the first look may find one behind
	var last int64
	var slowest int
	for {
		select {
		case <-g.ctx.Done():
			return
		case <-t.C:
		}
		own := g.made() // once: it may grow meanwhile
		who, busy, fewest, most := g.own, g.work() != "", own, own
		for _, p := range g.peers {
			n := p.seen.Load()
			if n < fewest {
				who, busy, fewest = p.who, p.busy.Load(), n
			}
			most = max(most, n)
		}
		if busy || fewest == most || fewest != last || who.Rank != slowest {
			since, last, slowest = time.Now(), fewest, who.Rank
		}
		if waited := time.Since(since); waited > patience {
			g.lose(&GoneError{Who: who, Reason: fmt.Sprintf("the others have waited for it for %v",
				waited.Round(time.Second))}, nil)
			return
		}
	}
}
