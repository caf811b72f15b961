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
