package vec

import "math"

// Axpby is dst = a·x + b·y.
func Axpby(dst []float32, a float32, x []float32, b float32, y []float32) {
	dst, y = dst[:len(x)], y[:len(x)]
	n := axpbyFast(dst, a, x, b, y)
	axpby(dst[n:], a, x[n:], b, y[n:])
}

func axpby(dst []float32, a float32, x []float32, b float32, y []float32) {
	for i, v := range x {
		dst[i] = float32(a*v) + float32(b*y[i])
	}
}

// Scale is dst = a·x.
func Scale(dst []float32, a float32, x []float32) {
	dst = dst[:len(x)]
	n := scaleFast(dst, a, x)
	scale(dst[n:], a, x[n:])
}

func scale(dst []float32, a float32, x []float32) {
	for i, v := range x {
		dst[i] = a * v
	}
}

// ReLU is dst = x where x is positive or NaN and +0 elsewhere.
func ReLU(dst, x []float32) {
	dst = dst[:len(x)]
	n := reluFast(dst, x)
	relu(dst[n:], x[n:])
}

func relu(dst, x []float32) {
	for i, v := range x {
		dst[i] = positive(v)
	}
}

func positive(v float32) float32 {
	if v <= 0 {
		return 0
	}
	return v
}

// Mask is dst = d where x is positive and +0 elsewhere, the gradient of ReLU. A
// NaN in x counts as its sign says.
func Mask(dst, d, x []float32) {
	dst, d = dst[:len(x)], d[:len(x)]
	n := maskFast(dst, d, x)
	mask(dst[n:], d[n:], x[n:])
}

func mask(dst, d, x []float32) {
	for i, v := range x {
		dst[i] = Where(v, d[i])
	}
}

// Where is d where v is positive and +0 elsewhere, without a branch: half of the
// values are positive in no order that a processor could predict.
func Where(v, d float32) float32 {
	bits := int32(math.Float32bits(v))
	keep := uint32(-bits>>31) &^ uint32(bits>>31) // bits > 0
	return math.Float32frombits(math.Float32bits(d) & keep)
}

// Maximum is dst = max(dst, x). NaN is greater than any number, and +0 than −0.
func Maximum(dst, x []float32) {
	dst = dst[:len(x)]
	n := maximumFast(dst, x)
	maximum(dst[n:], x[n:])
}

func maximum(dst, x []float32) {
	for i, v := range x {
		dst[i] = max(dst[i], v)
	}
}

// Route moves rest[i] to dst[i], adding, where x[i] is best[i] or NaN, and leaves
// +0 in rest there: calls for one window after another give the gradient of a
// maximum to its first place.
func Route(dst, rest, x, best []float32) {
	dst, rest, best = dst[:len(x)], rest[:len(x)], best[:len(x)]
	n := routeFast(dst, rest, x, best)
	route(dst[n:], rest[n:], x[n:], best[n:])
}

func route(dst, rest, x, best []float32) {
	for i, v := range x {
		moved := float32(0)
		if v == best[i] || v != v {
			moved, rest[i] = rest[i], 0
		}
		dst[i] += moved
	}
}

// NonFinite counts the infinities and NaNs in x.
func NonFinite(x []float32) int {
	n, count := nonFiniteFast(x)
	return count + nonFinite(x[n:])
}

func nonFinite(x []float32) int {
	count := 0
	for _, v := range x {
		if math.Float32bits(v)&infinite == infinite {
			count++
		}
	}
	return count
}

const infinite = 0x7f800000
