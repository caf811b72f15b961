package device

import (
	"math"
	"testing"
)

// The vectors are those that the authors ship with their code (Random123,
// kat_vectors, philox4x32 with ten rounds).
func TestPhiloxEqualsThePublishedVectors(t *testing.T) {
	const ones = 0xffffffff
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{ones, ones, ones, ones}, [2]uint32{ones, ones},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := Philox(c.counter, c.key); got != c.want {
			t.Errorf("Philox(%x, %x) = %x, want %x", c.counter, c.key, got, c.want)
		}
	}
}

func TestUnitFillsTheIntervalEvenly(t *testing.T) {
	const n, bins = 1 << 14, 16
	var count [bins]int
	sum := 0.0
	for i := range uint32(n) {
		for _, w := range Philox([4]uint32{i, 0, 7, 0}, [2]uint32{1, 2}) {
			u := Unit(w)
			if u < 0 || u >= 1 {
				t.Fatalf("Unit(%#x) = %v", w, u)
			}
			sum += float64(u)
			count[int(u*bins)]++
		}
	}
	if mean := sum / (4 * n); math.Abs(mean-0.5) > 5*math.Sqrt(1.0/12/(4*n)) { // five standard errors
		t.Errorf("mean %v", mean)
	}
	for i, c := range count {
		if want := 4.0 * n / bins; math.Abs(float64(c)-want) > 5*math.Sqrt(want) {
			t.Errorf("bin %d holds %d of %v", i, c, want)
		}
	}
	if Unit(math.MaxUint32) >= 1 || Unit(0) != 0 {
		t.Error("the ends of the interval are wrong")
	}
}
