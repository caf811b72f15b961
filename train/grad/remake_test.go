package grad_test

import (
	"slices"
	"testing"

	"hgld/train/device"
	"hgld/train/grad"
)

// double is x + y/2, which can be made again where remake is set: its backward
// pass reads x, so that x is held anyway, as the input of a normalisation is.
func double(t *grad.Tape, x, y *grad.Var, remake bool, made *int) *grad.Var {
	z := t.New(device.F32, x.Value.Shape()...)
	op := func(d device.Backend) {
		*made++
		d.Axpby(z.Value, 1, x.Value, 0.5, y.Value)
	}
	if remake {
		t.Remake(z, op, x, y)
	}
	t.Do(op)
	t.Back(func(d device.Backend) {
		dz := t.Grad(z)
		if dx := t.Into(x); !dx.Absent() {
			d.Axpby(dx, 1, dz, 0, dz)
		}
		if dy := t.Into(y); !dy.Absent() {
			d.Axpby(dy, 0.5, dz, 0, dz)
		}
	}, x)
	return z
}

// residual is n blocks of z = w·x, x ← z + x/2, as a residual network has them:
// every sum is made of the one before.
func residual(t *grad.Tape, x, w *grad.Var, n int, remake bool, made *int) *grad.Var {
	first := x
	for range n {
		z := mul(t, w, x)
		y := double(t, z, x, remake, made)
		t.Done(z)
		if x != first {
			t.Done(x)
		}
		x = t.View(y, len(at(y.Value)))
	}
	return x
}

func TestRemadeValuesGiveTheSameGradientInLessMemory(t *testing.T) {
	const n, size = 12, 64
	run := func(remake, hold bool) (gradient []float32, peak, made int) {
		h := &host{}
		tape := grad.NewTape(h, h)
		if hold {
			tape.Hold()
		}
		x, w := h.array(make([]float32, size)...), h.array(make([]float32, size)...)
		for i := range size {
			at(x)[i], at(w)[i] = float32(i)/size, 1-float32(i)/size
		}
		dw := h.array(make([]float32, size)...)
		y := residual(tape, tape.Leaf(x, h.array(make([]float32, size)...)), tape.Leaf(w, dw), n, remake, &made)
		peak = h.peak
		tape.Backward(y, absent)
		gradient, once := slices.Clone(at(dw)), made
		for range 2 {
			tape.Replay()
			if !slices.Equal(at(dw), gradient) {
				t.Errorf("remake %v: a replay gives %v, the first run gave %v", remake, at(dw), gradient)
			}
		}
		tape.Free()
		if h.used != 0 {
			t.Errorf("remake %v: %d bytes leaked", remake, h.used)
		}
		return gradient, peak, once
	}
	held, more, _ := run(false, false)
	remade, less, made := run(true, false)
	if same, peak, once := run(true, true); !slices.Equal(same, held) || peak != more || once != n {
		t.Errorf("on a tape that holds %v with %d bytes and %d values made; want %v, %d, %d", same, peak, once, held, more, n)
	}
	if !slices.Equal(held, remade) {
		t.Errorf("gradient %v with values made again, %v with values held", remade, held)
	}
	if made != 2*n-1 { // the last result is kept
		t.Errorf("%d values made, want each of %d twice but the last", made, n)
	}
	if saved := 4 * size * (n - 2); more-less < saved {
		t.Errorf("%d bytes before the backward pass, %d with values held: want %d less", less, more, saved)
	}
}

// squares is x², and its slope 2x beside it where the tape wants that now.
func squares(t *grad.Tape, x *grad.Var, made *int) *grad.Var {
	y := t.New(device.F32, x.Value.Shape()...)
	slope, now := t.Beside(func(d device.Backend, v device.Array) {
		*made++
		d.Axpby(v, 2, x.Value, 0, x.Value)
	}, []*grad.Var{x}, device.F32, x.Value.Shape()...)
	t.Do(func(d device.Backend) {
		times(y.Value, x.Value, x.Value)
		if now {
			d.Axpby(slope.Value, 2, x.Value, 0, x.Value)
		}
	})
	t.Back(func(device.Backend) {
		if dx := t.Into(x); !dx.Absent() {
			times(dx, t.Grad(y), slope.Value)
		}
	}, slope)
	return y
}

// What only the backward pass reads is made beside the forward pass by a tape that holds, and by others in the
// backward pass. The gradients are the same, and a pass without one makes nothing.
func TestWhatBacksAloneReadIsMadeOnce(t *testing.T) {
	for _, c := range []struct {
		hold, detached bool
		late           int // slopes made by the tape
	}{{false, false, 4}, {true, false, 0}, {false, true, 0}} {
		h, made := &host{}, 0
		tape := grad.NewTape(h, h)
		if c.hold {
			tape.Hold()
		}
		dx := h.array(0, 0)
		chain := func() *grad.Var {
			first := tape.Leaf(h.array(1.5, -0.5), dx)
			x := first
			for range 4 {
				y := squares(tape, x, &made)
				tape.Done(x)
				x = y
			}
			return x
		}
		if c.detached {
			equal(t, "x¹⁶", tape.Detached(chain).Value, 656.84082, 1.5258789e-05)
		} else {
			tape.Backward(chain(), absent)
			first := made
			for range 2 {
				equal(t, "16x¹⁵", dx, 7006.3022, -0.00048828125)
				tape.Replay()
			}
			made = first
		}
		if made != c.late {
			t.Errorf("%+v: the tape made %d slopes, want %d", c, made, c.late)
		}
		tape.Free()
		if h.used != 0 {
			t.Errorf("%+v: %d bytes leaked", c, h.used)
		}
	}
}
