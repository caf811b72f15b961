// Package ranksort sorts rows by decreasing score, and equal scores by row, which is the order of
// every ranking. A score and a row are packed into one integer, so that a radix sort can order
// them.
package ranksort

import "math"

// Key returns a sort key that rises as the score falls. Its lower bits hold a payload
// that does not affect the order. −0 and +0 are the same score.
func Key(s float32, payload uint32) uint64 {
	bits := math.Float32bits(s + 0)
	if bits>>31 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 31
	}
	return uint64(^bits)<<32 | uint64(payload)
}

// Score returns the score of a key.
func Score(key uint64) float32 {
	bits := ^uint32(key >> 32)
	if bits>>31 == 1 {
		return math.Float32frombits(bits &^ (1 << 31))
	}
	return math.Float32frombits(^bits)
}

// Digits of the radix sort. A histogram of 2^11 fits the L1 cache, but clearing it for a short
// row would cost more than a fourth pass over the keys.
const (
	wideDigit   = 11
	narrowDigit = 8

	// ShortRow is the length of a row from which the digits are wide.
	ShortRow = 2000
)

// Sort sorts stably by the upper 32 bits. It returns the sorted keys, in the memory of
// keys or of spare.
func Sort(keys, spare []uint64) []uint64 {
	if len(keys) < ShortRow {
		var counts [4 << narrowDigit]int32
		return radixSort(keys, spare, counts[:], narrowDigit)
	}
	var counts [3 << wideDigit]int32
	return radixSort(keys, spare, counts[:], wideDigit)
}

// radixSort sorts from the lowest digit to the highest and skips digits that all keys share.
// counts must be zero and holds one histogram per digit.
func radixSort(keys, spare []uint64, counts []int32, digit int) []uint64 {
	mask := uint64(1)<<digit - 1
	passes := len(counts) >> digit
	for _, k := range keys {
		k >>= 32
		for p := range passes {
			counts[p<<digit|int(k&mask)]++
			k >>= digit
		}
	}
	for p := range passes {
		count := counts[p<<digit : (p+1)<<digit]
		shift := 32 + p*digit
		if len(keys) == 0 || int(count[keys[0]>>shift&mask]) == len(keys) {
			continue
		}
		at := int32(0)
		for d, n := range count {
			count[d] = at
			at += n
		}
		for _, k := range keys {
			d := k >> shift & mask
			spare[count[d]] = k
			count[d]++
		}
		keys, spare = spare[:len(keys)], keys
	}
	return keys
}
