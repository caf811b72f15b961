package cuda_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"hgld/internal/half"
	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cuda"
)

// A result of rows that a warp holds in registers has the bytes of layernorm.cu, which computes it in double: also near
// ties, and where float overflows. Rows that are not aligned are those of layernorm.cu.
func TestHeldRowsOfLayerNormHaveTheBytesOfOthers(t *testing.T) {
	b := emulated(t)
	for _, width := range []int{96, 128, 384, 768, 1024} {
		r := rand.New(rand.NewPCG(uint64(width), 1))
		x, dy := hardRows(r, width)
		for name, v := range hardVectors(r, x[:width]) {
			held := layerNorm(t, b, width, 0, x, dy, v)
			for i, want := range layerNorm(t, b, width, 1, x, dy, v) {
				for at := range want {
					if !sameNumber(held[i][at], want[at], i >= sums) {
						t.Errorf("width %d, %s: %s has %g at %d, want %g", width, name, layerResults[i], held[i][at], at, want[at])
						break
					}
				}
			}
		}
	}
}

// Rows whose statistics, or whose gradients, are outside what float holds are computed in double.
func TestHeldRowsOfLayerNormBeyondFloat(t *testing.T) {
	b := emulated(t)
	const width, tiny, large = 96, 0x1p-130, 0x1.8p127
	x, short := device.New(b, device.BF16, 2, width), make([]uint16, 2*width)
	y, dx := device.New(b, device.BF16, 2, width), device.New(b, device.BF16, 2, width)
	stats := device.New(b, device.F32, 2, 2)
	ones, zeros := device.New(b, device.F32, width), device.New(b, device.F32, width)
	b.Fill(ones, 1)
	b.Fill(zeros, 0)
	sign := func(j int) float32 { return float32(1 - j%2*2) }
	for j := range short {
		short[j] = half.ToBF16(sign(j) * tiny)
	}
	b.Upload(x, encoded(t, short))
	b.LayerNorm(y, stats, x, ones, zeros, 0)
	for j, v := range widened(y.Type, download(t, b, y)) {
		if v != sign(j) {
			t.Fatalf("y[%d] is %g, want %g", j, v, sign(j))
		}
	}

	// x̂ is 1 or -1, and dy is large·x̂ but for the first two elements, -large·x̂: mean(g·x̂) is 92/96 large, and
	// g − x̂·mean(g·x̂) of these two is nearly twice the largest float.
	for j := range short {
		short[j] = half.ToBF16(sign(j) * 0x1p40)
	}
	b.Upload(x, encoded(t, short))
	b.Upload(stats, numbers(0, 0x1p-40, 0, 0x1p-40))
	for j := range short {
		short[j] = half.ToBF16(sign(j) * large)
		if j%width < 2 {
			short[j] ^= 0x8000
		}
	}
	dy := device.New(b, device.BF16, 2, width)
	b.Upload(dy, encoded(t, short))
	b.LayerNormGrad(dx, device.Array{}, device.Array{}, dy, x, ones, stats, device.Array{}, 0)
	want := half.BF16(half.ToBF16(float32(0x1p-40 * (-large - large*92/96))))
	if got := widened(dx.Type, download(t, b, dx)); got[0] != want || got[1] != -want || got[width] != want {
		t.Errorf("dx begins with %g and %g, the next row with %g; want ±%g", got[0], got[1], got[width], want)
	}
}

var layerResults = []string{"y", "stats", "dx", "dx + dy", "dγ", "dβ"}

const sums = 4 // the first of layerResults that is a sum over rows

// sameNumber reports whether two numbers are equal, or differ by the rounding of a sum in another order. A GPU has one
// NaN, and the emulator many.
func sameNumber(a, b float32, sum bool) bool {
	apart := math.Abs(float64(a) - float64(b))
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b || sum && apart <= 0x1p-22*math.Abs(float64(b))
}

// layerNorm returns what LayerNorm and its gradient write, with rows that begin at column `first` of an array.
func layerNorm(t *testing.T, b *cuda.Backend, width, first int, x, dy []float32, v [2][]float32) (results [][]float32) {
	t.Helper()
	rows := len(x) / width
	matrix := func(from []float32) device.Array {
		a := device.New(b, device.BF16, rows, width+8*first).ColRange(first, first+width)
		if from != nil {
			short := make([]uint16, len(from))
			for i, v := range from {
				short[i] = half.ToBF16(v)
			}
			b.Upload(a, encoded(t, short))
		}
		return a
	}
	vector := func(from []float32) (a device.Array) {
		if from != nil {
			a = device.New(b, device.F32, len(from))
			b.Upload(a, encoded(t, from))
		}
		return a
	}
	y, stats, dx, gamma := matrix(nil), device.New(b, device.F32, rows, 2), matrix(nil), vector(v[0])
	dgamma, dbeta := device.New(b, device.F32, width), device.New(b, device.F32, width)
	b.LayerNorm(y, stats, matrix(x), gamma, vector(v[1]), 1e-6)
	b.LayerNormGrad(dx, dgamma, dbeta, matrix(dy), matrix(x), gamma, stats, device.Array{}, 0)
	sum := matrix(dy)
	b.LayerNormGrad(sum, dgamma, dbeta, matrix(dy), matrix(x), gamma, stats, sum, 1)
	for _, a := range []device.Array{y, stats, dx, sum, dgamma, dbeta} {
		results = append(results, widened(a.Type, download(t, b, a)))
	}
	return results
}

func widened(t device.DType, data []byte) (v []float32) {
	for ; len(data) > 0; data = data[t.Size():] {
		if t == device.BF16 {
			v = append(v, half.BF16(binary.NativeEndian.Uint16(data)))
		} else {
			v = append(v, math.Float32frombits(binary.NativeEndian.Uint32(data)))
		}
	}
	return v
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	data, err := binary.Append(nil, binary.NativeEndian, v)
	must.Do(t, err)
	return data
}

// hardRows returns inputs and gradients for every way in which a result in float could be rounded differently. The
// first row is an ordinary one.
func hardRows(r *rand.Rand, width int) (x, dy []float32) {
	normal := func(scale, mean float64) func(int) float64 {
		return func(int) float64 { return mean + scale*r.NormFloat64() }
	}
	but := func(at int, v float64) func(int) float64 {
		return func(j int) float64 {
			if j == at {
				return v
			}
			return r.NormFloat64()
		}
	}
	rows := [][2]func(int) float64{
		{normal(1, 0), normal(1, 0)},
		{normal(1, 100), normal(1e-7, 0)},
		{func(j int) float64 { return 1000 + float64(j%2)*8 }, func(j int) float64 { return float64(j%2*2 - 1) }},
		{normal(0, 3), normal(1, 0)},
		{normal(0, 0), normal(1, 0)},
		{normal(1, 0), normal(0, 0)},
		{normal(1, 0), func(j int) float64 { return math.Copysign(0, float64(j%2)-0.5) }},
		{but(3, 1e9), but(7, 1e12)},
		{normal(1e-39, 0), normal(1e-39, 0)},
		{normal(1e-12, 0), normal(1e30, 0)},
		{normal(1e12, 0), normal(1, 0)},
		{func(j int) float64 { return float64(j)/64 - 2 }, func(j int) float64 { return float64(j%7) - 3 }},
	}
	for _, v := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		rows = append(rows, [][2]func(int) float64{{but(1, v), normal(1, 0)}, {normal(1, 0), but(width-1, v)}}...)
	}
	for range 8 {
		rows = append(rows, rows[0])
	}
	for _, row := range rows {
		for j := range width {
			x, dy = append(x, float32(row[0](j))), append(dy, float32(row[1](j)))
		}
	}
	return x, dy
}

// hardVectors returns γ and β by names. With some of them the results of the row x lie within the rounding of β from a
// tie of bfloat16.
func hardVectors(r *rand.Rand, x []float32) map[string][2][]float32 {
	mean, variance, n := 0.0, 0.0, float64(len(x))
	short := func(v float32) float64 { return float64(half.BF16(half.ToBF16(v))) }
	for _, v := range x {
		mean += short(v) / n
	}
	for _, v := range x {
		variance += (short(v) - mean) * (short(v) - mean) / n
	}
	var gamma, ties, wild, far []float32
	values := []float64{0, 1e-30, 1e30, 1e-42, -1e-38, math.Inf(1), math.NaN(), 3e38}
	for j, v := range x {
		g, w := float32(r.NormFloat64()), float32(values[j%len(values)])
		result := (short(v) - mean) / math.Sqrt(variance+1e-6) * float64(g)
		tie := math.Float32frombits(math.Float32bits(float32(result+r.NormFloat64()))&0xffff0000 | 0x8000)
		gamma, ties = append(gamma, g), append(ties, float32(float64(tie)-result))
		wild, far = append(wild, w), append(far, float32(values[(j/len(values))%len(values)]))
	}
	return map[string][2][]float32{
		"ties": {gamma, ties}, "extreme vectors": {wild, far}, "extreme β": {gamma, far},
	}
}
