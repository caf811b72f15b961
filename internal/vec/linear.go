package vec

import "math"

// Axpby computes dst = a·x + b·y.
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

// Scale computes dst = a·x.
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

// ScaleWide is Scale with a factor and a product in float64, rounded once.
func ScaleWide(dst []float32, a float64, x []float32) {
	dst = dst[:len(x)]
	for i := scaleWideFast(dst, a, x); i < len(x); i++ {
		dst[i] = float32(float64(x[i]) * a)
	}
}

// ReLU computes dst = x if x is positive or NaN, else +0.
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

// Mask computes dst = d if x is positive, else +0: the gradient of ReLU. A NaN in x counts by
// its sign bit.
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

// Where returns d if v is positive, else +0. It does not branch, since the signs are
// unpredictable.
func Where(v, d float32) float32 {
	bits := int32(math.Float32bits(v))
	keep := uint32(-bits>>31) &^ uint32(bits>>31) // bits > 0
	return math.Float32frombits(math.Float32bits(d) & keep)
}

// Maximum computes dst = max(dst, x). NaN exceeds any number, and +0 exceeds −0.
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

// Route adds rest[i] to dst[i] and sets rest[i] to +0 if x[i] is best[i] or NaN. Called for
// one window position after another, it routes the gradient of a maximum to its first
// position.
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

// NonFinite returns the number of infinities and NaNs in x.
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
