package img

import "golang.org/x/sys/cpu"

// The assembly multiplies 16-bit numbers. A weight is split into upper·2¹¹ + lower, where lower has
// 11 bits without a sign. A dword holds the parts of two neighbouring taps, as VPMADDWD multiplies
// them. Sums are exact modulo 2³², like those of the plain passes.

const lowerBits = 11

// split returns the parts of a weight, and whether the upper one fits in 16 bits.
func split(w int32) (upper, lower uint32, fits bool) {
	up := w >> lowerBits
	return uint32(uint16(up)), uint32(w) & (1<<lowerBits - 1), up == int32(int16(up))
}

// acrossAVX2 computes a pixel of four rows for each of the outputs, and writes a fourth byte behind
// each pixel. A group is four taps: its weights are the upper parts of two pairs, then the lower
// parts. For each group it reads 16 bytes of a row.
//
//go:noescape
func acrossAVX2(dst *byte, dstStride int, src *byte, srcStride int, first *int32, weights *uint32, outputs, groups int)

// downAVX2 computes blocks of 32 bytes of a row. The weights of two rows are a dword of upper parts and
// one of lower parts.
//
//go:noescape
func downAVX2(dst, src *byte, stride int, weights *uint32, pairs, blocks int)

// acrossFast is passAcross with AVX2. It reports whether the processor and the weights allow it.
func (r *Resampler) acrossFast(dst, src view, from int, t *Taps) bool {
	groups, reach, fits := r.groups(t)
	if !fits || dst.h == 0 || groups == 0 {
		return false
	}
	four := func(y int, pix []byte, stride int) {
		acrossAVX2(&dst.pix[y*dst.stride], dst.stride, &pix[0], stride, &t.First[0], &r.pairs[0], dst.w, groups)
	}
	// Behind the last rows of an image, there may be too few bytes to read.
	direct := 0
	if most := len(src.pix) - reach; most >= 0 {
		direct = min(dst.h, max(most/src.stride+1-from, 0)) &^ (rowsAtOnce - 1)
	}
	for y := 0; y < direct; y += rowsAtOnce {
		four(y, src.pix[(from+y)*src.stride:], src.stride)
	}
	stride := max(reach, 3*src.w)
	if direct < dst.h {
		r.spare = grow(r.spare, rowsAtOnce*stride)
	}
	for y := direct; y < dst.h; y += rowsAtOnce {
		for k := range min(rowsAtOnce, dst.h-y) {
			copy(r.spare[k*stride:], src.pix[(from+y+k)*src.stride:][:3*src.w])
		}
		four(y, r.spare, stride)
	}
	return true
}

// groups stores the weights for acrossAVX2. It returns the number of groups of an output, and how many
// bytes from its beginning a row is read.
func (r *Resampler) groups(t *Taps) (groups, reach int, fits bool) {
	if !cpu.X86.HasAVX2 {
		return 0, 0, false
	}
	most, last := int32(0), int32(0)
	for i, count := range t.Count {
		most, last = max(most, count), max(last, t.First[i])
	}
	groups = int(most+3) / 4
	r.pairs = grow(r.pairs, 4*groups*len(t.Count))
	clear(r.pairs)
	for i, count := range t.Count {
		to := r.pairs[4*groups*i:][:4*groups]
		for j, w := range t.Weight[i*t.Width:][:count] {
			upper, lower, fits := split(w)
			if !fits {
				return 0, 0, false
			}
			at, shift := j/4*4+j/2%2, 16*(j%2)
			to[at] |= upper << shift
			to[at+2] |= lower << shift
		}
	}
	return groups, 3*int(last) + 12*groups + 4, true
}

// downFast is passDown with AVX2. It reports whether the processor and the weights allow it.
func (r *Resampler) downFast(dst, src view, from int, t *Taps) bool {
	if !cpu.X86.HasAVX2 {
		return false
	}
	r.pairs = grow(r.pairs, 2*((t.Width+1)/2))
	n := 3 * dst.w
	for y := range dst.h {
		count := int(t.Count[y])
		out := dst.pix[y*dst.stride:][:n]
		if count == 0 {
			clear(out)
			continue
		}
		pairs := (count + 1) / 2
		to := r.pairs[:2*pairs]
		clear(to)
		for j, w := range t.Weight[y*t.Width:][:count] {
			upper, lower, fits := split(w)
			if !fits {
				return false
			}
			to[j/2*2] |= upper << (16 * (j % 2))
			to[j/2*2+1] |= lower << (16 * (j % 2))
		}
		row := src.pix[(int(t.First[y])-from)*src.stride:]
		if n < vectorBytes {
			var block [vectorBytes]byte
			downAVX2(&block[0], &row[0], src.stride, &to[0], pairs, 1)
			copy(out, block[:])
			continue
		}
		downAVX2(&out[0], &row[0], src.stride, &to[0], pairs, n/vectorBytes)
		if last := n - vectorBytes; n%vectorBytes > 0 { // it overlaps the block before
			downAVX2(&out[last], &row[last], src.stride, &to[0], pairs, 1)
		}
	}
	return true
}
