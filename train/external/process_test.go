package external

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/loss"
)

// program says, in the environment, that the test binary is the program of a loss, and what it does wrong.
const program = "HGLD_TEST_LOSS"

func TestMain(m *testing.M) {
	if does := os.Getenv(program); does != "" {
		os.Unsetenv(program)
		run(does)
		return
	}
	os.Exit(m.Run())
}

// run is a program whose loss in step k is k. The gradient is .5.
func run(does string) {
	if does == "hang" || does == "leave" { // another process keeps the output open
		child := exec.Command("sleep", "120")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		Separate(child)
		if child.Start() != nil || does == "leave" {
			return
		}
	}
	for {
		f, err := readFrame(os.Stdin, math.MaxInt64)
		if err != nil {
			return
		}
		step := f.Metadata[stepKey]
		var k float32
		fmt.Sscan(step, &k)
		answer, meta := []tensorfile.Tensor(nil), map[string]string{}
		switch message := f.Metadata[messageKey]; {
		case message == "step" && does == "hang":
			time.Sleep(2 * time.Minute)
		case message == "step":
			_, shape, _ := f.Shape("query")
			answer = []tensorfile.Tensor{tensorfile.NewF32("value", nil, []float32{k}),
				tensorfile.NewF32("query_gradient", shape, halves(shape[0]*shape[1]))}
			if does == "echo" {
				meta[stepKey] = step
			} else if does == "behind" {
				meta[stepKey] = "1"
			}
		case message == "state":
			answer = []tensorfile.Tensor{tensorfile.NewF32("count", []int{2}, []float32{k, 7})}
			meta = map[string]string{messageKey: "dropped", "kept": "yes"}
		}
		send(answer, meta)
		if step == "1" {
			switch does {
			case "twice":
				send(answer, meta)
			case "prints":
				os.Stdout.WriteString("done\n")
			}
			os.Stderr.WriteString("sent\n")
		}
	}
}

func halves(n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = .5
	}
	return list
}

func send(tensors []tensorfile.Tensor, meta map[string]string) {
	var body strings.Builder
	if err := tensorfile.WriteSafetensors(&body, tensors, meta); err != nil {
		panic(err)
	}
	os.Stdout.Write(binary.LittleEndian.AppendUint64(nil, uint64(body.Len())))
	io.WriteString(os.Stdout, body.String())
}

// start starts the program.
func start(t *testing.T, does string) (*Process, error) {
	t.Helper()
	t.Setenv(program, does)
	self := must.Get(os.Executable())(t)
	timeout := 300.
	if does == "hang" {
		timeout = 5
	}
	p, err := Start(&loss.ExternalLoss{Kind: loss.External{Command: []string{self}, Timeout: timeout},
		Facts: loss.Facts{Classes: []int{2}, Dim: 4, Batch: 3}}, "", 1)
	if err == nil {
		t.Cleanup(func() { p.Close() })
	}
	return p, err
}

// step computes the loss of a batch of 3 rows of 4 numbers.
func step(p *Process, k uint32) (float32, error) {
	gradient := loss.HostArray{Name: "query_gradient", Type: device.F32, Dims: []int{3, 4}, Data: make([]byte, 48)}
	query := loss.HostArray{Name: "query", Type: device.F32, Dims: []int{3, 4}, Data: make([]byte, 48)}
	return p.Compute(&loss.HostBatch{Step: k, Arrays: []loss.HostArray{query}, Gradients: []loss.HostArray{gradient}})
}

// Until the process fails, the value of step k is k.
func TestAnswersBelongToTheirStep(t *testing.T) {
	for does, want := range map[string]string{"good": "", "echo": "", "twice": "after its answer",
		"prints": "after its answer", "behind": `answered step "1", but this is step 2`} {
		t.Run(does, func(t *testing.T) {
			p, err := start(t, does)
			must.Do(t, err)
			for k := uint32(1); k < 6; k++ {
				v, err := step(p, k)
				if err == nil && v != float32(k) {
					t.Fatalf("step %d has the value %v", k, v)
				}
				if err != nil {
					if want == "" || !strings.Contains(err.Error(), want) {
						t.Fatalf("step %d: %v, want %q", k, err, want)
					}
					return
				}
				if k == 1 {
					must.Become(t, "all that follows the answer has come", func() bool { return p.words.String() == "sent" })
				}
			}
			if want != "" {
				t.Errorf("no error, want %q", want)
			}
		})
	}
}

// A state goes back as it came, without the message that the program may have named.
func TestStateWithoutItsMessage(t *testing.T) {
	p, err := start(t, "good")
	must.Do(t, err)
	state := must.Get(p.State())(t)
	f := must.Get(tensorfile.ParseSafetensors(state))(t)
	count := must.Get(f.Float32("count"))(t)
	if f.Metadata["kept"] != "yes" || f.Metadata[messageKey] != "" || len(count) != 2 || count[1] != 7 {
		t.Errorf("metadata %v, count %v", f.Metadata, count)
	}
	must.Do(t, p.Restore(state))
}

// Another process that holds the output open delays neither the end of the time for an answer nor that of the process.
func TestOutputHeldOpenByAnotherProcess(t *testing.T) {
	for does, want := range map[string]string{"hang": "longer than 5s", "leave": "it ended"} {
		t.Run(does, func(t *testing.T) {
			ended := make(chan error, 1)
			go func() {
				p, err := start(t, does)
				if err == nil {
					_, err = step(p, 1)
				}
				ended <- err
			}()
			select {
			case err := <-ended:
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
			case <-time.After(time.Minute):
				t.Error("it still waits for the other process")
			}
		})
	}
}

// An answer takes its own size of memory, and a length that is only announced takes little.
func TestMemoryOfAnAnswer(t *testing.T) {
	const n = 256 << 20
	dims := []int{n / 4}
	var frame bytes.Buffer
	frame.Grow(n + 1000)
	frame.Write(make([]byte, 8))
	must.Do(t, tensorfile.WriteSafetensors(&frame, []tensorfile.Tensor{{Name: "g", DType: "F32", Shape: dims,
		Data: make([]byte, n)}}, nil))
	binary.LittleEndian.PutUint64(frame.Bytes(), uint64(frame.Len()-8))
	taken := func(r io.Reader) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		answer, err := readFrame(r, 2*n)
		if err == nil {
			_, err = numbersOf(answer.File, "g", dims)
		}
		runtime.ReadMemStats(&after)
		t.Log(err)
		return float64(after.TotalAlloc-before.TotalAlloc) / n
	}
	if whole := taken(bytes.NewReader(frame.Bytes())); whole > 1.2 {
		t.Errorf("an answer took %.2f times its size", whole)
	}
	var before, after runtime.MemStats // the second takes the memory of the first
	runtime.ReadMemStats(&before)
	taken(bytes.NewReader(frame.Bytes()))
	runtime.ReadMemStats(&after)
	if more := (float64(after.HeapSys) - float64(before.HeapSys)) / n; more > .2 {
		t.Errorf("the next answer took %.2f times its size beside the first", more)
	}
	if announced := taken(bytes.NewReader(frame.Bytes()[:100])); announced > .3 {
		t.Errorf("an announced answer took %.2f times the announced size", announced)
	}
}
