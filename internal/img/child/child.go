// Package child lets a program do work on strangers' bytes in processes of its own executable, so that
// a library that runs wild ends a child and not the program. A child has a limit of memory and a deadline
// per task, opens no files and writes none. It ends with its parent, when its standard input is closed.
//
// This protects from faults of a library: loops, leaks, crashes. It is no sandbox for code that has taken
// over the child, which still has the user's rights.
package child

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hgld/internal/crash"
)

// Task is what a child is to do.
type Task struct {
	Head     []byte        // what is to be done with the data
	Data     []byte        // not changed
	Memory   int64         // bytes that the work may take beside the data
	Deadline time.Duration // after it, the child is killed
}

// Failure is the error of a child that lives on. It takes a Failure from the child's function to the
// caller of [Pool.Do]; of other errors it takes the text.
type Failure struct {
	Code byte   // meant for the caller; 0 for other errors
	Text string // at most 1000 bytes of it
}

// Error is the child's own text.
func (f *Failure) Error() string { return f.Text }

// ErrNoChild is wrapped by the error of a task that no child could be started for.
var ErrNoChild = errors.New("the process that decodes does not start")

// Pool starts children when they are needed, and keeps them for further tasks: as many as there are
// tasks at once, but not more than the processors that Go uses. It is safe for concurrent use.
type Pool struct {
	env   []string
	slots chan struct{}
	mu    sync.Mutex
	idle  []*process
}

// NewPool returns a pool of children with these variables in their environment, from which the program
// knows that it has to call [Serve]. Beside them a child sees only variables of the system's loader.
func NewPool(env ...string) *Pool {
	return &Pool{env: env, slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// inherited are the variables that a child takes over: they say where libraries are.
var inherited = []string{"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "LIBHEIF_PLUGIN_PATH",
	"SYSTEMROOT"}

// mapsLarge makes the C library of Linux give large memory back as soon as it is freed.
const mapsLarge = "MALLOC_MMAP_THRESHOLD_=4194304"

// Do gives a task to a child and fills answer with its result, whose size the caller knows. The error is
// a *Failure if the child answered with one. Otherwise it says how the child ended: in time or not, by
// which signal, or that it answered something else. The next task gets a new child.
//
// If a child ends that did other tasks before, the task is tried again by a new one: what happened may
// be the fault of an earlier task, such as memory that it did not free.
func (p *Pool) Do(t Task, answer []byte) error {
	p.slots <- struct{}{}
	defer func() { <-p.slots }()
	c := p.take()
	for {
		var err error
		if c == nil {
			if c, err = p.start(); err != nil {
				return fmt.Errorf("%w: %w", ErrNoChild, err)
			}
		}
		first := c.tasks == 0
		err = c.do(t, answer)
		if err == nil || errors.As(err, new(*Failure)) {
			if c.full {
				c.in.Close()
				c.waitOrKill()
			} else {
				p.put(c)
			}
			return err
		}
		if late := c.late.Load(); first || late {
			return err
		}
		c = nil
	}
}

func (p *Pool) take() *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	c := p.idle[last]
	p.idle = p.idle[:last]
	return c
}

func (p *Pool) put(c *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, c)
}

// process is a child that waits for tasks.
type process struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
	messages firstBytes // of its standard error
	tasks    int        // that it was given
	full     bool       // it can do no other
	late     atomic.Bool
}

const (
	greeting  = "hgld child 1\n" // a child's first words, once its limits are set
	startTime = time.Minute      // until it says them
)

// start starts a child. It tries again if one ends before it is ready: a signal to all processes of
// a terminal, which a child ignores later, may have come too early.
func (p *Pool) start() (c *process, err error) {
	if !serves.Load() {
		return nil, errors.New("not running as a decoder child process")
	}
	for range 2 {
		if c, err = p.startOnce(); err == nil {
			return c, nil
		}
	}
	return nil, err
}

func (p *Pool) startOnce() (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	const running = "/proc/self/exe" // also if the file has been replaced
	if _, err := os.Stat(running); err == nil {
		program = running
	}
	c := &process{cmd: exec.Command(program)}
	c.cmd.Env = append([]string{"GOMAXPROCS=2", mapsLarge}, p.env...)
	for _, name := range inherited {
		if value, set := os.LookupEnv(name); set {
			c.cmd.Env = append(c.cmd.Env, name+"="+value)
		}
	}
	c.cmd.Stderr, c.cmd.WaitDelay = &c.messages, time.Second
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	text := make([]byte, len(greeting))
	return c, c.within(startTime, func() error {
		if _, err := io.ReadFull(c.out, text); err != nil || string(text) != greeting {
			return errors.Join(err, errMalformed)
		}
		return nil
	})
}

var errMalformed = errors.New("it answered something else")

// within runs a conversation with the child. If that fails or takes too long, the child is killed, and the
// error says how it ended. Time in which this program is stopped, or the machine sleeps, does not count.
func (c *process) within(deadline time.Duration, talk func() error) error {
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer crash.Guard()
		defer close(watched)
		const parts = 20
		tick := time.NewTicker(deadline / parts)
		defer tick.Stop()
		for range parts {
			select {
			case <-done:
				return
			case <-tick.C: // at most one waits here after a stop
			}
		}
		c.late.Store(true)
		c.cmd.Process.Kill()
	}()
	err := talk()
	close(done)
	<-watched
	if err == nil && !c.late.Load() || errors.As(err, new(*Failure)) && !c.late.Load() {
		return err
	}
	return c.end(deadline, err)
}

// end kills the child, if it still lives, and says why it is gone.
func (c *process) end(deadline time.Duration, reason error) error {
	c.in.Close()
	if errors.Is(reason, errMalformed) && !errors.Is(reason, io.EOF) && !errors.Is(reason, io.ErrUnexpectedEOF) {
		c.cmd.Process.Kill()
		c.cmd.Wait()
		return fmt.Errorf("the decoder ended: %w", errMalformed)
	}
	late := c.late.Load()
	err := c.waitOrKill()
	switch {
	case late:
		return fmt.Errorf("the decoder ended: it took longer than %v", deadline)
	case err == nil:
		err = errors.New("without an answer")
	}
	if text := c.messages.line(); text != "" {
		return fmt.Errorf("the decoder ended: %w (%.200s)", err, text)
	}
	return fmt.Errorf("the decoder ended: %w", err)
}

// waitOrKill waits for the end of a child that has closed its output, or is dying.
func (c *process) waitOrKill() error {
	kill := time.AfterFunc(10*time.Second, func() { c.cmd.Process.Kill() })
	defer kill.Stop()
	return c.cmd.Wait()
}

// head begins the frame of a task. The frame goes on with as many bytes of head and data.
type head struct{ Head, Data, Memory int64 }

// The first byte of an answer. Then comes the length of what follows, eight bytes.
const (
	answerResult  = 'r'
	answerFailure = 'f' // a byte for the code, and the text
)

// The last byte of an answer.
const (
	answerReady = '+' // for the next task
	answerEnd   = '-' // the child has no memory for another
)

const longestText = 1000 // of a failure

// do gives a task to the child and reads the answer.
func (c *process) do(t Task, answer []byte) error {
	c.tasks++
	return c.within(t.Deadline, func() error {
		frame := new(bytes.Buffer)
		binary.Write(frame, binary.BigEndian, head{int64(len(t.Head)), int64(len(t.Data)), t.Memory})
		frame.Write(t.Head)
		for _, part := range [][]byte{frame.Bytes(), t.Data} {
			if _, err := c.in.Write(part); err != nil {
				return err
			}
		}
		var first [9]byte
		if _, err := io.ReadFull(c.out, first[:]); err != nil {
			return err
		}
		switch n := binary.BigEndian.Uint64(first[1:]); {
		case first[0] == answerResult && n == uint64(len(answer)):
			if _, err := io.ReadFull(c.out, answer); err != nil {
				return err
			}
			return c.next()
		case first[0] == answerFailure && n >= 1 && n <= longestText+1:
			text := make([]byte, n)
			if _, err := io.ReadFull(c.out, text); err != nil {
				return err
			}
			if err := c.next(); err != nil {
				return err
			}
			return &Failure{text[0], string(text[1:])}
		}
		return errMalformed
	})
}

// next reads the end of an answer.
func (c *process) next() error {
	last, err := c.out.ReadByte()
	if err == nil && last != answerReady && last != answerEnd {
		err = errMalformed
	}
	c.full = last == answerEnd
	return err
}

// firstBytes keeps the beginning of what is written to it.
type firstBytes struct {
	mu   sync.Mutex
	text []byte
}

func (f *firstBytes) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text = append(f.text, p[:min(len(p), longestText-len(f.text))]...)
	return len(p), nil
}

// line returns the first line.
func (f *firstBytes) line() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	text, _, _ := strings.Cut(strings.TrimSpace(string(f.text)), "\n")
	return strings.ToValidUTF8(text, "?")
}
