package cuda

import (
	"fmt"

	"hgld/train/device"
)

// f32 returns a as it is and panics if it is there and of another type.
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

// stride returns the elements from one row of a to the next, rows being the runs of its
// last dimension.
func stride(a device.Array) int {
	if a.N == 2 {
		return a.Ld
	}
	return a.Cols()
}
