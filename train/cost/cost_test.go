package cost

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"hgld/internal/predicted"
	"hgld/internal/testing/must"
	"hgld/train"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/observe"
	"hgld/train/input"
	"hgld/train/network"
	"hgld/train/testing/places"
)

// small is a run of a tiny network on drawings.
func small(steps int) (config.Config, *places.Set) {
	c := config.Default()
	c.Input.Size, c.Input.Resize, c.Input.Scale = 16, 18, [2]float64{0.5, 1}
	c.Model.Backbone.Settings = map[string]any{"widths": []int{8, 16, 16}, "strides": []int{2, 2, 1}}
	c.Model.Dim = 16
	c.Sampler.Batch, c.Sampler.M = 16, 4
	c.Optim.Rate = 3e-3
	c.Epochs, c.Steps, c.Seed = 0, steps, 11
	c.Run.Checkpoint = 0
	return c, &places.Set{Forms: 4, PerForm: 4, Views: 6, Size: 20}
}

func TestOverfittingLearnsOneBatch(t *testing.T) {
	c, d := small(5)
	c.Schedule.Freeze = 3
	o := train.Options{Backend: cpu.New(2), Limit: 60}
	seen := 0
	f, err := Overfit(context.Background(), c, train.Data{Train: d}, o, func(step int, loss float64) { seen = step })
	must.Do(t, err)
	if n := len(f.Losses); n != 60 || seen != 60 || f.Skipped != 0 || f.Losses[59] > 0.2*f.Losses[0] {
		t.Errorf("%d steps, %d seen, %d skipped, losses %.3f", n, seen, f.Skipped, f.Losses)
	}
	o.Dir = t.TempDir()
	if _, err := Overfit(context.Background(), c, train.Data{Train: d}, o, func(int, float64) {}); err == nil {
		t.Error("a run directory was taken")
	}
}

// Workers that make a GPU wait for three quarters of its time would have to be four times as many.
func TestForecastNamesTheLoaderAsTheLimit(t *testing.T) {
	for _, c := range []struct {
		workers int
		waited  float64
		cores   int
	}{{6, 3, 24}, {6, 0.1, 0}, {0, 3, 0}} {
		f := Forecast{Estimate: &train.Estimate{Batch: 16, Steps: 10}, workers: c.workers}
		for range 4 {
			f.time(train.Event{Kind: train.Stepped, Seconds: 1, Waited: c.waited / 4})
		}
		f.close()
		text, want := f.Lasts(), "limit       the loader: 6 workers, and about 24 cores"
		if f.Cores != c.cores || strings.Contains(text, want) != (c.cores > 0) {
			t.Errorf("%+v: %d cores\n%s", c, f.Cores, text)
		}
	}
}

// The first step is not measured, and the warm-up, which would leave out the backbone's
// gradients, is not taken.
func TestProfileAccountsForTheStep(t *testing.T) {
	c, d := small(5)
	c.Schedule.Freeze = 2
	p, err := NewProfile(context.Background(), c, train.Data{Train: d}, train.Options{Backend: cpu.New(1), Limit: 5})
	must.Do(t, err)
	sum := 0.0
	calls := map[string]int{}
	for _, op := range p.Operations {
		sum += op.Seconds
		calls[op.Op] = op.Calls
	}
	if p.Steps != 4 || calls["ConvGradW"] != 12 || calls["RankLoss"] != 4 || calls["Adam"] != 8 {
		t.Errorf("%d steps, calls %v", p.Steps, calls)
	}
	parts := 0.0
	for _, part := range p.Parts {
		if part.Seconds <= 0 {
			t.Errorf("%s takes %v s", part.Part, part.Seconds)
		}
		parts += part.Seconds
	}
	if math.Abs(parts-sum) > 1e-9 {
		t.Errorf("the parts take %v s, the operations %v s", parts, sum)
	}
	if sum <= 0 || sum > p.Seconds || p.Waited > p.Seconds {
		t.Errorf("operations take %v s of %v s, waiting %v s", sum, p.Seconds, p.Waited)
	}
	var table bytes.Buffer
	if err := p.Table(&table); err != nil || !strings.Contains(table.String(), "GFLOP/s") ||
		!strings.Contains(table.String(), "\nwaiting ") {
		t.Errorf("%v\n%s", err, &table)
	}
}

// Of two operations one moves bytes and the other multiplies: 10 ms at 1 GB/s, and 20 ms at
// 1 GFLOP/s, which is longer than its 5 ms of bytes. The table has two steps.
func TestProfileModelsEachCallByItsSlowerPart(t *testing.T) {
	times := &profiler{byName: map[string]*OpTime{}, byPart: map[network.Part]float64{},
		rates: observe.Rates{Copy: 1e9, Products: 1e9}}
	for _, c := range []observe.Call{
		{Op: "Copy", Bytes: 6e6}, {Op: "Copy", Bytes: 4e6}, {Op: "MatMul", FLOPs: 20e6, Bytes: 5e6},
	} {
		times.add(c, 40*time.Millisecond)
	}
	p := Profile{Operations: times.list(), Seconds: 0.3, Steps: 2, Rates: times.rates}
	for i, want := range []OpTime{
		{train.OpWork{Op: "Copy", Calls: 2, Bytes: 10e6}, 0.08, 0.01},
		{train.OpWork{Op: "MatMul", Calls: 1, FLOPs: 20e6, Bytes: 5e6}, 0.04, 0.02},
	} {
		if got := p.Operations[i]; got.OpWork != want.OpWork || math.Abs(got.Seconds-want.Seconds) > 1e-12 ||
			math.Abs(got.Modelled-want.Modelled) > 1e-12 {
			t.Errorf("operation %d is %+v, want %+v", i, got, want)
		}
	}
	var table bytes.Buffer
	must.Do(t, p.Table(&table))
	for _, want := range []string{
		"Copy                  1      40.00  26.7%      5.00    8.0                5.00    0.12\n",
		"MatMul              0.5      20.00  13.3%     10.00    2.0       0.5      2.50    0.12\n",
		"step                        150.00 100.0%     15.00   10.0\n",
		"modelled: bytes at 1.0 GB/s, the rate of a large copy, or products at 1 GFLOP/s, " +
			"the rate of a large product, ",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, &table)
		}
	}
}

// A device that takes 1 s of a clock of its own for every GB that it moves, or for every 2 GFLOP, has these rates.
func TestRatesAreThoseOfTheDevice(t *testing.T) {
	b := cpu.New(1) // out here, where the cleanup of its threads runs
	synctest.Test(t, func(t *testing.T) {
		asleep := observe.Operations(b, func(c observe.Call, do func()) {
			switch c.Op {
			case "Copy":
				time.Sleep(time.Duration(c.Bytes))
			case "MatMul":
				time.Sleep(time.Duration(c.FLOPs / 2))
			default:
				do()
			}
		})
		r, err := observe.MeasureRates(asleep, device.BF16)
		must.Do(t, err)
		for name, share := range map[string]float64{"copies": r.Copy / 1e9, "products": r.Products / 2e9} {
			if math.Abs(share-1) > 1e-3 {
				t.Errorf("%s have %.4f of the rate", name, share)
			}
		}
	})
}

func TestBenchLeavesOutItsWarmUp(t *testing.T) {
	c, d := small(5)
	var taken []int
	times, err := Bench(context.Background(), c, train.Data{Train: d}, train.Options{Backend: cpu.New(1)}, 2, func(n int) {
		taken = append(taken, n)
	})
	if err != nil || times.Steps != 2 || fmt.Sprint(taken) != "[1 2 3 4 5]" {
		t.Errorf("%+v of steps %v, %v", times, taken, err)
	}
}

// pair moves numbers between two goroutines.
type pair struct {
	rank  int
	to    [2]chan []byte
	calls *atomic.Int64
}

func (p pair) Rank() (rank, ranks int) { return p.rank, 2 }

func (p pair) swap(own []byte) []byte {
	p.calls.Add(1)
	p.to[1-p.rank] <- slices.Clone(own)
	return <-p.to[p.rank]
}

func (p pair) AllReduce(x []float32) error {
	own := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
	other := p.swap(own)
	for i := range x {
		x[i] += math.Float32frombits(binary.LittleEndian.Uint32(other[4*i:]))
	}
	return nil
}

func (p pair) AllGather(all, part []byte) error {
	copy(all[p.rank*len(part):], part)
	copy(all[(1-p.rank)*len(part):], p.swap(part))
	return nil
}

func (p pair) Broadcast(x []byte) error {
	if other := p.swap(x); p.rank == 1 {
		copy(x, other)
	}
	return nil
}

// Each process trains alone on its part of the batch, without a word to the other, and then both together.
func TestABenchComparesProcessesWithEachAlone(t *testing.T) {
	to := [2]chan []byte{make(chan []byte, 1), make(chan []byte, 1)}
	var results [2]*Together
	var both sync.WaitGroup
	for rank := range 2 {
		both.Go(func() {
			c, d := small(5)
			p := pair{rank, to, new(atomic.Int64)}
			_, together, err := BenchTogether(context.Background(), c, train.Data{Train: d},
				train.Options{Backend: cpu.Join(cpu.New(1), p)}, 2, func(int) {})
			if results[rank] = together; err != nil || p.calls.Load() == 0 {
				t.Errorf("rank %d: %v after %d calls", rank, err, p.calls.Load())
			}
		})
	}
	both.Wait()
	if r := results[0]; t.Failed() || r.Ranks != 2 || r.Alone != results[1].Alone || !(r.Efficiency > 0) {
		t.Errorf("%+v, %+v", r, results[1])
	}
}

func TestTimesOfSteps(t *testing.T) {
	got := timesOf([]train.Event{{Seconds: 3, Images: 10, Waited: 1}, {Seconds: 1, Images: 10},
		{Seconds: 2, Images: 10, Waited: 0.5}})
	if want := (StepTimes{Steps: 3, Step: 2000, Fastest: 1000, Slowest: 3000, Images: 5, Waiting: 0.25,
		Arithmetic: 30 / 4.5}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if timesOf(nil) != (StepTimes{}) {
		t.Error("no steps have times")
	}
}

// sized is a data set that knows the sizes of its images.
type sized struct {
	input.Dataset
	each int64
}

func (s sized) ImageBytes() int64 { return s.each * int64(s.Len()) }

func TestWorkIsTheDecodingAndTheArithmeticOfItsSteps(t *testing.T) {
	_, d := small(1)
	var w Work
	half := &input.Subset{Of: sized{d, 9000}, Rows: []int{1, 2}}
	w.Add(&train.Estimate{Batch: 4, FLOPs: 2e9}, half, 3600)
	if want := int64(3600 * 4 * 9000); w.Bytes != want {
		t.Errorf("%d bytes, want %d", w.Bytes, want)
	}
	if want := 4*9000/predicted.DecodedRate + 2e9/predicted.FLOPRate; math.Abs(w.Hours-want) > 1e-9 { // rounding
		t.Errorf("%g hours, want %g", w.Hours, want)
	}
}
