package grad_test

import (
	"slices"
	"strings"
	"testing"

	"hgld/train/device"
	"hgld/train/grad"
)

var absent device.Array

func TestGradientsOfAVarUsedTwiceAdd(t *testing.T) {
	h := &host{}
	tape := grad.NewTape(h, h)
	x := tape.Leaf(h.array(2, 3), h.array(0, 0))
	y := add(tape, 1, x, 10, x) // 11x
	z := mul(tape, y, x)        // 11x²
	w := add(tape, 1, z, 1, z)  // 22x²
	tape.Keep(w)
	tape.Backward(w, absent)
	equal(t, "value", w.Value, 88, 198)
	equal(t, "gradient 44x", x.Grad, 88, 132)
}

// The sum of three parts depends on their order in float32: 1e8 − 1e8 + 1.
func TestGradientsAddInTheOrderOfTheBackwardPass(t *testing.T) {
	h := &host{}
	tape := grad.NewTape(h, h)
	x := tape.Leaf(h.array(1), h.array(0))
	zero := tape.Leaf(h.array(0), absent)
	y := add(tape, 1, add(tape, 1, x, 1, zero), 1, zero)
	y = add(tape, 1, y, -1e8, x)
	y = add(tape, 1, y, 1e8, x)
	tape.Backward(y, absent)
	equal(t, "1e8, then −1e8, then 1", x.Grad, 1)
}

func TestLeafWithoutGradientReceivesNone(t *testing.T) {
	h := &host{}
	tape := grad.NewTape(h, h)
	x := tape.Leaf(h.array(5), h.array(0))
	c := tape.Leaf(h.array(7), absent)
	tape.Backward(mul(tape, x, c), h.array(2))
	equal(t, "gradient", x.Grad, 14)
	if !c.Grad.Absent() {
		t.Error("the constant has a gradient")
	}
}

// An input is made by the step, as pixels are of bytes, and nothing computes its
// gradient: neither by overwriting nor by adding, and views are inputs too.
func TestInputTakesNoGradient(t *testing.T) {
	h := &host{}
	tape := grad.NewTape(h, h)
	x := tape.Leaf(h.array(5), h.array(0))
	c := tape.Input(device.F32, 1)
	tape.Do(func(b device.Backend) { b.Fill(c.Value, 7) })
	asked := 0
	y := mul(tape, x, tape.View(c, 1, 1))
	tape.Back(func(device.Backend) {
		asked++
		if dc := tape.Into(c); !dc.Absent() {
			t.Error("an input has a gradient to be overwritten")
		}
		if dc, _ := tape.Onto(c); !dc.Absent() {
			t.Error("an input has a gradient to be added to")
		}
	})
	tape.Backward(y, h.array(2))
	tape.Replay()
	equal(t, "gradient", x.Grad, 14)
	if asked != 2 || !c.Grad.Absent() {
		t.Errorf("%d passes, gradient %v", asked, c.Grad)
	}
}

func TestSameArraysAreOneLeaf(t *testing.T) {
	h := &host{}
	tape := grad.NewTape(h, h)
	v, d := h.array(3), h.array(0)
	tape.Backward(mul(tape, tape.Leaf(v, d), tape.Leaf(v, d)), absent)
	equal(t, "gradient of x²", d, 6)
}

func TestLeafGradientIsOverwritten(t *testing.T) {
	h := &host{}
	tape := grad.NewTape(h, h)
	x := tape.Leaf(h.array(3), h.array(100))
	tape.Backward(mul(tape, x, tape.Leaf(h.array(2), absent)), absent)
	equal(t, "overwritten", x.Grad, 2)
}

func TestViewSharesValueAndGradient(t *testing.T) {
	h := &host{}
	tape := grad.NewTape(h, h)
	x := tape.Leaf(h.array(1, 2, 3, 4), h.array(0, 0, 0, 0))
	y := add(tape, 1, x, 1, x)
	flat := mul(tape, tape.View(y, 2, 2), tape.View(y, 2, 2)) // 4x²
	tape.Backward(tape.View(flat, 4), h.array(1, 1, 1, 1))
	equal(t, "gradient 8x", x.Grad, 8, 16, 24, 32)
	if got := flat.Value.Shape(); len(got) != 2 {
		t.Errorf("shape %v", got)
	}
}

func TestResultThatNothingUsesHasZeroGradient(t *testing.T) {
	h := &host{}
	tape := grad.NewTape(h, h)
	x := tape.Leaf(h.array(3), h.array(0))
	used := mul(tape, x, x)
	mul(tape, x, x)
	tape.Backward(used, absent)
	equal(t, "gradient", x.Grad, 6)
	tape.Replay()
	equal(t, "gradient after a replay", x.Grad, 6)
}

func TestReplayIsTheStepOnNewData(t *testing.T) {
	h := &host{}
	tape := grad.NewTape(h, h)
	x := tape.Leaf(h.array(1), h.array(0))
	y := tape.Keep(mul(tape, mul(tape, x, x), x))
	tape.Backward(y, absent)
	for _, v := range []float32{2, -3, 5} {
		h.Fill(x.Value, v)
		tape.Replay()
		equal(t, "x³", y.Value, v*v*v)
		equal(t, "3x²", x.Grad, 3*v*v)
	}
}

func TestOperationsAfterBackwardAreReplayed(t *testing.T) {
	h := &host{}
	tape := grad.NewTape(h, h)
	x := tape.Leaf(h.array(8), h.array(0))
	tape.Backward(mul(tape, x, x), absent)
	tape.Do(func(b device.Backend) { b.Axpby(x.Value, 1, x.Value, -0.25, x.Grad) })
	tape.Replay()
	equal(t, "two steps of descent by half", x.Value, 2)
}

func TestReplayAllocatesNothing(t *testing.T) {
	h := &host{}
	tape := grad.NewTape(h, h)
	x := tape.Leaf(h.array(1, 2), h.array(0, 0))
	y := tape.Recompute(func(t *grad.Tape, x *grad.Var) *grad.Var { return mul(t, x, add(t, 1, x, 1, x)) }, x)
	mul(tape, x, x)
	y = tape.View(mul(tape, tape.View(y, 2, 1), tape.View(x, 2, 1)), 2)
	tape.Backward(mul(tape, y, x), absent)
	before := h.allocs
	if n := testing.AllocsPerRun(20, tape.Replay); n != 0 {
		t.Errorf("%v allocations in a replay", n)
	}
	if h.allocs != before {
		t.Errorf("%d device allocations in replays", h.allocs-before)
	}
}

func TestScratchLastsForOneOperation(t *testing.T) {
	h := &host{}
	tape := grad.NewTape(h, h)
	x := tape.Leaf(h.array(3), h.array(0))
	y := tape.New(device.F32, 1)
	tape.Do(func(b device.Backend) {
		twice := tape.Scratch(device.F32, 1)
		b.Axpby(twice, 2, x.Value, 0, x.Value)
		b.Axpby(y.Value, 1, twice, 1, x.Value)
	})
	if h.used != 4 {
		t.Errorf("%d bytes in use, want the result alone", h.used)
	}
	h.Fill(x.Value, 5)
	tape.Replay()
	equal(t, "3x", y.Value, 15)
}

// Operations that are inserted run in replays, where they were put, and not at once.
func TestInsertedOperationsRunInReplays(t *testing.T) {
	h := &host{}
	tape := grad.NewTape(h, h)
	var ran []string
	step := func(name string) func(device.Backend) { return func(device.Backend) { ran = append(ran, name) } }
	tape.Do(step("a"))
	tape.Do(step("b"))
	tape.Insert([]grad.Insertion{{2, step("after b")}, {0, step("first")}, {1, step("after a")}, {1, step("then")}})
	tape.Do(step("c"))
	if got := strings.Join(ran, ", "); got != "a, b, c" {
		t.Errorf("recording ran %s", got)
	}
	ran = nil
	tape.Replay()
	if got, want := strings.Join(ran, ", "), "first, a, after a, then, b, after b, c"; got != want {
		t.Errorf("a replay ran %s, want %s", got, want)
	}
}

// A gradient is ready when no later operation of a replay changes it, and not before.
func TestGradientIsReadyAfterItsLastPart(t *testing.T) {
	h := &host{}
	tape := grad.NewTape(h, h)
	x, y := tape.Leaf(h.array(2, 3), h.array(0, 0)), tape.Leaf(h.array(5, 7), h.array(0, 0))
	z := mul(tape, add(tape, 1, x, 10, x), mul(tape, y, x)) // 11x²y
	tape.Backward(z, absent)
	ready := tape.Ready()
	if len(ready) != 2 {
		t.Fatalf("%d gradients are ready", len(ready))
	}
	equal(t, "gradient 22xy", x.Grad, 220, 462)
	var seen, before []float32
	for _, r := range ready {
		if r.Grad == x.Grad {
			tape.Insert([]grad.Insertion{
				{At: r.At - 1, Op: func(device.Backend) { before = slices.Clone(at(x.Grad)) }},
				{At: r.At, Op: func(device.Backend) { seen = slices.Clone(at(x.Grad)) }},
			})
		}
	}
	tape.Replay()
	if !slices.Equal(seen, at(x.Grad)) || slices.Equal(before, seen) {
		t.Errorf("the gradient was %v, %v when it was ready, and is %v", before, seen, at(x.Grad))
	}
}
