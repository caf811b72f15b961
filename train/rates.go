package train

import (
	"time"

	"hgld/train/device"
	"hgld/train/device/observe"
)

// Rates are what a device reaches with large arrays, measured. An operation goes faster only
// where its arrays lie in a cache.
type Rates struct {
	// Copy is the bytes that a copy from array to array reads and writes in a second.
	Copy float64 `json:"copied_bytes_per_second"`

	// Products is the floating-point operations in a second of a product of square matrices
	// that are stored as activations are.
	Products float64 `json:"product_flops_per_second"`
}

const (
	leastRound = 20 * time.Millisecond // of work, so that starting it does not count
	rateRounds = 5                     // of which the fastest counts

	mostCopied = 256 << 20 // bytes of an array
	mostSide   = 4096      // of a matrix
)

// MeasureRates measures what b reaches where activations are stored as t. It takes up to 512
// MiB of the device's memory while it measures.
func MeasureRates(b device.Backend, t device.DType) (r Rates, err error) {
	if !b.Supports(t) {
		t = device.F32 // in which b computes instead
	}
	err = device.Do(b, func() error {
		r.Copy = fastest(b, 1<<20, mostCopied, func(bytes int) (func(), float64, []device.Array) {
			from, to := device.New(b, device.U8, bytes), device.New(b, device.U8, bytes)
			b.Fill(from, 0)
			return func() { b.Copy(to, from) }, 2 * float64(bytes), []device.Array{from, to}
		})
		r.Products = fastest(b, 64, mostSide, func(n int) (func(), float64, []device.Array) {
			x, y, dst := device.New(b, t, n, n), device.New(b, t, n, n), device.New(b, t, n, n)
			b.Fill(x, 1)
			b.Fill(y, 1)
			return func() { b.MatMul(dst, x, y, device.Mul{Alpha: 1}) }, 2 * float64(n) * float64(n) * float64(n),
				[]device.Array{x, y, dst}
		})
		return b.Sync()
	})
	return r, err
}

// fastest doubles the size of some work until it takes a round, or is the greatest. It returns
// the rate of the last in units of its amount a second. prepare returns the work, its amount, and
// the arrays that it needs.
func fastest(b device.Backend, size, most int, prepare func(size int) (func(), float64, []device.Array)) float64 {
	for ; ; size *= 2 {
		work, amount, arrays := prepare(size)
		work() // memory grows in the first
		took := timeOf(b, work, 1)
		rate := 0.0
		if last := took >= leastRound || 2*size > most; last {
			runs := 1 + int(leastRound/max(took, time.Microsecond))
			for range rateRounds {
				rate = max(rate, amount*float64(runs)/timeOf(b, work, runs).Seconds())
			}
		}
		for _, a := range arrays {
			b.Free(a.Buf)
		}
		if rate > 0 {
			return rate
		}
	}
}

// timeOf returns how long so many runs of some work take.
func timeOf(b device.Backend, work func(), runs int) time.Duration {
	_ = b.Sync() // its error is kept, and comes at the end
	began := time.Now()
	for range runs {
		work()
	}
	_ = b.Sync()
	return max(time.Since(began), time.Nanosecond)
}

// seconds is the modelled time of a call: of its bytes at the rate of copies or of its products
// at theirs, whichever is longer.
func (r Rates) seconds(c observe.Call) float64 { return max(c.Bytes/r.Copy, c.FLOPs/r.Products) }
