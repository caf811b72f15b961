package child

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"hgld/internal/crash"
)

// serves is set where the program would have called Serve, had it been started as a child.
var serves atomic.Bool

// Allow lets this program start children. It is called where a child calls [Serve] instead.
func Allow() { serves.Store(true) }

// Work does a task. It calls answer once with the size of its result, and writes the result to the
// writer. It may return an error instead.
type Work func(head, data []byte, answer func(size int) io.Writer) error

// Serve makes this process a child: it does the tasks that come over standard input, until that is closed.
// work was prepared before: from here on, the process opens no file.
func Serve(work Work) error {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // the parent finishes what it began
	time.Sleep(time.Nanosecond)                                  // the first timer opens files
	memory, err := limit()
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	out.WriteString(greeting)
	if err := out.Flush(); err != nil {
		return err
	}
	s := &server{work: work, out: out, memory: memory, tasks: make(chan task), done: make(chan struct{}, 1)}
	go func() {
		defer crash.Guard()
		s.loop()
	}()
	return s.read(os.Stdin)
}

// server does one task after the other, while it waits for more input: its end ends a task, too.
type server struct {
	work   Work
	out    *bufio.Writer
	memory *memory
	tasks  chan task
	done   chan struct{} // one for each task
}

type task struct{ head, data []byte }

const (
	longestHead = 1 << 10
	longestData = 1 << 30
)

// read reads frames. It returns at the end of the input, even in the middle of a task.
func (s *server) read(in io.Reader) error {
	var buffer []byte // of the last task
	for first := true; ; first = false {
		var h head
		if err := binary.Read(in, binary.BigEndian, &h); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if !first {
			<-s.done
		}
		if h.Head < 0 || h.Head > longestHead || h.Data < 0 || h.Data > longestData || h.Memory < 0 {
			return fmt.Errorf("a task of %d and %d bytes with %d of memory", h.Head, h.Data, h.Memory)
		}
		// The data are here, at their last place in the heap, and in the library.
		if err := s.memory.allow(4*h.Data + h.Memory); err != nil {
			return err
		}
		n := int(h.Head + h.Data)
		if n > cap(buffer) {
			buffer = nil
			runtime.GC() // what it leaves counts as used
			buffer = make([]byte, n)
		}
		buffer = buffer[:n]
		if _, err := io.ReadFull(in, buffer); err != nil {
			return err
		}
		s.tasks <- task{buffer[:h.Head], buffer[h.Head:]}
	}
}

func (s *server) loop() {
	for t := range s.tasks {
		if err := s.do(t); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Stdout.Close() // the parent waits for the rest of an answer
		}
		s.done <- struct{}{}
	}
}

// do answers a task. After its error, no other answer can follow.
func (s *server) do(t task) error {
	begun := false
	begin := func(kind byte, size int) {
		s.out.WriteByte(kind)
		binary.Write(s.out, binary.BigEndian, uint64(size))
	}
	err := s.work(t.head, t.data, func(size int) io.Writer {
		begun = true
		begin(answerResult, size)
		return s.out
	})
	if err != nil && begun {
		return err
	}
	if err != nil {
		f := &Failure{Text: err.Error()}
		errors.As(err, &f)
		text := f.Text[:min(len(f.Text), longestText)]
		begin(answerFailure, 1+len(text))
		s.out.WriteByte(f.Code)
		s.out.WriteString(text)
	}
	next := byte(answerReady)
	if s.memory.full() {
		next = answerEnd
	}
	s.out.WriteByte(next)
	return s.out.Flush()
}
