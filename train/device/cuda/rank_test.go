package cuda_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"hgld/train/device"
	"hgld/train/device/cuda"
	"hgld/train/device/cuda/emu"
)

// open returns a Backend on the emulator.
func open(t *testing.T) *cuda.Backend {
	t.Helper()
	t.Setenv("HGLD_CUDA_LIBS", emu.Build(t))
	b, err := cuda.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	b.Poison = true
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// put uploads x as an array with the given dimensions.
func put[T float32 | int32 | uint8](t *testing.T, b *cuda.Backend, x []T, dims ...int) device.Array {
	t.Helper()
	d := device.F32
	switch any(x).(type) {
	case []int32:
		d = device.I32
	case []uint8:
		d = device.U8
	}
	data, err := binary.Append(nil, binary.NativeEndian, x)
	if err != nil {
		t.Fatal(err)
	}
	a := device.New(b, d, dims...)
	b.Upload(a, data)
	return a
}

// get downloads an array.
func get[T float32 | int32 | uint8](t *testing.T, b *cuda.Backend, a device.Array) []T {
	t.Helper()
	data := make([]byte, a.Len()*a.Type.Size())
	if err := b.Wait(b.Download(data, a)); err != nil {
		t.Fatal(err)
	}
	x := make([]T, a.Len())
	if _, err := binary.Decode(data, binary.NativeEndian, x); err != nil {
		t.Fatal(err)
	}
	return x
}

// Rows of a million items take all passes of the sort, and seventeen of them do not fit
// its scratch memory at once.
func TestRankedSortsLongRows(t *testing.T) {
	const queries, items = 17, 1_000_000
	b := open(t)
	r := rand.New(rand.NewPCG(13, 1))
	scores, levels := make([]float32, queries*items), make([]uint8, queries*items)
	for i := range scores {
		scores[i] = float32(r.IntN(1<<18)-1<<17) / (1 << 17) // four of a score
		if levels[i] = uint8(r.IntN(3)); r.IntN(16) == 0 {
			levels[i], scores[i] = device.AbsentLevel, float32(math.NaN())
		}
	}
	shared, order := device.New(b, device.U8, queries, items), device.New(b, device.I32, queries, items)
	b.Ranked(shared, order, put(t, b, scores, queries, items), put(t, b, levels, queries, items))
	gotShared, gotOrder := get[uint8](t, b, shared), get[int32](t, b, order)
	for q := range queries {
		row := q * items
		checkRanked(t, gotShared[row:row+items], gotOrder[row:row+items], scores[row:row+items], levels[row:row+items])
	}
}

// checkRanked checks that a row is sorted: scores fall, rows rise where they are equal,
// and what exists is there once.
func checkRanked(t *testing.T, shared []uint8, order []int32, scores []float32, levels []uint8) {
	t.Helper()
	exist := 0
	for _, l := range levels {
		if l != device.AbsentLevel {
			exist++
		}
	}
	for place, row := range order {
		if place >= exist {
			if row != -1 || shared[place] != device.AbsentLevel {
				t.Fatalf("place %d of %d: row %d, level %d", place, exist, row, shared[place])
			}
			continue
		}
		want := levels[row]
		if place > 0 {
			before := order[place-1]
			if scores[before] == scores[row] {
				want |= 0x80
			}
			if !(scores[before] > scores[row] || scores[before] == scores[row] && before < row) {
				t.Fatalf("place %d: row %d of score %v after row %d of score %v", place, row, scores[row], before, scores[before])
			}
		}
		if shared[place] != want {
			t.Fatalf("place %d: level %d, want %d", place, shared[place], want)
		}
	}
}
