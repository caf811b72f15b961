package cpu

import (
	"encoding/binary"
	"fmt"
	"math"

	"hgld/internal/half"
	"hgld/train/device"
)

// Copy sets dst to src, converted to dst's type. Between floats it rounds to nearest even.
// It converts a float to an integer by truncation, a value out of range to the nearest
// representable one, and NaN to zero.
func (b *Backend) Copy(dst, src device.Array) {
	l := linesOf("Copy", dst, src)
	split(b, l.count, l.grain(), copyTask{dst, src, l})
}

// Fill sets every element to v, converted as by Copy.
func (b *Backend) Fill(dst device.Array, v float32) {
	l := linesOf("Fill", dst)
	split(b, l.count, l.grain(), fillTask{dst, v, l})
}

type copyTask struct {
	dst, src device.Array
	l        lines
}

func (t *copyTask) span(_, lo, hi int) {
	dst, src := bytesOf(t.dst), bytesOf(t.src)
	sizeD, sizeS := t.dst.Type.Size(), t.src.Type.Size()
	for i := lo; i < hi; i++ {
		fromD, toD := t.l.bounds(&t.dst, i)
		fromS, toS := t.l.bounds(&t.src, i)
		to, from := dst[fromD*sizeD:toD*sizeD], src[fromS*sizeS:toS*sizeS]
		if t.dst.Type == t.src.Type {
			copy(to, from)
			continue
		}
		convert(to, t.dst.Type, from, t.src.Type)
	}
}

type fillTask struct {
	dst device.Array
	v   float32
	l   lines
}

func (t *fillTask) span(_, lo, hi int) {
	var one [4]byte
	size := t.dst.Type.Size()
	narrowTo(one[:size], t.dst.Type, []float64{float64(t.v)})
	dst := bytesOf(t.dst)
	for i := lo; i < hi; i++ {
		from, to := t.l.bounds(&t.dst, i)
		line := dst[from*size : to*size]
		copy(line, one[:size])
		for done := size; done < len(line); done *= 2 {
			copy(line[done:], line[:done])
		}
	}
}

// convert converts by way of float64, which represents every value of every type.
func convert(dst []byte, to device.DType, src []byte, from device.DType) {
	var wide [256]float64
	sizeD, sizeS := to.Size(), from.Size()
	for len(src) > 0 {
		n := min(len(wide), len(src)/sizeS)
		widenFrom(wide[:n], from, src)
		narrowTo(dst[:n*sizeD], to, wide[:n])
		dst, src = dst[n*sizeD:], src[n*sizeS:]
	}
}

func widenFrom(dst []float64, t device.DType, src []byte) {
	for i := range dst {
		switch t {
		case device.F32:
			dst[i] = float64(math.Float32frombits(binary.NativeEndian.Uint32(src[4*i:])))
		case device.BF16:
			dst[i] = float64(half.BF16(binary.NativeEndian.Uint16(src[2*i:])))
		case device.F16:
			dst[i] = float64(half.F16(binary.NativeEndian.Uint16(src[2*i:])))
		case device.I32:
			dst[i] = float64(int32(binary.NativeEndian.Uint32(src[4*i:])))
		case device.U8:
			dst[i] = float64(src[i])
		default:
			panic(fmt.Sprintf("cpu: unknown type %d", t))
		}
	}
}

func narrowTo(dst []byte, t device.DType, src []float64) {
	for i, v := range src {
		switch t {
		case device.F32:
			binary.NativeEndian.PutUint32(dst[4*i:], math.Float32bits(float32(v)))
		case device.BF16:
			binary.NativeEndian.PutUint16(dst[2*i:], half.ToBF16(float32(v)))
		case device.F16:
			binary.NativeEndian.PutUint16(dst[2*i:], half.ToF16(float32(v)))
		case device.I32:
			binary.NativeEndian.PutUint32(dst[4*i:], uint32(int32(clip(v, math.MinInt32, math.MaxInt32))))
		case device.U8:
			dst[i] = uint8(clip(v, 0, 255))
		default:
			panic(fmt.Sprintf("cpu: unknown type %d", t))
		}
	}
}

// clip bounds v to [lo, hi]; NaN becomes 0.
func clip(v, lo, hi float64) float64 {
	if v != v {
		return 0
	}
	return min(max(v, lo), hi)
}
