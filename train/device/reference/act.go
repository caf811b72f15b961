package reference

import (
	"math"

	"hgld/train/device"
)

// Act returns f(x).
func Act(f device.Func, x float64) float64 {
	switch f {
	case device.ReLU:
		return max(x, 0)
	case device.GELU:
		return x * math.Erfc(-x/math.Sqrt2) / 2
	case device.GELUTanh:
		return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	case device.QuickGELU:
		return x / (1 + math.Exp(-1.702*x))
	}
	return x
}
