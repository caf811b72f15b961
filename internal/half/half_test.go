package half

import (
	"encoding/binary"
	"math"
	"testing"
)

// value returns the value of a 16-bit float by its definition, in float64.
func value(h uint16, expBits, manBits int) float64 {
	bias := 1<<(expBits-1) - 1
	exp := int(h>>manBits) & (1<<expBits - 1)
	man := float64(h & (1<<manBits - 1))
	sign := 1.0
	if h>>15 == 1 {
		sign = -1
	}
	switch {
	case exp == 1<<expBits-1 && man != 0:
		return math.NaN()
	case exp == 1<<expBits-1:
		return math.Inf(int(sign))
	case exp == 0:
		return math.Copysign(math.Ldexp(man, 1-bias-manBits), sign)
	}
	return sign * math.Ldexp(1+math.Ldexp(man, -manBits), exp-bias)
}

func same(a float32, b float64) bool {
	if b != b {
		return a != a
	}
	return float64(a) == b && math.Signbit(float64(a)) == math.Signbit(b)
}

func TestEveryValueWidensToItsDefinitionAndBack(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		if got, want := F16(h), value(h, 5, 10); !same(got, want) {
			t.Fatalf("F16(%04x) = %v, want %v", h, got, want)
		}
		if got, want := BF16(h), value(h, 8, 7); !same(got, want) {
			t.Fatalf("BF16(%04x) = %v, want %v", h, got, want)
		}
		if v := F16(h); v == v && ToF16(v) != h {
			t.Fatalf("ToF16(F16(%04x)) = %04x", h, ToF16(v))
		}
		if v := BF16(h); v == v && ToBF16(v) != h {
			t.Fatalf("ToBF16(BF16(%04x)) = %04x", h, ToBF16(v))
		}
	}
	nan := float32(math.NaN())
	if v := F16(ToF16(nan)); v == v {
		t.Errorf("binary16 of NaN is %v", v)
	}
	if v := BF16(ToBF16(math.Float32frombits(0x7f800001))); v == v {
		t.Errorf("bfloat16 of a NaN with a low payload is %v", v)
	}
}

// Slices of all lengths around a vector, at any alignment, are converted to the same bits as single
// values.
func TestListsAreWidenedAsSingleValuesAre(t *testing.T) {
	src := make([]byte, 2<<16)
	for i := range 1 << 16 {
		binary.LittleEndian.PutUint16(src[2*i:], uint16(i))
	}
	check := func(first, n int) {
		dst := make([]float32, n+1)
		dst[n] = 7
		for name, widen := range map[string]func(dst []float32, src []byte){"F16": WidenF16, "BF16": WidenBF16} {
			one := map[string]func(uint16) float32{"F16": F16, "BF16": BF16}[name]
			widen(dst[:n], src[2*first:])
			for i, got := range dst[:n] {
				if want := one(uint16(first + i)); math.Float32bits(got) != math.Float32bits(want) {
					t.Fatalf("%s of %04x in a list of %d is %v, want %v", name, first+i, n, got, want)
				}
			}
			if dst[n] != 7 {
				t.Fatalf("%s: %d elements: one more was written", name, n)
			}
		}
	}
	check(0, 1<<16)
	for n := range 40 {
		check(0x3c00+n, n)
	}
}

// Between two neighbours, the result is the nearer one, or at equal distance the one with an even
// last bit.
func TestRoundingIsToNearestEven(t *testing.T) {
	check := func(name string, to func(float32) uint16, expBits, manBits int, h uint16) {
		lo, hi := value(h, expBits, manBits), value(h+1, expBits, manBits)
		if math.IsInf(hi, 0) || hi != hi {
			return
		}
		mid := float32((lo + hi) / 2) // exact: one bit more than the format has
		even := h + h&1
		for _, c := range []struct {
			v    float32
			want uint16
		}{
			{mid, even},
			{math.Nextafter32(mid, float32(lo)), h},
			{math.Nextafter32(mid, float32(hi)), h + 1},
		} {
			if got := to(c.v); got != c.want {
				t.Fatalf("%s(%g) = %04x, want %04x", name, c.v, got, c.want)
			}
			if got := to(-c.v); got != c.want|0x8000 {
				t.Fatalf("%s(%g) = %04x, want %04x", name, -c.v, got, c.want|0x8000)
			}
		}
	}
	for h := range uint16(0x7c00) {
		check("ToF16", ToF16, 5, 10, h)
	}
	for h := range uint16(0x7f80) {
		check("ToBF16", ToBF16, 8, 7, h)
	}
	if got := ToF16(65520); got != 0x7c00 {
		t.Errorf("ToF16(65520) = %04x, want infinity", got)
	}
	if got := ToBF16(math.MaxFloat32); got != 0x7f80 {
		t.Errorf("ToBF16(MaxFloat32) = %04x, want infinity", got)
	}
}
