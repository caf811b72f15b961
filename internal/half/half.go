// Package half converts between float32 and the two 16-bit floating-point formats: IEEE binary16
// (F16) and bfloat16 (BF16). It rounds to the nearest, ties to even. Infinities, signed zeros and
// denormals are preserved, and a NaN becomes a quiet NaN.
package half

import "math"

// ToF16 rounds v to binary16; from 65520 up the result is infinite.
func ToF16(v float32) uint16 {
	bits := math.Float32bits(v)
	sign, abs := uint16(bits>>16)&0x8000, bits&0x7fffffff
	switch {
	case abs > 0x7f800000: // NaN: keep the upper bits of the payload
		return sign | 0x7e00 | uint16(abs>>13)&0x3ff
	case abs >= 0x477ff000: // half way from the largest value, 65504, to 2^16
		return sign | 0x7c00
	case abs < 0x38800000: // below 2^-14: a multiple of 2^-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(abs))*0x1p24))
	}
	odd := abs >> 13 & 1
	return sign | uint16((abs-112<<23+0xfff+odd)>>13)
}

// F16 widens a binary16, exactly.
func F16(h uint16) float32 {
	sign, exp, man := uint32(h&0x8000)<<16, uint32(h>>10)&31, uint32(h&0x3ff)
	switch exp {
	case 0:
		return math.Float32frombits(sign | math.Float32bits(float32(man)*0x1p-24))
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}

// ToBF16 rounds v to bfloat16.
func ToBF16(v float32) uint16 {
	bits := math.Float32bits(v)
	if bits&0x7fffffff > 0x7f800000 {
		return uint16(bits>>16) | 0x40
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// BF16 widens a bfloat16, exactly.
func BF16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }
