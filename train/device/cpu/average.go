package cpu

import (
	"sync/atomic"

	"hgld/internal/vec"
	"hgld/train/device"
)

// Average updates a moving average of weights or statistics: dst ← dst + rate·(x − dst).
// If flag is present and not zero, nothing changes.
func (b *Backend) Average(dst, x, rate, flag device.Array) {
	l := linesOf("Average", dst, x)
	if rate.Len() != 1 {
		panic(shapes("Average", rate))
	}
	if isSet(flag) {
		return
	}
	split(b, l.count, l.grain(), averageTask{dst, x, float64(f32(rate)[0]), l})
}

type averageTask struct {
	dst, x device.Array
	rate   float64
	l      lines
}

func (t *averageTask) span(_, lo, hi int) {
	all, from := f32(t.dst), f32(t.x)
	for i := lo; i < hi; i++ {
		dst, x := t.l.of(all, &t.dst, i), t.l.of(from, &t.x, i)
		vec.Approach(dst, x, t.rate)
	}
}

// Track moves running statistics unless those of a batch are not finite, or flag is set.
func (b *Backend) Track(running, stats, rate, flag device.Array, unbiased float32) {
	if !device.AreTracked(running, stats, rate) {
		panic(shapes("Track", running, stats, rate))
	}
	b.Guard(flag, stats)
	if isSet(flag) {
		return
	}
	c, by := running.Cols(), float64(f32(rate)[0])
	dst, x := f32(running), f32(stats)
	vec.Approach(dst[:c], x[:c], by)
	for i := c; i < 2*c; i++ {
		corrected := [1]float32{unbiased * x[i]}
		vec.Approach(dst[i:i+1], corrected[:], by)
	}
}

// Guard adds the number of infinite and NaN values of x to flag.
func (b *Backend) Guard(flag, x device.Array) {
	l := linesOf("Guard", x)
	if flag.Len() != 1 {
		panic(shapes("Guard", flag))
	}
	split(b, l.count, l.grain(), guardTask{&i32(flag)[0], x, l})
}

type guardTask struct {
	flag *int32
	x    device.Array
	l    lines
}

func (t *guardTask) span(_, lo, hi int) {
	x, bad := f32(t.x), int32(0)
	for i := lo; i < hi; i++ {
		bad += int32(vec.NonFinite(t.l.of(x, &t.x, i)))
	}
	if bad > 0 {
		atomic.AddInt32(t.flag, bad) // integer addition: the order does not matter
	}
}
