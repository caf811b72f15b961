// Package external runs a loss in a process of another program. It starts the process, sends it the batches
// of a training and checks its answers; docs/external-loss.md specifies the conversation. A process that ends,
// answers too late or answers something else is ended, and the error has the last lines of its standard error.
package external

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hgld/internal/crash"
	"hgld/internal/tensorfile"
	"hgld/train/loss"
)

// Version is the version of the conversation.
const Version = 1

// Keys of a frame's metadata that belong to the conversation.
const (
	messageKey = "message"
	errorKey   = "error"
)

// greatestAnswer bounds an answer, and greatestState a state, in bytes.
const (
	greatestAnswer = 1 << 30
	greatestState  = 16 << 30
)

// Error says that the process of a loss failed.
type Error struct {
	Command []string // program and arguments
	Reason  error    // what happened
	Words   string   // the last that the process wrote to its standard error
}

// Error names the command and ends with the last words of the process.
func (e *Error) Error() string {
	text := fmt.Sprintf("loss external: %s: %v", Words(e.Command), e.Reason)
	if e.Words != "" {
		text += "; its last words:\n" + e.Words
	}
	return text
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Reason }

// Words writes a command for readers.
func Words(command []string) string {
	words := slices.Clone(command)
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\$`;&|<>()*?[]#~") {
			words[i] = strconv.Quote(w)
		}
	}
	return strings.Join(words, " ")
}

// Process is a running process.
type Process struct {
	command []string
	limit   time.Duration
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	words   lastWords
	late    atomic.Bool
	failed  error
}

// Start starts the process of a loss in a folder, "" for the current one, and tells it about the data.
func Start(l *loss.ExternalLoss, folder string, seed uint64) (*Process, error) {
	k := l.Kind
	p := &Process{command: k.Command, limit: time.Duration(k.Timeout * float64(time.Second))}
	p.cmd = exec.Command(k.Command[0], k.Command[1:]...)
	p.cmd.Dir, p.cmd.Stderr, p.cmd.WaitDelay = folder, &p.words, time.Second
	Separate(p.cmd)
	fail := func(err error) (*Process, error) { return nil, &Error{Command: k.Command, Reason: err} }
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return fail(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return fail(err)
	}
	p.out = bufio.NewReaderSize(out, 1<<16)
	if err := p.cmd.Start(); err != nil {
		return fail(err)
	}
	about, tensors, err := greeting(&l.Facts, seed)
	if err == nil {
		_, err = p.talk("start", tensors, about, greatestAnswer)
	}
	return p, err
}

// greeting returns metadata and tensors of the first frame.
func greeting(f *loss.Facts, seed uint64) (map[string]string, []tensorfile.Tensor, error) {
	classes, err := json.Marshal(f.Classes)
	if err != nil {
		return nil, nil, err
	}
	about := map[string]string{"version": strconv.Itoa(Version), "num_classes": string(classes),
		"dim": strconv.Itoa(f.Dim), "batch": strconv.Itoa(f.Batch), "memory": strconv.Itoa(f.Memory),
		"seed": strconv.FormatUint(seed, 10)}
	levels := len(f.Classes)
	paths := make([]byte, 0, 4*len(f.Paths)*levels)
	for _, p := range f.Paths {
		for level := range levels {
			class := int32(-1)
			if level < len(p) {
				class = p[level]
			}
			paths = binary.LittleEndian.AppendUint32(paths, uint32(class))
		}
	}
	hierarchy := tensorfile.Tensor{Name: "hierarchy", DType: "I32", Shape: []int{len(f.Paths), levels}, Data: paths}
	return about, []tensorfile.Tensor{hierarchy}, nil
}

// Compute sends a batch, and reads value and gradients.
func (p *Process) Compute(b *loss.HostBatch) (float32, error) {
	about := map[string]string{"seed": fmt.Sprint(b.Seed), "step": fmt.Sprint(b.Step)}
	if b.MemoryWeight != 0 {
		about["memory_weight"] = strconv.FormatFloat(float64(b.MemoryWeight), 'g', -1, 32)
	}
	var tensors []tensorfile.Tensor
	for _, a := range b.Arrays {
		tensors = append(tensors, tensorfile.Tensor{Name: a.Name, DType: a.Type.String(), Shape: a.Dims, Data: a.Data})
	}
	answer, err := p.talk("step", tensors, about, greatestAnswer)
	if err != nil {
		return 0, err
	}
	v, err := numbersOf(answer, "value", nil)
	if err != nil {
		return 0, p.end(err)
	}
	for _, g := range b.Gradients {
		values, err := numbersOf(answer, g.Name, g.Dims)
		if err != nil {
			return 0, p.end(err)
		}
		for i, x := range values {
			binary.LittleEndian.PutUint32(g.Data[4*i:], math.Float32bits(x))
		}
	}
	if extra := len(answer.Names()) - 1 - len(b.Gradients); extra > 0 {
		return 0, p.end(fmt.Errorf("it answered the tensors %.200q, want only value and the gradients", answer.Names()))
	}
	return v[0], nil
}

// numbersOf returns a tensor of an answer, which must be finite and of these dimensions; nil: one number.
func numbersOf(answer *tensorfile.File, name string, dims []int) ([]float32, error) {
	dtype, shape, err := answer.Shape(name)
	if err != nil {
		return nil, fmt.Errorf("its answer has no tensor %s", name)
	}
	count := 1
	for _, d := range shape {
		count *= d
	}
	if !slices.Equal(shape, dims) && (dims != nil || count != 1) || dtype != "F32" {
		return nil, fmt.Errorf("it answered %s of %s %v, want F32 %v", name, dtype, shape, dims)
	}
	values, err := answer.Float32(name)
	if err != nil {
		return nil, err
	}
	for i, x := range values {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil, fmt.Errorf("it answered %v at element %d of %s", x, i, name)
		}
	}
	return values, nil
}

// State asks for what a later Restore needs, as a safetensors file.
func (p *Process) State() ([]byte, error) {
	answer, err := p.talk("state", nil, nil, greatestState)
	if err != nil {
		return nil, err
	}
	var tensors []tensorfile.Tensor
	for _, name := range answer.Names() {
		t, err := answer.Tensor(name)
		if err != nil {
			return nil, p.end(err)
		}
		tensors = append(tensors, t)
	}
	meta := answer.Metadata
	delete(meta, messageKey)
	var file bytes.Buffer
	if err := tensorfile.WriteSafetensors(&file, tensors, meta); err != nil {
		return nil, p.end(err)
	}
	return file.Bytes(), nil
}

// Restore hands back what State returned.
func (p *Process) Restore(state []byte) error {
	f, err := tensorfile.ReadSafetensors(bytes.NewReader(state), int64(len(state)))
	if err != nil {
		return err
	}
	var tensors []tensorfile.Tensor
	for _, name := range f.Names() {
		t, err := f.Tensor(name)
		if err != nil {
			return err
		}
		tensors = append(tensors, t)
	}
	_, err = p.talk("restore", tensors, f.Metadata, greatestAnswer)
	return err
}

// Close ends the process: it closes its standard input, waits some seconds, and kills it.
func (p *Process) Close() error {
	if p.failed == nil {
		p.failed = errors.New("it was closed")
		p.in.Close()
		p.wait()
	}
	return nil
}

// talk sends a message and returns the answer.
func (p *Process) talk(message string, tensors []tensorfile.Tensor, about map[string]string, most uint64) (
	answer *tensorfile.File, err error) {
	if p.failed != nil {
		return nil, p.failed
	}
	meta := map[string]string{messageKey: message}
	for k, v := range about {
		meta[k] = v
	}
	var body bytes.Buffer
	body.Write(make([]byte, 8))
	if err := tensorfile.WriteSafetensors(&body, tensors, meta); err != nil {
		return nil, err
	}
	frame := body.Bytes()
	binary.LittleEndian.PutUint64(frame, uint64(len(frame)-8))
	err = p.within(func() error {
		if _, err := p.in.Write(frame); err != nil {
			return fmt.Errorf("it does not read: %w", err)
		}
		answer, err = readFrame(p.out, most)
		return err
	})
	if err != nil {
		return nil, p.end(err)
	}
	if text, failed := answer.Metadata[errorKey]; failed {
		return nil, p.end(fmt.Errorf("%.1000s", text))
	}
	return answer, nil
}

// readFrame reads the length of a safetensors file, and the file.
func readFrame(r io.Reader, most uint64) (*tensorfile.File, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n > most {
		return nil, fmt.Errorf("its answer begins with %.8q, which is a length of %d bytes, want at most %d; does it "+
			"print to its standard output?", head, n, most)
	}
	var body bytes.Buffer // which grows with what comes
	if _, err := io.CopyN(&body, r, int64(n)); err != nil {
		return nil, err
	}
	f, err := tensorfile.ReadSafetensors(bytes.NewReader(body.Bytes()), int64(n))
	if err != nil {
		return nil, fmt.Errorf("its answer: %w", err)
	}
	return f, nil
}

// within runs a part of the conversation, and kills the process if it takes too long. Time in which this
// program is stopped, or the machine sleeps, does not count.
func (p *Process) within(talk func() error) error {
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer crash.Guard()
		defer close(watched)
		const parts = 20
		tick := time.NewTicker(max(p.limit/parts, time.Millisecond))
		defer tick.Stop()
		for range parts {
			select {
			case <-done:
				return
			case <-tick.C: // at most one waits here after a stop
			}
		}
		p.late.Store(true)
		kill(p.cmd)
	}()
	err := talk()
	close(done)
	<-watched
	return err
}

// end ends the process after a failure, and returns the error that every later call returns.
func (p *Process) end(reason error) error {
	if p.failed != nil {
		return p.failed
	}
	p.in.Close()
	gone := errors.Is(reason, io.EOF) || errors.Is(reason, io.ErrUnexpectedEOF) || isPipe(reason)
	if !gone {
		kill(p.cmd)
	}
	err := p.wait()
	switch {
	case p.late.Load():
		reason = fmt.Errorf("it took longer than %v for an answer", p.limit)
	case gone && err != nil:
		reason = fmt.Errorf("it ended: %w", err)
	case gone:
		reason = errors.New("it ended without an answer")
	}
	p.failed = &Error{Command: p.command, Reason: reason, Words: p.words.String()}
	return p.failed
}

// wait waits for the end of the process, and kills it after some seconds.
func (p *Process) wait() error {
	after := time.AfterFunc(5*time.Second, func() { kill(p.cmd) })
	defer after.Stop()
	return p.cmd.Wait()
}

// lastWords keeps the end of what is written to it.
type lastWords struct {
	mu   sync.Mutex
	text []byte
}

const longestWords = 4000

func (w *lastWords) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p[max(len(p)-longestWords, 0):]...)
	w.text = w.text[max(len(w.text)-longestWords, 0):]
	return len(p), nil
}

// String returns whole lines, at most 30.
func (w *lastWords) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.ToValidUTF8(strings.TrimSpace(string(w.text)), "?")
	lines := strings.Split(text, "\n")
	if len(w.text) == longestWords && len(lines) > 1 {
		lines = lines[1:]
	}
	return strings.Join(lines[max(len(lines)-30, 0):], "\n")
}

var _ loss.Process = (*Process)(nil)
