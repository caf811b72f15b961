package vec

//go:noescape
func bucketsAVX2(dst *uint32, x *float32, n int, o *Buckets)

func bucketsFast(dst []uint32, x []float32, o *Buckets) int {
	n := whole8(len(x))
	if n > 0 {
		bucketsAVX2(at(dst), at(x), n, o)
	}
	return n
}
