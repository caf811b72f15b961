package backbone_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"hgld/internal/blas"
	"hgld/internal/testing/goldens/traces"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/grad"
	"hgld/train/nn/testing/nntest"
)

// toleranceTwoPass is of two passes against one, in the same precision. It takes a
// BLAS that rounds a row alike in a product of any size: embeddings that differ by
// 2e-7 have gradients that differ by 2e-6, because the loss divides scores by τ =
// 0.01.
const toleranceTwoPass = 2e-6

func TestGoldenTwoPass(t *testing.T) {
	var cases struct {
		TwoPass []struct {
			Name, Seed, Loss, BN string
			LossValue            float64 `json:"loss_value"`
			Chunks               [][2]int
			Other                [][2]int `json:"other_chunks"`
		} `json:"two_pass"`
	}
	f := traces.Open(t, &cases)
	for _, c := range cases.TwoPass {
		c.Loss = traces.Loss(c.Loss)
		t.Run("trace/"+c.Name, func(t *testing.T) {
			pass := func(chunks [][2]int) map[string][]float64 {
				b := cpu.NewWith(0, blas.Native())
				b.Poison = true
				return newTrainer(t, b, f, c.Seed, c.BN, c.Loss).pass(t, chunks)
			}
			single := pass(nil)
			traces.Within(t, "loss", 0, single["loss"][0], c.LossValue, traces.FirstLoss)
			for name, got := range single {
				if key := c.Name + "/" + name; f.Has(key) { // it has none for proxies
					nntest.Near(t, "one pass: "+name, got, read(t, f, key), traces.FirstGrad)
				}
			}
			for _, chunks := range [][][2]int{c.Chunks, c.Other} {
				double := pass(chunks)
				nntest.Near(t, "two passes: embedding", double["embedding"], single["embedding"], toleranceTwoPass)
				nntest.Near(t, "two passes: gradient", whole(double), whole(single), toleranceTwoPass)
			}
		})
	}
}

// whole is the gradient of all parameters of the net, one after the other: the
// rounding of the embeddings, which τ magnifies, is compared with its length.
func whole(pass map[string][]float64) []float64 {
	var all []float64
	for _, name := range slices.Sorted(maps.Keys(pass)) {
		if strings.HasPrefix(name, "grad.") {
			all = append(all, pass[name]...)
		}
	}
	return all
}

// pass is one step, in two passes over the given chunks if there are any, replayed
// once: the loss, the embedding and the gradients by name.
func (tr *trainer) pass(t *testing.T, chunks [][2]int) map[string][]float64 {
	var parts []device.Array
	for _, c := range chunks {
		parts = append(parts, tr.images.RowRange(c[0], c[1]))
	}
	tape := grad.NewTape(tr.b, tr.arena)
	var embedding *grad.Var
	lossOf := func(tape *grad.Tape, e *grad.Var) *grad.Var {
		embedding = tape.Keep(e)
		return tr.loss(tape, e)
	}
	var value *grad.Var
	if parts == nil {
		value = lossOf(tape, tr.net.Forward(tape, tape.Leaf(tr.images, device.Array{})))
	} else {
		value = grad.TwoPass(tape, parts, tr.net.Forward, lossOf)
	}
	tape.Backward(value, device.Array{})
	tape.Replay()
	all := map[string][]float64{
		"loss":      download(t, tr.b, value.Value),
		"embedding": download(t, tr.b, embedding.Value),
	}
	for name, g := range nntest.Gradients[float64](t, tr.store, tr.b) {
		if !strings.Contains(name, "running_") {
			all["grad."+traces.Tensor(name)] = g
		}
	}
	return all
}
