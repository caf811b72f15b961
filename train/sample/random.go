package sample

import "math/bits"

// Random is a stream of random numbers that is a pure function of its key, a list of numbers such
// as (seed, epoch, row): SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
// Generators", OOPSLA 2014). It is implemented here because its draws decide the bytes of a
// training run, which must not change with the version of a library.
type Random struct{ state uint64 }

// NewRandom starts the stream of a key. Streams of different keys are independent, even if one
// key is a prefix of the other.
func NewRandom(key ...uint64) *Random {
	r := new(Random)
	r.Start(key...)
	return r
}

// Start starts the stream of a key, in the place of another.
func (r *Random) Start(key ...uint64) {
	r.state = uint64(len(key))
	for _, k := range key {
		r.state = r.Uint64() ^ k
	}
	r.state = r.Uint64()
}

// Uint64 returns the next 64 bits.
func (r *Random) Uint64() uint64 {
	r.state += 0x9E3779B97F4A7C15
	z := r.state
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// IntN returns a number in [0, n), each equally likely (Lemire, "Fast Random
// Integer Generation in an Interval", 2019).
func (r *Random) IntN(n int) int {
	if n <= 0 {
		panic("sample: IntN needs a positive n")
	}
	bound := uint64(n)
	hi, lo := bits.Mul64(r.Uint64(), bound)
	for lo < bound && lo < -bound%bound {
		hi, lo = bits.Mul64(r.Uint64(), bound)
	}
	return int(hi)
}

// Float64 returns a number in [0, 1).
func (r *Random) Float64() float64 { return float64(r.Uint64()>>11) / (1 << 53) }

// Choose returns k different numbers in [0, n) in random order, in O(k) time (Floyd's algorithm,
// then a shuffle).
func (r *Random) Choose(n, k int) []int {
	chosen := make([]int, 0, k)
	taken := make(map[int]bool, k)
	for j := n - k; j < n; j++ {
		at := r.IntN(j + 1)
		if taken[at] {
			at = j
		}
		taken[at] = true
		chosen = append(chosen, at)
	}
	shuffle(r, chosen)
	return chosen
}
