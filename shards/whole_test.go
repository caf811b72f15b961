package shards

import (
	"sync"
	"testing"

	"hgld/internal/img"
)

// The parts of an image take one decoding, also at once; an image that is large, or of which other images came since,
// is decoded again.
func TestAnImageIsDecodedOnceForItsParts(t *testing.T) {
	count, lock := map[byte]int{}, sync.Mutex{}
	w := wholeImages{most: 2}
	decode := func(file byte, side int) {
		w.decode([32]byte{file}, img.Info{W: side, H: side}, func() (*img.RGB, error) {
			lock.Lock()
			defer lock.Unlock()
			count[file]++
			return img.NewRGB(1, 1), nil
		})
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { decode(1, 10) })
	}
	all.Wait()
	for _, file := range []byte{2, 1, 3, 1} {
		decode(file, 10)
	}
	decode(4, 10_000)
	decode(4, 10_000)
	if count[1] != 2 || count[2] != 1 || count[4] != 2 {
		t.Errorf("decoded %v times, want the first image twice, the second once, the large one twice", count)
	}
}
