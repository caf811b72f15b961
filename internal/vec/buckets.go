package vec

// Buckets divides the line of numbers into ranges: bucket 0 lies below Low, and the last,
// number Top + 1, takes what is left at the other end.
type Buckets struct {
	Low    float32 // where bucket 1 begins
	Factor float32 // buckets in a unit
	Top    float32 // the last bucket but one, below 2^31
}

// Of writes the bucket of each number of x: min(max((x − Low)·Factor, −1), Top) + 1 without its
// fraction. It never falls while x rises, whatever the rounding. The bucket of NaN is undefined.
func (o *Buckets) Of(dst []uint32, x []float32) {
	dst = dst[:len(x)]
	for i := bucketsFast(dst, x, o); i < len(x); i++ {
		dst[i] = o.One(x[i])
	}
}

// One returns the bucket of one number.
func (o *Buckets) One(x float32) uint32 {
	y := (x - o.Low) * o.Factor
	if !(y > -1) {
		y = -1
	}
	if !(y < o.Top) {
		y = o.Top
	}
	return uint32(int32(y + 1))
}
