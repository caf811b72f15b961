package observe

import (
	"time"

	"hgld/train/device"
)

// Rates are measured speeds of a device on large arrays. An operation is faster only if its
// arrays are in a cache.
type Rates struct {
	// Copy is the bytes per second that a copy between arrays reads and writes.
	Copy float64 `json:"copied_bytes_per_second"`

	// Products is the floating-point operations per second of a product of square matrices stored
	// as activations are.
	Products float64 `json:"product_flops_per_second"`
}

const (
	leastRound = 20 * time.Millisecond // length of a measurement, so that its start does not matter
	rateRounds = 5                     // the fastest counts

	mostCopied = 256 << 20 // bytes of an array
	mostSide   = 4096      // side of a matrix
)

// MeasureRates measures the rates of b with activations stored as t. It takes up to 512 MiB of
// device memory while it runs.
func MeasureRates(b device.Backend, t device.DType) (r Rates, err error) {
	if !b.Supports(t) {
		t = device.F32 // b computes in F32 instead
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

// fastest doubles the size of some work until it takes leastRound or reaches most. It returns the
// rate of the last size, in units of its amount per second. prepare returns the work, its amount,
// and the arrays that it needs.
func fastest(b device.Backend, size, most int, prepare func(size int) (func(), float64, []device.Array)) float64 {
	for ; ; size *= 2 {
		work, amount, arrays := prepare(size)
		work() // the first run allocates
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

// timeOf returns how long runs repetitions of work take.
func timeOf(b device.Backend, work func(), runs int) time.Duration {
	_ = b.Sync() // the error is kept and returned at the end
	began := time.Now()
	for range runs {
		work()
	}
	_ = b.Sync()
	return max(time.Since(began), time.Nanosecond)
}

// Seconds returns the modelled time of a call: its bytes at the rate of copies or its products at
// their rate, whichever is longer.
func (r Rates) Seconds(c Call) float64 { return max(c.Bytes/r.Copy, c.FLOPs/r.Products) }
