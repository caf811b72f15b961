package cpu

import "hgld/train/device"

// checkRank panics unless rel has one row per query and the others have the size of sh. It
// skips absent arrays.
func checkRank(op string, sh, rel device.Array, others ...device.Array) {
	fits := sh.N == 2 && rel.N == 2 && rel.Dims[0] == sh.Dims[0] && rel.Dims[1] >= 2 &&
		rel.Dims[1] <= device.AbsentLevel
	for _, a := range others {
		fits = fits && (a.Absent() || a.N == 2 && a.Dims == sh.Dims)
	}
	if !fits {
		panic(shapes(op, append([]device.Array{sh, rel}, others...)...))
	}
}

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
