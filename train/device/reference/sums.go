package reference

import "hgld/train/device"

// Sums adds up the values of x or their squares, over each row, each column or all elements.
func Sums(x *Array, kind device.Sum) []float64 {
	out := make([]float64, map[device.Sum]int{
		device.SumAll: 1, device.SquaresAll: 1, device.SumRows: x.Rows(), device.SquaresRows: x.Rows(),
		device.SumCols: x.Cols(), device.SquaresCols: x.Cols(),
	}[kind])
	for i, v := range x.V {
		at := 0
		switch kind {
		case device.SumRows, device.SquaresRows:
			at = i / x.Cols()
		case device.SumCols, device.SquaresCols:
			at = i % x.Cols()
		}
		if kind >= device.SquaresAll {
			v *= v
		}
		out[at] += v
	}
	return out
}
