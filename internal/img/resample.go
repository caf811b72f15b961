package img

import (
	"encoding/binary"
	"fmt"
	"image"
	"math"
)

// Filter is a resampling kernel. When an image shrinks, the kernel is widened so that every source
// pixel counts (antialiasing).
type Filter int

// The filters of Pillow that recipes use.
const (
	Bilinear Filter = iota // triangle, support 1
	Bicubic                // Keys' cubic with a = −0.5, support 2
	Lanczos                // sinc(x)·sinc(x/3), support 3
)

// support returns the radius outside which the kernel is zero, in source pixels before widening.
func (f Filter) support() float64 {
	switch f {
	case Bilinear:
		return 1
	case Bicubic:
		return 2
	case Lanczos:
		return 3
	}
	panic(fmt.Sprintf("img: unknown filter %d", int(f)))
}

// weight returns the kernel at x. Products are converted before they are added, which forbids fused
// multiply-add, so the last bit is the same on every processor.
func (f Filter) weight(x float64) float64 {
	x = math.Abs(x)
	switch {
	case f == Bilinear && x < 1:
		return 1 - x
	case f == Bicubic && x < 1:
		const a = -0.5
		return float64((float64((a+2)*x)-(a+3))*x*x) + 1
	case f == Bicubic && x < 2:
		const a = -0.5
		return (float64((float64((x-5)*x)+8)*x) - 4) * a
	case f == Lanczos && x < 3:
		return sinc(x) * sinc(x/3)
	}
	return 0
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	x *= math.Pi
	return math.Sin(x) / x
}

// Box is a part of an image in pixels. Its edges may be fractions.
type Box struct{ X0, Y0, X1, Y1 float32 }

// Resampler resizes images and keeps its scratch buffers between calls. The zero value is ready to
// use. It is not safe for concurrent use.
type Resampler struct {
	horizontal, vertical Taps
	between              []byte // rows between the passes

	packed [][3]uint64 // scratch of the plain passes
	sums   [][4]uint64
	plain  bool // use only them: they define the result

	pairs []uint32 // scratch of the passes in assembly
	spare []byte
}

// Resize resizes src to w×h pixels in dst. dst must not share memory with src.
//
// The two passes are those of Pillow up to version 12: first horizontal, with a result rounded to
// bytes, then vertical. A pass that would change nothing is skipped.
func (r *Resampler) Resize(dst, src *RGB, w, h int, f Filter) {
	r.ResizeCrop(dst, src, src.Bounds(), w, h, f)
}

// ResizeCrop resizes a crop of src to w×h pixels in dst. The result equals cropping first and
// resizing then: no pixel outside the crop counts, unlike in ResizeBox.
func (r *Resampler) ResizeCrop(dst, src *RGB, crop image.Rectangle, w, h int, f Filter) {
	view := src.part(crop)
	r.resize(dst, view, Box{0, 0, float32(view.w), float32(view.h)}, w, h, f)
}

// ResizeBox resizes the part box of src to w×h pixels in dst. Pixels outside the box count if the
// kernel reaches them.
func (r *Resampler) ResizeBox(dst, src *RGB, box Box, w, h int, f Filter) {
	src.check()
	if !(box.X0 >= 0 && box.Y0 >= 0 && box.X1 > box.X0 && box.Y1 > box.Y0) || box.X1 > float32(src.W) ||
		box.Y1 > float32(src.H) {
		panic(fmt.Sprintf("img: box %v of an image of %d×%d", box, src.W, src.H))
	}
	r.resize(dst, view{pix: src.Pix, stride: 3 * src.W, w: src.W, h: src.H}, box, w, h, f)
}

// view is a rectangle of pixels inside a larger image.
type view struct {
	pix    []byte
	stride int
	w, h   int
}

func (v view) row(y int) [][3]byte {
	return triples(v.pix[y*v.stride : y*v.stride+3*v.w])
}

func (r *Resampler) resize(dst *RGB, src view, box Box, w, h int, f Filter) {
	if w <= 0 || h <= 0 {
		panic(fmt.Sprintf("img: resize to %d×%d", w, h))
	}
	dst.reset(w, h)
	across := w != src.w || box.X0 != 0 || box.X1 != float32(w)
	down := h != src.h || box.Y0 != 0 || box.Y1 != float32(h)
	if across {
		r.horizontal.set(src.w, w, box.X0, box.X1, f)
	}
	if down {
		r.vertical.set(src.h, h, box.Y0, box.Y1, f)
	}
	whole := view{pix: dst.Pix, stride: 3 * w, w: w, h: h}
	switch {
	case across && down:
		r.passBoth(whole, src, &r.horizontal, &r.vertical)
	case across:
		mid := r.rows(w, h)
		r.passAcross(mid, src, 0, &r.horizontal)
		whole.copy(mid)
	case down:
		mid := r.rows(w, src.h)
		mid.copy(src)
		r.passDown(whole, mid, 0, &r.vertical)
	default:
		whole.copy(src)
	}
}

// copy copies the pixels of a view of the same size.
func (v view) copy(src view) {
	for y := range v.h {
		copy(v.row(y), src.row(y))
	}
}

// Apply computes every pixel of dst, whose size is set, from a part of src with the taps of its
// column and row. The taps count from the corner of the part.
func (r *Resampler) Apply(dst, src *RGB, part image.Rectangle, across, down *Taps) {
	dst.check()
	if len(across.First) != dst.W || len(down.First) != dst.H {
		panic(fmt.Sprintf("img: taps of %d×%d pixels for an image of %d×%d", len(across.First), len(down.First), dst.W,
			dst.H))
	}
	r.passBoth(view{dst.Pix, 3 * dst.W, dst.W, dst.H}, src.part(part), across, down)
}

// part returns a part of an image. It panics unless the image has it.
func (m *RGB) part(r image.Rectangle) view {
	if r.Empty() || !r.In(m.Bounds()) {
		panic(fmt.Sprintf("img: crop %v of an image of %d×%d", r, m.W, m.H))
	}
	m.check()
	return view{pix: m.Pix[3*(r.Min.Y*m.W+r.Min.X):], stride: 3 * m.W, w: r.Dx(), h: r.Dy()}
}

// passBoth resamples the rows that the columns need, and then the columns.
func (r *Resampler) passBoth(dst, src view, across, down *Taps) {
	from, to := down.Span()
	mid := r.rows(dst.w, to-from)
	r.passAcross(mid, src, from, across)
	r.passDown(dst, mid, from, down)
}

// rows returns the memory between the passes, with undefined content. The vector instructions read
// and write beyond its pixels: at the end of each row, and below the last one.
func (r *Resampler) rows(w, h int) view {
	stride := (3*w + vectorBytes) &^ (vectorBytes - 1)
	r.between = grow(r.between, stride*((h+rowsAtOnce-1)/rowsAtOnce*rowsAtOnce+1))
	return view{pix: r.between, stride: stride, w: w, h: h}
}

const (
	vectorBytes = 32 // of a vector
	rowsAtOnce  = 4  // rows that passAcross computes together
)

// passAcross resamples rows. The first one is row `from` of src. dst is memory from rows.
func (r *Resampler) passAcross(dst, src view, from int, t *Taps) {
	if r.plain || !r.acrossFast(dst, src, from, t) {
		r.acrossPlain(dst, src, from, t)
	}
}

// passDown resamples the columns of src, memory from rows, whose first row is row `from` of the
// image that the taps refer to.
func (r *Resampler) passDown(dst, src view, from int, t *Taps) {
	if r.plain || !r.downFast(dst, src, from, t) {
		r.downPlain(dst, src, from, t)
	}
}

// Both plain passes add two values in one 64-bit word, 32 bits each. The product of a weight and a word
// is the product with either half. A negative lower sum borrows from the upper one, which unpack
// corrects.

const (
	half  = 1 << (precision - 1) // rounds the sum
	halfs = half | half<<32
)

// unpack returns the two sums of a word as pixels.
func unpack(x uint64) (lower, upper byte) {
	low := int32(x)
	return clip8(low >> precision), clip8(int32((x-uint64(low))>>32) >> precision)
}

// acrossPlain is passAcross, two rows at a time.
func (r *Resampler) acrossPlain(dst, src view, from int, t *Taps) {
	if cap(r.packed) < src.w {
		r.packed = make([][3]uint64, src.w)
	}
	packed := r.packed[:src.w]
	for y := 0; y < dst.h; y += 2 {
		next := min(y+1, dst.h-1) // an odd last row is paired with itself
		pack(packed, src.row(from+y), src.row(from+next))
		addAcross(dst.row(y), dst.row(next), packed, t)
	}
}

// pack puts the pixels of two rows into the halves of words.
func pack(dst [][3]uint64, a, b [][3]byte) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		p, q, d := &a[i], &b[i], &dst[i]
		d[0] = uint64(p[0]) | uint64(q[0])<<32
		d[1] = uint64(p[1]) | uint64(q[1])<<32
		d[2] = uint64(p[2]) | uint64(q[2])<<32
	}
}

func addAcross(a, b [][3]byte, src [][3]uint64, t *Taps) {
	first, count := t.First[:len(a)], t.Count[:len(a)]
	b = b[:len(a)]
	weights := t.Weight
	for i := range a {
		w := weights[:count[i]]
		s := src[first[i]:]
		s = s[:len(w)]
		var red, green, blue uint64 = halfs, halfs, halfs
		for j, w := range w {
			p := &s[j]
			red += uint64(w) * p[0]
			green += uint64(w) * p[1]
			blue += uint64(w) * p[2]
		}
		a[i][0], b[i][0] = unpack(red)
		a[i][1], b[i][1] = unpack(green)
		a[i][2], b[i][2] = unpack(blue)
		weights = weights[t.Width:]
	}
}

// downPlain is passDown. It adds whole rows, so that memory is read in order: eight bytes to four
// words, and the bytes after the last eight separately.
func (r *Resampler) downPlain(dst, src view, from int, t *Taps) {
	n := 3 * src.w
	if cap(r.sums) < n/8 {
		r.sums = make([][4]uint64, n/8)
	}
	sums := r.sums[:n/8]
	line := func(y int) []byte { return src.pix[y*src.stride:][:n] }
	for y := range dst.h {
		for i := range sums {
			sums[i] = [4]uint64{halfs, halfs, halfs, halfs}
		}
		w := t.Weight[y*t.Width:][:t.Count[y]]
		at := int(t.First[y]) - from
		j := 0
		for ; j+1 < len(w); j += 2 {
			addDown(sums, line(at+j), line(at+j+1), uint64(w[j]), uint64(w[j+1]))
		}
		if j < len(w) {
			addDown(sums, line(at+j), line(at+j), uint64(w[j]), 0)
		}
		out := dst.pix[y*dst.stride:][:n]
		for i := range sums {
			s, o := &sums[i], out[8*i:8*i+8:8*i+8]
			o[0], o[4] = unpack(s[0])
			o[1], o[5] = unpack(s[1])
			o[2], o[6] = unpack(s[2])
			o[3], o[7] = unpack(s[3])
		}
		for i := n / 8 * 8; i < n; i++ {
			sum := int32(half)
			for j, w := range w {
				sum += w * int32(line(at + j)[i])
			}
			out[i] = clip8(sum >> precision)
		}
	}
}

// addDown adds two rows, each multiplied by its weight.
func addDown(sums [][4]uint64, a, b []byte, wa, wb uint64) {
	const bytes = 0x000000ff000000ff
	a, b = a[:8*len(sums)], b[:8*len(sums)]
	for i := range sums {
		x := binary.LittleEndian.Uint64(a[8*i : 8*i+8])
		y := binary.LittleEndian.Uint64(b[8*i : 8*i+8])
		s := &sums[i]
		s[0] += wa*(x&bytes) + wb*(y&bytes)
		s[1] += wa*(x>>8&bytes) + wb*(y>>8&bytes)
		s[2] += wa*(x>>16&bytes) + wb*(y>>16&bytes)
		s[3] += wa*(x>>24&bytes) + wb*(y>>24&bytes)
	}
}

// clip8 limits x to a byte.
func clip8(x int32) byte {
	if uint32(x) > 255 {
		x = ^(x >> 31)
	}
	return byte(x)
}

// Resize returns m resized to w×h pixels.
func Resize(m *RGB, w, h int, f Filter) *RGB {
	dst := new(RGB)
	new(Resampler).Resize(dst, m, w, h, f)
	return dst
}
