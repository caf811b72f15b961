package half

import "encoding/binary"

// WidenF16 is F16 of each of the numbers in src, little endian. src has two bytes for each
// element of dst.
func WidenF16(dst []float32, src []byte) {
	src = src[:2*len(dst)]
	for i := widenFast(dst, src, true); i < len(dst); i++ {
		dst[i] = F16(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

// WidenBF16 is WidenF16 for bfloat16.
func WidenBF16(dst []float32, src []byte) {
	src = src[:2*len(dst)]
	for i := widenFast(dst, src, false); i < len(dst); i++ {
		dst[i] = BF16(binary.LittleEndian.Uint16(src[2*i:]))
	}
}
