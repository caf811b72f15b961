package cpu

import (
	"fmt"
	"math"

	"hgld/train/device"
)

// words is the sequence of random words of a draw. Element i gets word i mod 4 of the Philox
// block with the counter (i div 4 as two words, stream, 0).
type words struct {
	key    [2]uint32
	stream uint32
	at     uint64 // index of the next element
	block  [4]uint32
}

// wordsFrom returns the words from element at on.
func wordsFrom(key []int32, stream uint32, at int) words {
	w := words{key: [2]uint32{uint32(key[0]), uint32(key[1])}, stream: stream, at: uint64(at)}
	w.draw()
	return w
}

func (w *words) draw() {
	n := w.at / 4
	w.block = device.Philox([4]uint32{uint32(n), uint32(n >> 32), w.stream, 0}, w.key)
}

func (w *words) next() uint32 {
	if w.at%4 == 0 {
		w.draw()
	}
	v := w.block[w.at%4]
	w.at++
	return v
}

// Random draws each element of dst from its own word w, in float64:
//
//	Uniform:         A + (B − A)·u, u the upper 24 bits of w over 2²⁴; a result rounded
//	                 to B becomes the number before B
//	Normal:          A + B·Φ⁻¹(v), v = (w + ½)/2³²
//	TruncatedNormal: A + B·Φ⁻¹(Φ(−2) + v·(Φ(2) − Φ(−2)))
func (b *Backend) Random(dst, key device.Array, stream uint32, d device.Dist) {
	if key.Len() != 2 || d.Kind > device.TruncatedNormal {
		panic(fmt.Sprintf("%s, distribution %d", shapes("Random", dst, key), d.Kind))
	}
	l := linesOf("Random", dst)
	split(b, l.count, l.grain(), randomTask{dst, i32(key), stream, d, l})
}

type randomTask struct {
	dst    device.Array
	key    []int32
	stream uint32
	d      device.Dist
	l      lines
}

func (t *randomTask) span(_, lo, hi int) {
	all := f32(t.dst)
	for i := lo; i < hi; i++ {
		w := wordsFrom(t.key, t.stream, i*t.l.width)
		dst := t.l.of(all, &t.dst, i)
		for j := range dst {
			dst[j] = sample(w.next(), t.d)
		}
	}
}

// below2 is Φ(−2) = 0.5·erfc(√2), the probability below two standard deviations.
const below2 = 0.022750131948179207200

// sample maps a random word to a number with distribution d.
func sample(word uint32, d device.Dist) float32 {
	a, b := float64(d.A), float64(d.B)
	if d.Kind == device.Uniform {
		v := float32(a + (b-a)*float64(device.Unit(word)))
		if v == d.B && d.A != d.B {
			v = math.Nextafter32(d.B, d.A)
		}
		return v
	}
	v := (float64(word) + 0.5) * 0x1p-32
	if d.Kind == device.TruncatedNormal {
		v = below2 + v*(1-2*below2)
	}
	return float32(a + b*quantile(v))
}

// quantile returns Φ⁻¹(v).
func quantile(v float64) float64 { return math.Sqrt2 * math.Erfinv(2*v-1) }
