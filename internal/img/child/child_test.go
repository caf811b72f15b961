package child

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hgld/internal/testing/must"
)

// testVariable is set in children. Its value names a fault of their start.
const testVariable = "HGLD_TEST_CHILD"

func TestMain(m *testing.M) {
	switch fault, is := os.LookupEnv(testVariable); {
	case !is:
		Allow()
		m.Run()
	case fault == "mute":
		fmt.Println("hello, I am another program")
	default:
		if err := Serve(work); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

var kept [][]byte

// work answers with the data, or has the fault that the head names.
func work(head, data []byte, answer func(int) io.Writer) error {
	switch string(head) {
	case "hang":
		select {}
	case "loop":
		for i := 0; ; i++ {
			kept = kept[:0]
		}
	case "exit":
		os.Exit(3)
	case "panic":
		var none *Task
		none.Memory++
	case "short": // what was promised does not come
		answer(len(data)).Write(data[1:])
		return errors.New("the rest is lost")
	case "long":
		answer(len(data) + 1)
	case "code":
		return &Failure{Code: 7, Text: string(data)}
	case "error":
		return errors.New(strings.Repeat("of what it is ", 1000))
	case "pid":
		data = binary.BigEndian.AppendUint64(nil, uint64(os.Getpid()))
	case "leak", "allocate":
		size := 64 << 20
		if string(head) == "allocate" {
			size = 1 << 30
		}
		more := make([]byte, size)
		for i := 0; i < len(more); i += 4096 {
			more[i] = 1
		}
		kept = append(kept, more)
	case "open":
		_, err := os.Open("/")
		return err
	}
	_, err := answer(len(data)).Write(data)
	return err
}

func newPool() *Pool { return NewPool(testVariable + "=") }

// ask gives one task to a child.
func ask(p *Pool, what, data string) (string, error) {
	answer := make([]byte, len(data))
	err := p.Do(Task{Head: []byte(what), Data: []byte(data), Memory: 96 << 20, Deadline: 5 * time.Minute}, answer)
	return string(answer), err
}

func pid(t *testing.T, p *Pool) int {
	t.Helper()
	answer := must.Get(ask(p, "pid", "12345678"))(t)
	return int(binary.BigEndian.Uint64([]byte(answer)))
}

func TestChildAnswersManyTasks(t *testing.T) {
	p := newPool()
	want := pid(t, p)
	if want == os.Getpid() {
		t.Error("the task was done in this process")
	}
	for _, data := range []string{"", "a", strings.Repeat("0123456789", 1<<20), "short again"} {
		if got, err := ask(p, "", data); err != nil || got != data {
			t.Errorf("%.20q: %.20q, %v", data, got, err)
		}
	}
	_, err := ask(p, "code", "what is wrong")
	if f, is := err.(*Failure); !is || *f != (Failure{7, "what is wrong"}) {
		t.Errorf("error %#v", err)
	}
	if _, err := ask(p, "error", ""); err == nil || len(err.Error()) != longestText {
		t.Errorf("error %v", err)
	}
	if got := pid(t, p); got != want {
		t.Errorf("process %d, want %d again", got, want)
	}
}

func TestEndOfAChildIsNamedAndTheNextTaskGetsAnother(t *testing.T) {
	p := newPool()
	for what, want := range map[string]string{"exit": "the decoder ended: exit status 3",
		"panic": "(panic: runtime error: invalid memory address",
		"short": "the rest is lost", "long": "it answered something else"} {
		before := pid(t, p)
		if _, err := ask(p, what, "data"); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "the decoder ended: ") {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
		if pid(t, p) == before {
			t.Errorf("%s: the process lives on", what)
		}
	}
}

func TestChildThatHangsIsKilled(t *testing.T) {
	p := newPool()
	for _, what := range []string{"hang", "loop"} {
		pid(t, p)
		err := p.Do(Task{Head: []byte(what), Deadline: 500 * time.Millisecond}, nil)
		if err == nil || err.Error() != "the decoder ended: it took longer than 500ms" {
			t.Errorf("%s: %v", what, err)
		}
	}
	pid(t, p)
}

func TestMemoryOfAChildIsBounded(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // other systems do not bound it
	}
	p := newPool()
	// Where Go's runtime, or that of the race detector, does not get memory, it ends in several ways.
	if _, err := ask(p, "allocate", ""); err == nil || !strings.HasPrefix(err.Error(), "the decoder ended: ") {
		t.Errorf("error %v", err)
	}
	// A child that earlier tasks have filled is replaced.
	before := pid(t, p)
	for range 20 {
		if _, err := ask(p, "leak", ""); err != nil {
			t.Fatal(err)
		}
		if pid(t, p) != before {
			return
		}
	}
	t.Error("a child took 20 times the memory of a task")
}

func TestChildOpensNoFiles(t *testing.T) {
	if runtime.GOOS != "linux" {
		return
	}
	if _, err := ask(newPool(), "open", ""); err == nil || !strings.Contains(err.Error(), "too many open files") {
		t.Errorf("error %v", err)
	}
}

func TestChildrenAreNoMoreThanTasksAtOnce(t *testing.T) {
	p := newPool()
	var all sync.WaitGroup
	for i := range 8 * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			data := strings.Repeat(strconv.Itoa(i), 100_000)
			if got, err := ask(p, "", data); err != nil || got != data {
				t.Errorf("%d: another answer, %v", i, err)
			}
		})
	}
	all.Wait()
	if n := len(p.idle); n == 0 || n > runtime.GOMAXPROCS(0) {
		t.Errorf("%d children", n)
	}
}

func TestProgramThatIsNoChildIsAnError(t *testing.T) {
	_, err := ask(NewPool(testVariable+"=mute"), "", "")
	if !errors.Is(err, ErrNoChild) || !strings.Contains(err.Error(), errMalformed.Error()) {
		t.Errorf("error %v", err)
	}
	serves.Store(false)
	defer Allow()
	if _, err := ask(newPool(), "", ""); !errors.Is(err, ErrNoChild) {
		t.Errorf("error %v", err)
	}
}

// The parent's end closes the standard input of a child.
func TestChildEndsWithItsParentInTheMiddleOfATask(t *testing.T) {
	p := newPool()
	c := must.Get(p.start())(t)
	var frame bytes.Buffer
	binary.Write(&frame, binary.BigEndian, head{4, 0, 0})
	frame.WriteString("hang")
	if _, err := c.in.Write(frame.Bytes()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("the child ended by %v", err)
	}
}
