package cuda

import "hgld/train/device"

// Adam updates w, m and v from dw unless flag is set.
func (b *Backend) Adam(w, m, v, dw, shadow, hyper, flag device.Array, o device.AdamKind) {
	n := flatLen("Adam", w, m, v, dw, shadow)
	if hyper.Len() != device.HyperLen {
		panic(shapes("Adam", hyper))
	}
	c := b.op("Adam")
	wide, each := c.byFour(w, m, v, dw, shadow)
	c.ptr(f32(w)).ptr(f32(m)).ptr(f32(v)).ptr(f32(dw)).ptr(shadow).i32(int(shadow.Type)).
		ptr(f32(hyper)).ptr(i32(flag)).f32(o.Beta1).f32(o.Beta2).f32(o.Eps).flag(o.Decoupled).i64(n).flag(wide).
		run("optim", "adam_f32", blocks(n, 256*each), 256, 0)
}

// SGD updates w and m from dw unless flag is set. m may be absent without momentum.
func (b *Backend) SGD(w, m, dw, shadow, hyper, flag device.Array, o device.SGDKind) {
	n := flatLen("SGD", w, m, dw, shadow)
	if hyper.Len() != device.HyperLen || m.Absent() && o.Momentum != 0 {
		panic(shapes("SGD", w, m, hyper))
	}
	c := b.op("SGD")
	wide, each := c.byFour(w, m, dw, shadow)
	c.ptr(f32(w)).ptr(f32(m)).ptr(f32(dw)).ptr(shadow).i32(int(shadow.Type)).
		ptr(f32(hyper)).ptr(i32(flag)).f32(o.Momentum).f32(o.Dampening).flag(o.Nesterov).i64(n).flag(wide).
		run("optim", "sgd_f32", blocks(n, 256*each), 256, 0)
}

// byFour reports whether 16 bytes of flat arrays can be read at once, which are four elements of F32,
// and how many of these a thread has then.
func (c *call) byFour(arrays ...device.Array) (wide bool, each int) {
	for _, a := range arrays {
		if c.address(a)%16 != 0 {
			return false, 1
		}
	}
	return true, 4
}

// flatLen returns the length of contiguous arrays, such as those of a parameter group.
func flatLen(op string, arrays ...device.Array) int {
	if l := linesOf(op, arrays...); l.rows == 1 {
		return l.width
	}
	panic(shapes(op, arrays...))
}

// Average computes dst += rate·(x − dst) unless flag is set.
func (b *Backend) Average(dst, x, rate, flag device.Array) {
	l := linesOf("Average", dst, x)
	if rate.Len() != 1 {
		panic(shapes("Average", rate))
	}
	b.op("Average").ptr(f32(dst)).i64(stride(dst)).ptr(f32(x)).i64(stride(x)).i64(l.rows).i64(l.width).
		ptr(f32(rate)).ptr(i32(flag)).run("optim", "average_f32", blocks(l.len(), 256), 256, 0)
}

// Track moves running statistics unless those of a batch are not finite, or flag is set. One block does it: it needs to
// know of all values before it changes one.
func (b *Backend) Track(running, stats, rate, flag device.Array, unbiased float32) {
	if !device.AreTracked(running, stats, rate) {
		panic(shapes("Track", running, stats, rate))
	}
	b.op("Track").ptr(f32(running)).ptr(f32(stats)).ptr(f32(rate)).ptr(i32(flag)).i64(running.Cols()).f32(unbiased).
		run("optim", "track_f32", 1, 256, 0)
}

// Guard adds the number of non-finite values of x to flag.
func (b *Backend) Guard(flag, x device.Array) {
	l := linesOf("Guard", x)
	if flag.Len() != 1 {
		panic(shapes("Guard", flag, x))
	}
	c := b.op("Guard")
	wide, each := c.byFour(x)
	if l.rows > 1 {
		wide, each = false, 1
	}
	c.ptr(i32(flag)).ptr(f32(x)).i64(stride(x)).i64(l.rows).i64(l.width).flag(wide).
		run("optim", "guard_f32", blocks(l.len(), 256*each), 256, 0)
}

// Pace counts an update and writes the constants that depend on the number of updates, unless
// flag is set.
func (b *Backend) Pace(dst, count, flag device.Array, o device.PaceKind) {
	want := 3
	if o.Kind == device.Mean {
		want = 1
	}
	if dst.Len() != want || !dst.Contiguous() || count.Len() != 1 {
		panic(shapes("Pace", dst, count))
	}
	b.op("Pace").ptr(f32(dst)).ptr(i32(count)).ptr(i32(flag)).i32(int(o.Kind)).f32(o.Beta1).f32(o.Beta2).
		f64(o.Decay).flag(o.Rise).run("optim", "pace_f32", 1, 32, 0)
}
