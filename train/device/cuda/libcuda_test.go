package cuda_test

import (
	"testing"

	"hgld/train/device"
	"hgld/train/device/cuda"
	"hgld/train/device/cuda/emu"
)

// A goroutine's stack moves when it grows, and the driver must not be given addresses
// on it. So memory is allocated from stacks that are full to different degrees.
func TestResultsArriveWhileTheStackGrows(t *testing.T) {
	t.Setenv("HGLD_CUDA_LIBS", emu.Build(t))
	b, err := cuda.Open(0)
	if err != nil {
		t.Fatal(err)
	}
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
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

//go:noinline
func allocate(b *cuda.Backend, depth int) device.Buffer {
	if depth > 0 {
		return allocate(b, depth-1)
	}
	return b.Alloc(1000)
}
