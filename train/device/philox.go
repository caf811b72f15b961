package device

import "math/bits"

// Philox is the counter-based generator Philox 4x32-10 of Salmon et al., "Parallel Random
// Numbers: As Easy as 1, 2, 3", SC 2011, section 4.2. Its four random words depend only on
// counter and key, so that any element of any draw can be computed at any time on any device. The
// multiplications of its rounds replace a block cipher; ten rounds are the published choice.
func Philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	const (
		multiplier0, multiplier1 = 0xD2511F53, 0xCD9E8D57
		weyl0, weyl1             = 0x9E3779B9, 0xBB67AE85 // golden ratio, √3 − 1
	)
	for range 10 {
		hi0, lo0 := bits.Mul32(multiplier0, counter[0])
		hi1, lo1 := bits.Mul32(multiplier1, counter[2])
		counter = [4]uint32{hi1 ^ counter[1] ^ key[0], lo1, hi0 ^ counter[3] ^ key[1], lo0}
		key[0] += weyl0
		key[1] += weyl1
	}
	return counter
}

// Unit maps a random word to [0, 1): its upper 24 bits, exact in float32.
func Unit(word uint32) float32 { return float32(word>>8) * 0x1p-24 }
