package ranks

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
	"sync"
	"time"

	"hgld/internal/crash"
	"hgld/internal/ranks/launch"
)

// copies are the processes that rank 0 has started for the other GPUs of its machine.
type copies struct {
	program  Program
	listener net.Listener
	started  []*os.Process
	ended    sync.WaitGroup
	failed   chan struct{} // closed when first is set

	mu    sync.Mutex
	first *EndedError // the first that ended with an error
}

// EndedError reports that a process which rank 0 has started has ended.
type EndedError struct {
	Rank, PID int              // of the process
	State     *os.ProcessState // how it ended
	Code      int              // the exit code for this process

	words []byte // the last that it wrote
}

// Error names the process.
func (e *EndedError) Error() string {
	return fmt.Sprintf("rank %d (process %d) has ended: %v", e.Rank, e.PID, e.State)
}

// startCopies starts the other processes of a place with the arguments of this one. They are told where rank 0 listens.
func startCopies(p *launch.Place, program Program) (*copies, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &copies{program: program, failed: make(chan struct{})}
	if c.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	p.Address = c.listener.Addr().String()
	token := make([]byte, 32)
	rand.Read(token)
	if err := os.Setenv(TokenVariable, hex.EncodeToString(token)); err != nil {
		return nil, err
	}
	for rank := 1; rank < p.Ranks; rank++ {
		place := *p
		place.Rank = rank
		words := &lastWords{}
		cmd := &exec.Cmd{Path: self, Args: program.Args, Env: append(os.Environ(), place.Variables()...), Stderr: words}
		cmd.Stdout = os.Stderr      // what libraries print
		cmd.WaitDelay = time.Second // for its own processes, which may hold stderr
		program.Separate(cmd)       // rank 0 gets the signals of a terminal, and all stop with it
		if err := cmd.Start(); err != nil {
			c.kill()
			return nil, errors.Join(err, c.listener.Close())
		}
		c.started = append(c.started, cmd.Process)
		c.ended.Go(func() {
			defer crash.Guard()
			cmd.Wait()
			c.end(&EndedError{rank, cmd.Process.Pid, cmd.ProcessState, cmd.ProcessState.ExitCode(), words.text})
		})
	}
	return c, nil
}

// end notes that a process has ended.
func (c *copies) end(e *EndedError) {
	if c.program.Stopped(e.Code) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.Code < 0 { // killed by a signal
		e.Code = c.program.Failed
	}
	if c.first == nil {
		c.first = e
		close(c.failed)
	}
}

// accept calls join, which waits for the processes, and ends it if one of them ends.
func (c *copies) accept(ctx context.Context, join func(context.Context, net.Listener) error) error {
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
	err := join(ctx, c.listener)
	select {
	case <-c.failed:
	default:
		return err
	}
	if err == nil {
		return nil // the group notices it, too
	}
	c.program.Stderr.Write(c.first.words)
	return c.first
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
