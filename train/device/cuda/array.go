package cuda

import (
	"fmt"

	"hgld/train/device"
)

// f32 returns a. It panics if a is present and has another type.
func f32(a device.Array) device.Array { return typed(a, device.F32) }

// i32 is f32 for I32, u8 for U8.
func i32(a device.Array) device.Array { return typed(a, device.I32) }
func u8(a device.Array) device.Array  { return typed(a, device.U8) }

func typed(a device.Array, want device.DType) device.Array {
	if !a.Absent() && a.Type != want {
		panic(fmt.Sprintf("cuda: %v where %v is expected", a, want))
	}
	return a
}

// stride returns the number of elements from one row of a to the next. A row is a run of the
// last dimension.
func stride(a device.Array) int {
	if a.N == 2 {
		return a.Ld
	}
	return a.Cols()
}
