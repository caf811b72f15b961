package cpu

import "hgld/train/device"

// row returns row i of a matrix a whose elements are x.
func row[T any](x []T, a device.Array, i int) []T { return x[i*a.Ld : i*a.Ld+a.Dims[1]] }

func widen(dst []float64, src []float32) {
	for i, v := range src {
		dst[i] = float64(v)
	}
}

func narrow(dst []float32, src []float64) {
	for i, v := range src {
		dst[i] = float32(v)
	}
}
