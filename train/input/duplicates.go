package input

import (
	"context"
	"crypto/sha256"
)

// Copies finds, for each query, the first gallery image that is the same file byte for byte, or
// −1. Some benchmarks repeat their queries in the gallery under another name. Copies also returns
// the number of queries with a copy.
func Copies(ctx context.Context, query, gallery Dataset) (rows []int32, copies int, err error) {
	first := map[[sha256.Size]byte]int32{}
	for i := range gallery.Len() {
		data, err := gallery.Image(ctx, i)
		if err != nil {
			return nil, 0, err
		}
		sum := sha256.Sum256(data)
		if _, seen := first[sum]; !seen {
			first[sum] = int32(i)
		}
	}
	rows = make([]int32, query.Len())
	for i := range rows {
		data, err := query.Image(ctx, i)
		if err != nil {
			return nil, 0, err
		}
		row, found := first[sha256.Sum256(data)]
		if rows[i] = -1; found {
			rows[i] = row
			copies++
		}
	}
	return rows, copies, nil
}

// First returns the first n items of a data set.
func First(d Dataset, n int) Dataset {
	s := &Subset{Of: d}
	for i := range min(n, d.Len()) {
		s.Rows = append(s.Rows, i)
	}
	return s
}
