package cuda_test

import (
	"testing"

	"hgld/train/device"
	"hgld/train/device/cuda"
)

// A goroutine's stack moves when it grows, so the driver must not get addresses on it. The
// test allocates memory from stacks of different depths.
func TestResultsArriveWhileTheStackGrows(t *testing.T) {
	b := emulated(t)
	for depth := range 500 {
		done := make(chan device.Buffer)
		go func() { done <- allocate(b, depth) }()
		buf := <-done
		b.Upload(device.Make(buf, 0, device.U8, 1000), make([]byte, 1000))
		b.Free(buf)
		if err := b.Sync(); err != nil {
			t.Fatalf("%d frames deep: %v", depth, err)
		}
	}
}

//go:noinline
func allocate(b *cuda.Backend, depth int) device.Buffer {
	if depth > 0 {
		return allocate(b, depth-1)
	}
	return b.Alloc(1000)
}
