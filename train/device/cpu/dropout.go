package cpu

import (
	"fmt"

	"hgld/train/device"
)

// Dropout keeps element i, divided by 1 − p, where the upper 24 bits of its word
// (see Random) over 2²⁴ are at least p, and makes it 0 elsewhere, also if it was
// not finite. dst may be x.
func (b *Backend) Dropout(dst, x, key device.Array, stream uint32, p float32) {
	if key.Len() != 2 || !(p >= 0 && p < 1) {
		panic(fmt.Sprintf("%s, p = %v", shapes("Dropout", dst, x, key), p))
	}
	l := linesOf("Dropout", dst, x)
	split(b, l.count, l.grain(), dropoutTask{dst, x, i32(key), stream, p, l})
}

type dropoutTask struct {
	dst, x device.Array
	key    []int32
	stream uint32
	p      float32
	l      lines
}

func (t *dropoutTask) span(_, lo, hi int) {
	allDst, allX, scale := f32(t.dst), f32(t.x), 1/(1-t.p)
	for i := lo; i < hi; i++ {
		w := wordsFrom(t.key, t.stream, i*t.l.width)
		dst, x := t.l.of(allDst, &t.dst, i), t.l.of(allX, &t.x, i)
		for j, v := range x {
			if device.Unit(w.next()) < t.p {
				v = 0
			}
			dst[j] = v * scale
		}
	}
}
