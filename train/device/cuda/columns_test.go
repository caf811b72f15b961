package cuda_test

import (
	"encoding/binary"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device"
)

// 70,001 rows are 274 spans, which two stages join. Sums of whole numbers are exact.
func TestSumsOfManySpansAreJoinedInTwoStages(t *testing.T) {
	b := emulated(t)
	const rows, width = 70_001, 3
	values, want := make([]float32, rows*width), make([]float32, width)
	for i := range values {
		values[i] = float32(i % 7)
		want[i%width] += values[i]
	}
	data, err := binary.Append(nil, binary.NativeEndian, values)
	must.Do(t, err)
	x, dst := device.New(b, device.F32, rows, width), device.New(b, device.F32, width)
	b.Upload(x, data)
	b.Sums(dst, x, device.SumCols, 0)
	b.Sums(dst, x, device.SumCols, 1)
	got := make([]byte, 4*width)
	must.Do(t, b.Wait(b.Download(got, dst)))
	sums := make([]float32, width)
	if _, err := binary.Decode(got, binary.NativeEndian, sums); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if sums[i] != 2*want[i] {
			t.Errorf("column %d: twice the sum is %v, want %v", i, sums[i], 2*want[i])
		}
	}
}
