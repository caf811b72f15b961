package conformance_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/observe"
	"hgld/train/device/testing/conformance"
)

// queued is a backend that delays its operations, as a GPU does. It runs them when a result
// is requested, or before their inputs change. It can record programs and can be made to fail.
// fault names its bug.
type queued struct {
	device.Backend // backend whose operations are delayed
	cpu            *cpu.Backend
	fault          string

	mu        sync.Mutex
	list      []func()
	recording bool
	fail      bool
	err       error
	scales    int
	spoiled   bool
}

// later queues an operation.
func (q *queued) later(op string, do func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.fail {
		if q.fail = false; q.err == nil {
			q.err = errors.New("queued: " + op + " failed")
		}
		if q.fault == "error without a name" {
			q.err = errors.New("queued: failed")
		}
	}
	if q.err != nil && q.fault != "error of the last" {
		return
	}
	if q.err != nil {
		q.err = errors.New("queued: " + op + " failed")
	}
	q.list = append(q.list, do)
	if q.recording && q.fault == "does what it records" {
		do()
	}
}

// flush runs the queued operations unless they are being recorded.
func (q *queued) flush() {
	if q.recording {
		return
	}
	for _, do := range q.list {
		do()
	}
	q.list = nil
}

// newQueued returns a CPU backend with every operation queued.
func newQueued(fault string) *queued {
	q := &queued{fault: fault, cpu: cpu.New(1)}
	q.Backend = observe.Operations(bare{q.cpu}, func(c observe.Call, do func()) { q.later(c.Op, do) })
	return q
}

// bare is a backend without optional interfaces.
type bare struct{ device.Backend }

func (q *queued) Scale(dst, x, s device.Array) {
	q.Backend.Scale(dst, x, s)
	q.later("Scale", func() {
		if q.scales++; q.fault == "other bytes" && q.scales%3 == 0 {
			q.cpu.Axpby(dst, 1+0x1p-20, dst, 0, device.Array{})
		}
	})
}

func (q *queued) Softmax(dst, x device.Array, log bool) {
	q.Backend.Softmax(dst, x, log)
	q.later("Softmax", func() {
		if q.fault == "reads scratch" && q.spoiled {
			q.cpu.Axpby(dst, 2, dst, 0, device.Array{})
		}
		q.spoiled = false
	})
}

func (q *queued) PoisonScratch() {
	q.sync()
	q.spoiled = true
}

func (q *queued) sync() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.flush()
}

func (q *queued) Upload(dst device.Array, src []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.fault != "upload that does not wait" {
		q.flush()
	}
	q.cpu.Upload(dst, src)
}

func (q *queued) Free(b device.Buffer) {
	if q.fault == "free that does not wait" {
		all := device.Make(b, 0, device.U8, b.Size())
		q.cpu.Fill(all, 255)
		return
	}
	q.sync()
	q.cpu.Free(b)
}

func (q *queued) Download(dst []byte, src device.Array) device.Ticket {
	q.sync()
	return q.cpu.Download(dst, src)
}

func (q *queued) Wait(device.Ticket) error {
	if q.fault == "error that is lost" {
		return nil
	}
	return q.err
}

func (q *queued) Sync() error {
	q.sync()
	return q.err
}

func (q *queued) FailNext() { q.fail = true }

func (q *queued) Record(f func()) (device.Program, error) {
	q.sync()
	q.recording = true
	f()
	q.recording = false
	p := &program{q, q.list}
	if q.fault == "program without its end" {
		p.list = p.list[:len(p.list)/2]
	}
	q.list = nil
	return p, nil
}

type program struct {
	q    *queued
	list []func()
}

func (p *program) Run() {
	p.q.mu.Lock()
	defer p.q.mu.Unlock()
	p.q.list = append(p.q.list, p.list...)
}

func (p *program) Close() {}

// faultVariable names the fault for the test below, which runs in a separate process. "none"
// selects a correct backend.
const faultVariable = "HGLD_DEVICETEST_FAULT"

func TestQueuedBackend(t *testing.T) {
	fault := os.Getenv(faultVariable)
	if fault == "" {
		return // TestFaultsAreFound runs this test
	}
	conformance.RunBehaviour(t, newQueued(fault), conformance.Limits{Work: 1 << 16})
}

// A conformance test must fail for faulty backends: the check for each fault must find it.
func TestFaultsAreFound(t *testing.T) {
	for fault, want := range map[string]string{
		"none":                      "",
		"other bytes":               "Repeats",
		"reads scratch":             "Repeats",
		"does what it records":      "Programs",
		"program without its end":   "Programs",
		"upload that does not wait": "UploadsMeanwhile",
		"free that does not wait":   "FreeInFlight",
		"error without a name":      "Failure",
		"error of the last":         "Failure",
		"error that is lost":        "Failure",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			test := exec.Command(os.Args[0], "-test.run=^TestQueuedBackend$", "-test.v")
			test.Env = append(os.Environ(), faultVariable+"="+fault)
			out, err := test.CombinedOutput()
			if failed := err != nil; failed != (want != "") {
				t.Fatalf("failed: %v, %v\n%s", failed, err, out)
			}
			for _, check := range []string{"Repeats", "Programs", "UploadsMeanwhile", "FreeInFlight", "Failure"} {
				failed := strings.Contains(string(out), "--- FAIL: TestQueuedBackend/"+check)
				if check == want && !failed || want == "" && !strings.Contains(string(out), "--- PASS: TestQueuedBackend/"+check) {
					t.Errorf("%s: %s\n%s", fault, check, out)
				}
			}
		})
	}
}
