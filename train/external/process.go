// Package external runs other programs: a loss in a process, and a command that is asked once. It starts the
// process of a loss, sends it the batches of a training and checks its answers; docs/external-loss.md specifies the
// conversation. A process that ends, answers too late or answers something else is ended, and the error has the last
// lines of its standard error.
package external

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"runtime"
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
	stepKey    = "step"
	errorKey   = "error"
)

// greatestHeader bounds what an answer has beside its numbers, and greatestState a state, in bytes.
const (
	greatestHeader = 1 << 20
	greatestState  = 16 << 30
)

// Error says that a process failed.
type Error struct {
	What    string   // what it is for, such as "loss external"
	Command []string // program and arguments
	Reason  error    // what happened
	Words   string   // the last that the process wrote to its standard error
}

// lossExternal is what a Process is for.
const lossExternal = "loss external"

// Error names the command and ends with the last words of the process.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s: %v", e.What, Words(e.Command), e.Reason)
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
	out     *os.File
	words   lastWords
	late    atomic.Bool
	failed  error

	ended   chan struct{} // closed when the process has ended
	outcome error         // of the process; valid once it has ended
}

// Start starts the process of a loss in a folder, "" for the current one, and tells it about the data.
func Start(l *loss.ExternalLoss, folder string, seed uint64) (*Process, error) {
	k := l.Kind
	p := &Process{command: k.Command, limit: time.Duration(k.Timeout * float64(time.Second))}
	p.cmd = exec.Command(k.Command[0], k.Command[1:]...)
	p.cmd.Dir, p.cmd.Stderr, p.cmd.WaitDelay = folder, &p.words, time.Second
	Separate(p.cmd)
	fail := func(err error) (*Process, error) {
		return nil, &Error{What: lossExternal, Command: k.Command, Reason: err}
	}
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return fail(err)
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	p.out, p.cmd.Stdout = out, theirs
	err = p.cmd.Start()
	theirs.Close()
	if err != nil {
		out.Close()
		return fail(err)
	}
	p.ended = make(chan struct{})
	go func() {
		defer crash.Guard()
		p.await()
	}()
	about, tensors, err := greeting(&l.Facts, seed)
	if err == nil {
		_, err = p.talk("start", tensors, about, greatestHeader)
	}
	return p, err
}

// drained is how long what an ended process has written is still read: another process may hold its output open.
const drained = time.Second

// await waits for the end of the process, after which its output ends soon.
func (p *Process) await() {
	p.outcome = p.cmd.Wait()
	close(p.ended)
	p.out.SetReadDeadline(time.Now().Add(drained))
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
	about := map[string]string{"seed": fmt.Sprint(b.Seed), stepKey: fmt.Sprint(b.Step)}
	if b.MemoryWeight != 0 {
		about["memory_weight"] = strconv.FormatFloat(float64(b.MemoryWeight), 'g', -1, 32)
	}
	var tensors []tensorfile.Tensor
	for _, a := range b.Arrays {
		tensors = append(tensors, tensorfile.Tensor{Name: a.Name, DType: a.Type.String(), Shape: a.Dims, Data: a.Data})
	}
	most := uint64(greatestHeader)
	for _, g := range b.Gradients {
		most += uint64(len(g.Data))
	}
	answer, err := p.talk("step", tensors, about, most)
	if err != nil {
		return 0, err
	}
	if step, named := answer.Metadata[stepKey]; named && step != about[stepKey] {
		return 0, p.end(fmt.Errorf("it answered step %.20q, but this is step %s", step, about[stepKey]))
	}
	v, err := numbersOf(answer.File, "value", nil)
	if err != nil {
		return 0, p.end(err)
	}
	for _, g := range b.Gradients {
		values, err := numbersOf(answer.File, g.Name, g.Dims)
		if err != nil {
			return 0, p.end(err)
		}
		copy(g.Data, values)
	}
	if extra := len(answer.Names()) - 1 - len(b.Gradients); extra > 0 {
		return 0, p.end(fmt.Errorf("it answered the tensors %.200q, want only value and the gradients", answer.Names()))
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(v)), nil
}

// numbersOf returns the numbers of a tensor of an answer, which must be finite and of these dimensions; nil: one number.
func numbersOf(answer *tensorfile.File, name string, dims []int) ([]byte, error) {
	t, err := answer.Tensor(name)
	if err != nil {
		return nil, fmt.Errorf("its answer has no tensor %s", name)
	}
	if !slices.Equal(t.Shape, dims) && (dims != nil || t.Len() != 1) || t.DType != "F32" {
		return nil, fmt.Errorf("it answered %s of %s %v, want F32 %v", name, t.DType, t.Shape, dims)
	}
	if i := t.NotFinite(); i >= 0 {
		x := math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:]))
		return nil, fmt.Errorf("it answered %v at element %d of %s", x, i, name)
	}
	return t.Data, nil
}

// State asks for what a later Restore needs, as a safetensors file.
func (p *Process) State() ([]byte, error) {
	answer, err := p.talk("state", nil, nil, greatestState)
	if err != nil {
		return nil, err
	}
	if err := answer.dropMessage(); err != nil {
		return nil, p.end(err)
	}
	return answer.body, nil
}

// Restore hands back what State returned.
func (p *Process) Restore(state []byte) error {
	f, err := tensorfile.ParseSafetensors(state)
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
	_, err = p.talk("restore", tensors, f.Metadata, greatestHeader)
	return err
}

// Close ends the process: it closes its standard input, waits some seconds, and kills it.
func (p *Process) Close() error {
	if p.failed == nil {
		p.failed = errors.New("it was closed")
		p.in.Close()
		p.wait()
		p.out.Close()
	}
	return nil
}

// talk sends a message and returns the answer.
func (p *Process) talk(message string, tensors []tensorfile.Tensor, about map[string]string, most uint64) (
	answer *frame, err error) {
	if p.failed != nil {
		return nil, p.failed
	}
	if err := p.unasked(); err != nil {
		return nil, p.end(err)
	}
	meta := maps.Clone(about)
	if meta == nil {
		meta = map[string]string{}
	}
	meta[messageKey] = message
	size := greatestHeader
	for _, t := range tensors {
		size += len(t.Data)
	}
	var body bytes.Buffer
	body.Grow(size)
	body.Write(make([]byte, 8))
	if err := tensorfile.WriteSafetensors(&body, tensors, meta); err != nil {
		return nil, err
	}
	sent := body.Bytes()
	binary.LittleEndian.PutUint64(sent, uint64(len(sent)-8))
	err = p.within(func() error {
		if _, err := p.in.Write(sent); err != nil {
			return fmt.Errorf("it does not read: %w", err)
		}
		if answer, err = readFrame(p.out, most); err != nil {
			return err
		}
		return p.unasked()
	})
	if err != nil {
		return nil, p.end(err)
	}
	if text, failed := answer.Metadata[errorKey]; failed {
		return nil, p.end(fmt.Errorf("%.1000s", text))
	}
	return answer, nil
}

// unasked returns an error if the process has written something that answers no request, such as a second answer.
func (p *Process) unasked() error {
	var more [8]byte
	n := waiting(p.out, more[:])
	if n > 0 {
		return fmt.Errorf("it wrote %.8q after its answer: want one answer to each request, and nothing else on its "+
			"standard output", more[:n])
	}
	return nil
}

// frame is a message of the process.
type frame struct {
	*tensorfile.File
	body []byte // the file
}

// readFrame reads the length of a safetensors file, and the file.
func readFrame(r io.Reader, most uint64) (*frame, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n > most {
		return nil, fmt.Errorf("its answer begins with %.8q, which is a length of %d bytes, want at most %d; does it "+
			"print to its standard output?", head, n, most)
	}
	body, err := readExactly(r, int(n))
	if err != nil {
		return nil, err
	}
	f, err := tensorfile.ParseSafetensors(body)
	if err != nil {
		return nil, fmt.Errorf("its answer: %w", err)
	}
	return &frame{f, body}, nil
}

// believed is how many bytes are reserved for what is only announced.
const believed = 16 << 20

// readExactly reads n bytes into memory of that size. The memory for much more than has come is not reserved.
func readExactly(r io.Reader, n int) ([]byte, error) {
	body := make([]byte, min(n, believed))
	for got := 0; ; {
		if _, err := io.ReadFull(r, body[got:]); err != nil {
			return nil, err
		}
		if got = len(body); got == n {
			return body, nil
		}
		if got >= believed { // the rest is believed: what was announced keeps coming
			runtime.GC() // the answer before would stay until the heap has doubled
			whole := make([]byte, n)
			copy(whole, body)
			body = whole
		}
	}
}

// dropMessage removes the message from the metadata of the file, whose header keeps its length.
func (f *frame) dropMessage() error {
	n := binary.LittleEndian.Uint64(f.body)
	header := f.body[8 : 8+n]
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(header, &entries); err != nil {
		return err
	}
	meta := maps.Clone(f.Metadata)
	delete(meta, messageKey)
	delete(entries, "__metadata__")
	if len(meta) > 0 {
		text, err := json.Marshal(meta)
		if err != nil {
			return err
		}
		entries["__metadata__"] = text
	}
	text, err := json.Marshal(entries)
	if err != nil || len(text) > len(header) {
		return errors.Join(err, errors.New("the header of its state cannot be written again"))
	}
	copy(header, append(text, bytes.Repeat([]byte(" "), len(header)-len(text))...))
	return nil
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
		p.in.Close() // another process may hold the other ends
		p.out.Close()
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
	gone := errors.Is(reason, io.EOF) || errors.Is(reason, io.ErrUnexpectedEOF) ||
		errors.Is(reason, os.ErrDeadlineExceeded) || isPipe(reason)
	if !gone {
		kill(p.cmd)
	}
	err := p.wait()
	p.out.Close()
	switch {
	case p.late.Load():
		reason = fmt.Errorf("it took longer than %v for an answer", p.limit)
	case gone && err != nil:
		reason = fmt.Errorf("it ended: %w", err)
	case gone:
		reason = errors.New("it ended without an answer")
	}
	p.failed = &Error{What: lossExternal, Command: p.command, Reason: reason, Words: p.words.String()}
	return p.failed
}

// wait waits for the end of the process, and kills it after some seconds.
func (p *Process) wait() error {
	after := time.AfterFunc(5*time.Second, func() { kill(p.cmd) })
	defer after.Stop()
	<-p.ended
	return p.outcome
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
