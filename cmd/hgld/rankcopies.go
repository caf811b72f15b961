package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"hgld/internal/crash"
	"hgld/internal/launcher"
	"hgld/internal/rendezvous"
	"hgld/train/device"
	"hgld/train/external"
)

// spread starts a process for each other card of a device that names several, such as cuda:0-7. This process is then
// rank 0. A process that was started so takes its card of the list.
func (j *job) spread(name string) error {
	group, err := device.ParseGroup(name)
	if err != nil || group == nil {
		return err
	}
	cards := group.Cards
	if at := slices.IndexFunc(j.cards, func(k device.Kind) bool { return k.Name == group.Kind }); cards == nil {
		if at < 0 {
			err = errors.New("this build of hgld does not support it")
		} else {
			cards, err = j.cards[at].Usable()
		}
		if err != nil {
			return withHint(withCode(exitNoGPU, &device.UnusableError{Device: name, Err: err}),
				"hgld doctor lists the devices of this machine; --device cpu uses the CPU")
		}
	}
	own := 0
	switch {
	case j.ranks != nil:
		if own = j.ranks.place.Local; own >= len(cards) {
			return usagef("rank %d is process %d of its machine, and device %s has %d cards", j.ranks.place.Rank, own, name,
				len(cards))
		}
	case len(cards) > 1 && os.Getenv(launcher.Variable) == "off":
		return usagef("device %s starts a process for each card, and %s is off", name, launcher.Variable)
	case len(cards) > 1:
		r := &ranks{place: &launcher.Place{Ranks: len(cards), Launcher: launcher.Own}}
		if r.copies, err = startCopies(r.place); err != nil {
			return err
		}
		j.ranks = r
	}
	j.card = fmt.Sprintf("%s:%d", group.Kind, cards[own])
	return nil
}

// copies are the processes that rank 0 has started for the other cards of its machine.
type copies struct {
	listener net.Listener
	started  []*os.Process
	ended    sync.WaitGroup
	failed   chan struct{} // closed when first is set

	mu    sync.Mutex
	first *copyError // the first that ended with an error
}

// copyError says that a process which rank 0 has started has ended.
type copyError struct {
	rank, pid int
	state     *os.ProcessState
	words     []byte // the last that it wrote
}

// Error names the process.
func (e *copyError) Error() string {
	return fmt.Sprintf("rank %d (process %d) has ended: %v", e.rank, e.pid, e.state)
}

// startCopies starts the other processes of a place with the arguments of this one. They are told where rank 0 listens.
func startCopies(p *launcher.Place) (*copies, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &copies{failed: make(chan struct{})}
	if c.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	p.Address = c.listener.Addr().String()
	token := make([]byte, 32)
	rand.Read(token)
	if err := os.Setenv(tokenVariable, hex.EncodeToString(token)); err != nil {
		return nil, err
	}
	for rank := 1; rank < p.Ranks; rank++ {
		place := *p
		place.Rank = rank
		words := &lastWords{}
		cmd := &exec.Cmd{Path: self, Args: os.Args, Env: append(os.Environ(), place.Variables()...), Stderr: words}
		cmd.Stdout = os.Stderr      // what libraries print
		cmd.WaitDelay = time.Second // for its own processes, which may hold stderr
		external.Separate(cmd)      // rank 0 gets the signals of a terminal, and all stop with it
		if err := cmd.Start(); err != nil {
			c.kill()
			return nil, errors.Join(err, c.listener.Close())
		}
		c.started = append(c.started, cmd.Process)
		c.ended.Go(func() {
			defer crash.Guard()
			cmd.Wait()
			c.end(&copyError{rank, cmd.Process.Pid, cmd.ProcessState, words.text})
		})
	}
	return c, nil
}

// end notes that a process has ended.
func (c *copies) end(e *copyError) {
	if code := e.state.ExitCode(); code == exitOK || code == exitInterrupted {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first == nil {
		c.first = e
		close(c.failed)
	}
}

// accept waits for the processes, or until one of them ends.
func (c *copies) accept(ctx context.Context, own rendezvous.Hello, token []byte, stderr io.Writer) (*rendezvous.Group,
	error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer crash.Guard()
		select {
		case <-c.failed:
			cancel()
		case <-ctx.Done():
		}
	}()
	g, err := rendezvous.Accept(ctx, c.listener, own, token)
	select {
	case <-c.failed:
	default:
		return g, err
	}
	if err == nil {
		return g, nil // which notices it, too
	}
	stderr.Write(c.first.words)
	code := c.first.state.ExitCode()
	if code < 0 { // killed by a signal
		code = exitTemporary
	}
	return nil, withCode(code, c.first)
}

// lastWords writes what is known of a process that is gone without a word to the group.
func (c *copies) lastWords(stderr io.Writer) {
	if c == nil {
		return
	}
	select {
	case <-c.failed:
		stderr.Write(c.first.words)
		fmt.Fprintf(stderr, "hgld: %v\n", c.first)
	case <-time.After(grace): // the system tells a parent later than a connection
	}
}

func (c *copies) kill() {
	for _, p := range c.started {
		p.Kill()
	}
}

// close returns when the processes have ended, which they do when rank 0 has left the group. Those that it has not met
// are killed.
func (c *copies) close(met bool) {
	if c == nil {
		return
	}
	if !met {
		c.kill()
	}
	defer time.AfterFunc(time.Minute, c.kill).Stop()
	c.ended.Wait()
}

// lastWords keeps the end of what a process writes.
type lastWords struct{ text []byte }

// mostWords is how many bytes are kept.
const mostWords = 64 << 10

// Write keeps p.
func (w *lastWords) Write(p []byte) (int, error) {
	w.text = append(w.text, p...)
	if extra := len(w.text) - mostWords; extra > 0 {
		w.text = append(w.text[:0], w.text[extra:]...)
	}
	return len(p), nil
}
