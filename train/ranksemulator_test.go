package train

import (
	"encoding/gob"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hgld/internal/ranks/nccl"
	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/device/cuda"
	"hgld/train/device/cuda/vendor"
	"hgld/train/device/testing/emu"
)

// cardCases are trainings on the emulator.
var cardCases = map[string]func(*config.Config){
	"frozen norm":  func(c *config.Config) { c.Loss.Name, c.Model.FreezeNorm = "happier", true },
	"trained norm": func(c *config.Config) { c.Loss.Name = "roadmap" },
	"memory":       func(c *config.Config) { c.Memory = config.CrossBatch{Size: 48, Start: 3} },
	"two passes":   func(c *config.Config) { c.Passes.Chunk, c.Model.FreezeNorm = 3, true },
	"proxies":      func(c *config.Config) { c.Loss.Name, c.EMA.Decay = "nsm", 0.9 },
	"bfloat16":     func(c *config.Config) { c.Model.Precision, c.Optim.Clip = config.PrecisionBFloat16, 1 },
}

// cardRank is what a process of TestRanksOnCards is told.
type cardRank struct {
	Case        string
	Rank, Ranks int
	ID          nccl.ID
	Dies        int    // step after which it kills itself; 0: never
	Out         string // file for its result
}

// cardResult is what such a process leaves.
type cardResult struct {
	Losses     []float64
	Weights    map[string][]float64
	Err        string
	Complaints string
	Operations int // collective ones
	Alive      int // communicators that were not closed
	Choices    []device.Choices
}

// TestRankOfCards is one process of TestRanksOnCards.
func TestRankOfCards(t *testing.T) {
	text := os.Getenv("HGLD_TEST_RANK")
	if text == "" {
		return
	}
	var told cardRank
	must.Do(t, gob.NewDecoder(hex.NewDecoder(strings.NewReader(text))).Decode(&told))
	result := told.train(t)
	f, err := os.Create(told.Out)
	if err == nil {
		err = errors.Join(gob.NewEncoder(f).Encode(result), f.Close())
	}
	must.Do(t, err)
}

func (r *cardRank) train(t *testing.T) (result cardResult) {
	b, err := cuda.Open(0)
	must.Do(t, err)
	o := Options{Backend: b}
	var joined *cuda.Joined
	if r.Ranks > 1 {
		l, err := cuda.FindNCCL()
		must.Do(t, err)
		if joined, err = cuda.Join(b, l, r.Rank, r.Ranks, r.ID); err != nil {
			t.Fatal(err)
		}
		o.Backend = joined
	}
	c, data := shared(6)
	cardCases[r.Case](&c)
	var l trained
	err = l.train(c, data, o, func(e Event, _ func()) {
		if e.Step == r.Dies && r.Dies > 0 {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	})
	if joined != nil {
		err = errors.Join(err, joined.Leave(err != nil))
		seen := emu.OpenVendor(t, filepath.SplitList(os.Getenv(cuda.LibrariesVariable))[1])
		result.Complaints, result.Operations, result.Alive = seen.Complaints(), seen.Collectives(), seen.Alive()
	}
	if err != nil {
		result.Err = err.Error()
	}
	result.Losses, result.Weights, result.Choices = l.losses, l.weights, l.run.state.Choices
	return result
}

// onCards trains in n processes, each with an emulator of its own. dies is a rank that kills itself, or −1. NVIDIA's
// libraries do not compute unless env says so.
func onCards(t *testing.T, name string, n, dies int, env ...string) []cardResult {
	t.Helper()
	libs, imitations := emu.Build(t), emu.BuildVendor(t)
	emu.Open(t, libs)
	l, err := nccl.Open(filepath.Join(imitations, nccl.Name))
	must.Do(t, err)
	id, err := l.NewID()
	must.Do(t, err)
	results := make([]cardResult, n)
	var group sync.WaitGroup
	for rank := range n {
		group.Go(func() {
			told := cardRank{Case: name, Rank: rank, Ranks: n, ID: id, Out: filepath.Join(t.TempDir(), "result")}
			if rank == dies {
				told.Dies = 3
			}
			var text strings.Builder
			if err := gob.NewEncoder(hex.NewEncoder(&text)).Encode(told); err != nil {
				t.Error(err)
				return
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRankOfCards$", "-test.timeout=5m")
			cmd.Env = append(os.Environ(), "HGLD_TEST_RANK="+text.String(), cuda.VendorVariable+"=off",
				cuda.LibrariesVariable+"="+libs+string(os.PathListSeparator)+imitations)
			cmd.Env = append(cmd.Env, env...)
			out, err := cmd.CombinedOutput()
			if rank == dies {
				return
			}
			f, failed := os.Open(told.Out)
			if err == nil && failed == nil {
				failed = errors.Join(gob.NewDecoder(f).Decode(&results[rank]), f.Close())
			}
			if err = errors.Join(err, failed); err != nil {
				t.Errorf("rank %d of %d: %v\n%s", rank, n, err, out)
			}
		})
	}
	group.Wait()
	return results
}

// trainedOf is what the processes have in common with those of other tests.
func trainedOf(results []cardResult) []trained {
	list := make([]trained, len(results))
	for i, r := range results {
		list[i] = trained{losses: r.Losses, weights: r.Weights}
		if r.Err != "" {
			list[i].err = errors.New(r.Err)
		}
	}
	return list
}

// The GPUs are emulated, and NCCL is imitated. All but the first step run as graphs, which hold NCCL's operations.
// The tolerances are those of TestRanksTrainAsOneProcess. The case with a memory trains its norms, too.
func TestRanksTrainOnCardsAsOne(t *testing.T) {
	sizes := map[string][]int{"memory": {4}, "bfloat16": {2}}
	for name := range cardCases {
		switch {
		case effort.Long():
			sizes[name] = []int{2, 4}
		case effort.Exhaustive() && sizes[name] == nil:
			sizes[name] = []int{2}
		}
	}
	for name, sizes := range sizes {
		t.Run(name, func(t *testing.T) {
			one := trainedOf(onCards(t, name, 1, -1))[0]
			for _, n := range sizes {
				results := onCards(t, name, n, -1)
				sameAsOne(t, one, trainedOf(results), 2e-5, 2e-4)
				for rank, r := range results {
					if r.Complaints != "" || r.Alive != 0 || r.Operations == 0 {
						t.Errorf("rank %d of %d: %d operations, %d communicators are left; complaints: %s", rank, n,
							r.Operations, r.Alive, r.Complaints)
					}
				}
			}
		})
	}
}

// A rank that is gone is an error of all others, within seconds.
func TestRankOnCardsThatDiesIsNoticed(t *testing.T) {
	for ranks, dies := range map[int]int{2: 0, 4: 2} {
		began := time.Now()
		for rank, r := range onCards(t, "frozen norm", ranks, dies) {
			if rank != dies && !strings.Contains(r.Err, "remote process exited") {
				t.Errorf("rank %d died, and rank %d ended with %q after %v", dies, rank, r.Err, time.Since(began))
			}
		}
	}
}

// Each process measures for itself, and all know the choices of all, so that the first can record them.
func TestRanksShareTheirChoices(t *testing.T) {
	results := onCards(t, "bfloat16", 2, -1, cuda.VendorVariable+"=measured", vendor.PlansVariable+"=off")
	first := results[0].Choices
	for rank, r := range results {
		if r.Err != "" || r.Complaints != "" || len(first) != 2 || !reflect.DeepEqual(r.Choices, first) {
			t.Errorf("rank %d: %s%s; choices %v, of rank 0 %v", rank, r.Err, r.Complaints, r.Choices, first)
		}
	}
	if len(first) == 2 && (len(first[0].Ways) < 4 || len(first[0].Ways) != len(first[1].Ways)) {
		t.Errorf("%d and %d choices", len(first[0].Ways), len(first[1].Ways))
	}
}
