package grad_test

import (
	"math"
	"testing"

	"hgld/train/device"
	"hgld/train/grad"
)

// chain squares and rescales x n times: x ← x·x/x0, with every second result
// read by the backward pass and every other one not.
func chain(t *grad.Tape, x *grad.Var, n int) *grad.Var {
	first := x
	for range n {
		y := mul(t, x, x)
		z := add(t, 0.5, y, 0, first)
		t.Done(y)
		if x != first {
			t.Done(x)
		}
		x = z
	}
	return x
}

func TestPeakIsBelowTheSum(t *testing.T) {
	h := &host{}
	tape := grad.NewTape(h, h)
	const n, size = 16, 256
	x := tape.Leaf(h.array(make([]float32, size)...), h.array(make([]float32, size)...))
	tape.Backward(chain(tape, x, n), absent)
	// Held at the widest moment: the n−1 inputs of products, the result, which is
	// kept, three gradients and one scratch array. The sum holds every value,
	// gradient and scratch array at once.
	if limit := 4 * size * (n + 4); h.peak > limit {
		t.Errorf("peak %d bytes, want at most %d", h.peak, limit)
	}
	if h.total < 2*h.peak {
		t.Errorf("the sum of all allocations is %d, the peak %d: nothing was reused", h.total, h.peak)
	}
	tape.Free()
	if h.used != 0 || h.allocs != h.frees {
		t.Errorf("after Free %d bytes in use, %d allocations and %d frees", h.used, h.allocs, h.frees)
	}
}

func TestValuesNamedInReadsOutliveTheForwardPass(t *testing.T) {
	h := &host{}
	tape := grad.NewTape(h, h)
	x := tape.Leaf(h.array(1.5), h.array(0))
	y := mul(tape, x, x)
	z := mul(tape, y, y)
	tape.Done(y)
	tape.Done(z)
	if math.IsNaN(float64(at(y.Value)[0])) {
		t.Error("y is read by a Back and was freed")
	}
	if !math.IsNaN(float64(at(z.Value)[0])) {
		t.Error("nobody reads z and it was held")
	}
}

func TestFreeWithoutBackwardReturnsEverything(t *testing.T) {
	h := &host{}
	tape := grad.NewTape(h, h)
	x := tape.Leaf(h.array(1), h.array(0))
	tape.Keep(chain(tape, x, 5))
	tape.Free()
	if h.used != 0 {
		t.Errorf("%d bytes leaked", h.used)
	}
}

func TestDetachedPassFreesAsItGoes(t *testing.T) {
	h := &host{}
	tape := grad.NewTape(h, h)
	x := tape.Leaf(h.array(2), absent)
	y := tape.Detached(func() *grad.Var { return chain(tape, x, 20) })
	equal(t, "fixed point", y.Value, 2)
	if h.peak > 3*4 {
		t.Errorf("peak %d bytes, want input, square and output", h.peak)
	}
	if h.used != 4 {
		t.Errorf("%d bytes in use, want the result alone", h.used)
	}
	tape.Free()
	if h.used != 0 {
		t.Errorf("%d bytes leaked", h.used)
	}
}

func TestRecomputeEqualsPlainWithLessMemory(t *testing.T) {
	run := func(wrap bool) (*host, device.Array) {
		h := &host{}
		tape := grad.NewTape(h, h)
		x := tape.Leaf(h.array(1.1, 1.9), h.array(0, 0))
		block := func(t *grad.Tape, x *grad.Var) *grad.Var { return chain(t, x, 8) }
		y := x
		for range 4 {
			if wrap {
				y = tape.Recompute(block, y)
			} else {
				y = block(tape, y)
			}
		}
		tape.Backward(y, absent)
		tape.Replay()
		return h, x.Grad
	}
	plain, want := run(false)
	wrapped, got := run(true)
	equal(t, "gradient", got, at(want)...)
	if wrapped.peak*3 > plain.peak*2 {
		t.Errorf("peak %d bytes, without recomputing %d", wrapped.peak, plain.peak)
	}
}

func TestRecomputeLeavesTheGradientOfItsInputToOthersToo(t *testing.T) {
	h := &host{}
	tape := grad.NewTape(h, h)
	x := tape.Leaf(h.array(3), h.array(0))
	a := add(tape, 1, x, 1, x)
	b := tape.Recompute(func(t *grad.Tape, a *grad.Var) *grad.Var {
		c := mul(t, a, a)
		t.Done(a) // forward reads it no more; the second pass does
		return c
	}, a)
	tape.Backward(mul(tape, b, x), absent) // 4x³
	equal(t, "12x²", x.Grad, 108)
	tape.Free()
	if h.used != 0 {
		t.Errorf("%d bytes leaked", h.used)
	}
}

func TestTwoPassEqualsSinglePass(t *testing.T) {
	run := func(sizes ...int) (*host, []float32, int) {
		h := &host{}
		tape := grad.NewTape(h, h)
		w := h.array(1.25)
		dw := h.array(0)
		moves := 0
		embed := func(t *grad.Tape, x *grad.Var) *grad.Var {
			if !t.Repeats() {
				moves++
			}
			return outer(t, x, t.Leaf(w, dw))
		}
		loss := func(t *grad.Tape, e *grad.Var) *grad.Var { return mul(t, e, mul(t, e, e)) }
		all := h.array(1, 2, 3, 4, 5)
		all = all.Reshape(5, 1)
		chunks, at0 := []device.Array{}, 0
		for _, n := range sizes {
			chunks = append(chunks, all.RowRange(at0, at0+n))
			at0 += n
		}
		tape.Backward(grad.TwoPass(tape, chunks, embed, loss), absent)
		tape.Replay()
		tape.Free()
		if h.used != 0 {
			t.Errorf("%d bytes leaked", h.used)
		}
		return h, at(dw), moves
	}
	_, single, _ := run(5)
	_, double, moves := run(2, 2, 1)
	if want := float32(3 * 225 * 1.25 * 1.25); single[0] != want || double[0] != want {
		t.Errorf("gradient %v in one chunk and %v in three, want 3Σx³w² = %v", single, double, want)
	}
	if moves != 3 {
		t.Errorf("%d first passes, want one for each chunk", moves)
	}
}

// outer is x·w for a column x and a single w.
func outer(t *grad.Tape, x, w *grad.Var) *grad.Var {
	y := t.New(device.F32, x.Value.Shape()...)
	t.Do(func(b device.Backend) { b.Axpby(y.Value, at(w.Value)[0], x.Value, 0, x.Value) })
	t.Back(func(device.Backend) {
		dy := at(t.Grad(y))
		dw, acc := t.Onto(w)
		sum := acc * at(dw)[0]
		if acc == 0 {
			sum = 0
		}
		for i, v := range at(x.Value) {
			sum += v * dy[i]
		}
		at(dw)[0] = sum
	}, x)
	return y
}

func TestEvaluationRecordsNoBackwardPass(t *testing.T) {
	h := &host{}
	tape := grad.NewTape(h, h).Evaluate()
	x := tape.Leaf(h.array(2), h.array(0))
	y := chain(tape, x, 20)
	equal(t, "fixed point", y.Value, 2)
	if !tape.Evaluating() || h.used != 4 {
		t.Errorf("evaluating %v with %d bytes in use, want the result alone", tape.Evaluating(), h.used)
	}
}
