package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/train/device"
)

// RunBehaviour tests properties common to all operations. They produce the same bytes in any
// order and for any content of the scratch memory. Uploads and Free work while operations are
// queued. Programs work if the backend can record them. If it is a Failer, errors are reported
// correctly; b is unusable after that.
func RunBehaviour(t *testing.T, b device.Backend, limits Limits) {
	for _, c := range []struct {
		name string
		test func(*suite, device.Backend)
	}{
		{"Repeats", testRepeats},
		{"Programs", testPrograms},
		{"UploadsMeanwhile", testUploadsMeanwhile},
		{"FreeInFlight", testFreeInFlight},
		{"ManyRows", testManyRows},
		{"TrainingShapes", testTrainingShapes},
		{"Failure", testFailure},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &suite{T: t, b: b, dtype: device.F32, r: rand.New(rand.NewPCG(3, uint64(len(c.name)))), limits: limits}
			c.test(s, b)
			if err := b.Sync(); err != nil && c.name != "Failure" {
				t.Error(err)
			}
			for _, buf := range s.buffers {
				b.Free(buf)
			}
		})
	}
}

// testRepeats checks that an operation produces the same bytes again: after other operations
// that leave other scratch contents, and after the scratch memory was poisoned.
func testRepeats(s *suite, b device.Backend) {
	list := s.calls(b)
	s.everyOperation(list)
	want := make([][][]byte, len(list))
	for i := range list {
		list[i].run()
		want[i] = s.results(&list[i])
	}
	for i := range slices.Backward(list) {
		s.reset(&list[i])
		list[i].run()
		s.sameResults("repeated", &list[i], s.results(&list[i]), want[i])
	}
	poisoner, able := b.(ScratchPoisoner)
	if !able {
		return
	}
	for i := range list {
		s.reset(&list[i])
		poisoner.PoisonScratch()
		list[i].run()
		s.sameResults("after scratch memory was poisoned", &list[i], s.results(&list[i]), want[i])
	}
}

// testPrograms records all operations as one program, and if tests are exhaustive every operation
// alone. Every run must produce the bytes of the first pass.
func testPrograms(s *suite, b device.Backend) {
	graphs, able := b.(device.Graphs)
	if !able {
		return
	}
	list := s.calls(b)
	want := make([][][]byte, len(list))
	for i := range list {
		list[i].run()
		want[i] = s.results(&list[i])
		if effort.Exhaustive() {
			s.recorded(graphs, list[i:i+1], want[i:i+1])
		}
	}
	s.recorded(graphs, list, want)

	// The arrays hold everything that changes between runs.
	x, y := s.put(device.F32, flag(3)), s.alloc(device.F32, 1)
	double := func() { b.Axpby(y, 2, x, 0, absent) }
	double()
	program := s.record(graphs, double)
	for _, v := range []float64{5, 7} {
		s.b.Upload(x, encode(device.F32, []float64{v}))
		program.Run()
		s.equal("twice what was uploaded after the recording", y, []float64{2 * v})
	}
	program.Close()
}

func (s *suite) record(graphs device.Graphs, f func()) device.Program {
	s.Helper()
	program, err := graphs.Record(f)
	if err != nil {
		s.Fatal(err)
	}
	return program
}

// recorded records the calls as one program. Recording must not change any array.
func (s *suite) recorded(graphs device.Graphs, list []call, want [][][]byte) {
	s.Helper()
	for i := range list {
		s.reset(&list[i])
	}
	program := s.record(graphs, func() {
		for _, c := range list {
			c.run()
		}
	})
	for i := range list {
		s.sameResults("while it was recorded", &list[i], s.results(&list[i]), list[i].before)
	}
	for run := range 2 {
		for i := range list {
			s.reset(&list[i])
		}
		program.Run()
		for i := range list {
			s.sameResults(fmt.Sprint("in run ", run+1, " of a program of ", len(list)), &list[i], s.results(&list[i]), want[i])
		}
	}
	program.Close()
}

// work returns a function that queues work which keeps a device busy for a while.
func (s *suite) work(b device.Backend) func() {
	n := 512
	for n > 32 && !s.fits(n*n*n) {
		n /= 2
	}
	x, y, z := s.put(device.F32, s.master(n, n)), s.put(device.F32, s.master(n, n)), s.alloc(device.F32, n, n)
	return func() { b.MatMul(z, x, y, device.Mul{Alpha: 1}) }
}

// testUploadsMeanwhile fills two slots in turn from another goroutine, as a loader does, while
// operations that read them are queued. An upload must wait for the last use of its slot. The
// caller may reuse the bytes once it returns.
func testUploadsMeanwhile(s *suite, b device.Backend) {
	const n, steps = 1000, 24
	work := s.work(b)
	slots := [2]device.Array{s.alloc(device.F32, n), s.alloc(device.F32, n)}
	sum := s.put(device.F32, zeros(n))
	filled, used := make(chan int, 2), make(chan int, 2)
	used <- 0
	used <- 1
	go func() {
		staging := make([]byte, 4*n)
		for i := range steps {
			at := <-used
			copy(staging, encode(device.F32, slices.Repeat([]float64{float64(i + 1)}, n)))
			b.Upload(slots[at], staging)
			for j := range staging {
				staging[j] = 0xFF
			}
			filled <- at
		}
	}()
	for range steps {
		at := <-filled
		work()
		b.Axpby(sum, 1, sum, 1, slots[at])
		used <- at
	}
	s.equal("the sum of what was uploaded while work was queued", sum,
		slices.Repeat([]float64{steps * (steps + 1) / 2}, n))
}

// testFreeInFlight frees arrays that queued operations still read, and allocates memory that
// may reuse their place.
func testFreeInFlight(s *suite, b device.Backend) {
	const n, rounds = 4096, 16
	work, sum := s.work(b), s.put(device.F32, zeros(n))
	for i := range rounds {
		x := device.New(b, device.F32, n)
		b.Upload(x, encode(device.F32, slices.Repeat([]float64{float64(i + 1)}, n)))
		work()
		b.Axpby(sum, 1, sum, 1, x)
		b.Free(x.Buf)
		next := device.New(b, device.F32, n)
		b.Upload(next, slices.Repeat([]byte{0xFF}, 4*n))
		b.Free(next.Buf)
	}
	s.equal("the sum of what was freed after its use", sum, slices.Repeat([]float64{rounds * (rounds + 1) / 2}, n))
}

// testFailure makes an operation fail. The error is kept with the operation's name, no later
// operation runs, and both Wait and Sync return the error every time.
func testFailure(s *suite, b device.Backend) {
	failer, able := b.(Failer)
	if !able {
		return
	}
	x, y := s.put(device.F32, flag(3)), s.alloc(device.F32, 1)
	if err := b.Sync(); err != nil {
		s.Fatal(err)
	}
	failer.FailNext()
	b.Scale(y, x, x)
	b.Axpby(y, 1, x, 1, x)
	ticket := b.Download(make([]byte, 4), y)
	for i, err := range []error{b.Wait(ticket), b.Sync(), b.Wait(ticket), b.Sync()} {
		if err == nil || !strings.Contains(err.Error(), "Scale") || strings.Contains(err.Error(), "Axpby") {
			s.Errorf("error %d is %v, want that of Scale, which failed first", i, err)
		}
	}
}
