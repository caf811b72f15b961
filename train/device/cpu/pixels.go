package cpu

import (
	"fmt"
	"math"

	"hgld/train/device"
)

// Pixels converts bytes [N,H',W',3] to activations. From each image it takes the window of
// dst's size at (top, left), mirrored if flip is 1. A value is (b/255 − Mean)/Std, with every
// step rounded to float32. Channels beyond three are zero. crop is I32 [N,3]: top, left, flip.
// Without crop the window is centred; half a pixel rounds to even.
func (b *Backend) Pixels(dst, bytes, crop device.Array, o device.Pixel) {
	if dst.N != 4 || bytes.N != 4 || bytes.Dims[3] != 3 || dst.Dims[3] < 3 || dst.Dims[0] != bytes.Dims[0] ||
		dst.Dims[1] > bytes.Dims[1] || dst.Dims[2] > bytes.Dims[2] || !crop.Absent() && crop.Len() != 3*dst.Dims[0] {
		panic(shapes("Pixels", dst, bytes, crop))
	}
	t := pixelsTask{dst: f32(dst), bytes: u8(bytes), crop: i32(crop), to: dst.Dims, from: bytes.Dims}
	t.value = scratch[[3]float32](b, "pixels", 256)
	for v := range t.value {
		for c := range 3 {
			t.value[v][c] = (float32(v)/255 - o.Mean[c]) / o.Std[c]
		}
	}
	split(b, dst.Dims[0], 1, t)
}

type pixelsTask struct {
	dst      []float32
	bytes    []uint8
	crop     []int32
	value    [][3]float32 // activation of each byte value, by channel
	to, from [4]int
}

func (t *pixelsTask) span(_, lo, hi int) {
	for n := lo; n < hi; n++ {
		top, left, flip := middle(t.from[1], t.to[1]), middle(t.from[2], t.to[2]), false
		if t.crop != nil {
			top, left, flip = int(t.crop[3*n]), int(t.crop[3*n+1]), t.crop[3*n+2] != 0
		}
		if top < 0 || left < 0 || top+t.to[1] > t.from[1] || left+t.to[2] > t.from[2] {
			panic(fmt.Sprintf("cpu: Pixels: window of %d×%d at (%d, %d) of an image of %d×%d",
				t.to[1], t.to[2], top, left, t.from[1], t.from[2]))
		}
		for i := range t.to[1] {
			t.line(t.dst[(n*t.to[1]+i)*t.to[2]*t.to[3]:], t.bytes[((n*t.from[1]+top+i)*t.from[2]+left)*3:], flip)
		}
	}
}

func middle(length, window int) int { return int(math.RoundToEven(float64(length-window) / 2)) }

func (t *pixelsTask) line(dst []float32, bytes []uint8, flip bool) {
	width, channels := t.to[2], t.to[3]
	for j := range width {
		from := bytes[3*j:][:3]
		if flip {
			from = bytes[3*(width-1-j):][:3]
		}
		pixel := dst[j*channels:][:channels]
		for c, v := range from {
			pixel[c] = t.value[v][c]
		}
		clear(pixel[3:])
	}
}
