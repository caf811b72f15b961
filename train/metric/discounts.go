package metric

import (
	"math"
	"sync"
)

// discounts holds 1/log2(1+i) for i = 1, 2, … at index i−1, and their running sums. All lists of
// a process share one copy, because it takes megabytes and a while to compute for a large
// gallery.
type discounts struct {
	places, ideal []float64
}

var (
	discountsMutex sync.Mutex
	discountsSoFar discounts
)

// discountsOf returns the discounts of at least n places. The result never changes afterwards.
func discountsOf(n int) discounts {
	discountsMutex.Lock()
	defer discountsMutex.Unlock()
	have := len(discountsSoFar.places)
	if n <= have {
		return discountsSoFar
	}
	n = max(n, 2*have)
	d := discounts{make([]float64, n), make([]float64, n)}
	copy(d.places, discountsSoFar.places)
	sum := 0.0
	for i := range n {
		if i >= have {
			d.places[i] = 1 / math.Log2(1+float64(i+1))
		}
		sum += d.places[i]
		d.ideal[i] = sum
	}
	discountsSoFar = d
	return d
}
