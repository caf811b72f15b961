package cuda_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"hgld/train/device"
)

// Arrays of many elements look activations up in a table. Every argument gives the bytes of an array of few.
func TestTabledActivationsGiveTheBytesOfComputedOnes(t *testing.T) {
	b := emulated(t)
	const arguments, repeated = 1 << 16, 64
	few := make([]byte, 2*arguments)
	for i := range arguments {
		binary.NativeEndian.PutUint16(few[2*i:], uint16(i))
	}
	array := func(data []byte) device.Array {
		a := device.New(b, device.BF16, len(data)/2)
		b.Upload(a, data)
		return a
	}
	const rest = 5 // elements that are no group of eight
	many := func(data []byte) []byte { return append(bytes.Repeat(data, repeated), data[:2*rest]...) }
	x, manyX := array(few), array(many(few))
	for _, f := range []device.Func{device.GELU, device.GELUTanh, device.QuickGELU} {
		for name, compute := range map[string]func(dst, x device.Array){
			"forward": func(dst, x device.Array) { b.Act(dst, x, f) },
			"slope":   func(dst, x device.Array) { b.ActSlope(device.Array{}, dst, x, f) },
			"slope beside the result": func(dst, x device.Array) {
				y := device.New(b, device.BF16, x.Len())
				b.ActSlope(y, dst, x, f)
				b.Free(y.Buf)
			},
			"beside the slope, in place": func(dst, x device.Array) {
				slope := device.New(b, device.BF16, x.Len())
				b.Copy(dst, x)
				b.ActSlope(dst, slope, dst, f)
				b.Free(slope.Buf)
			},
		} {
			y, manyY := device.New(b, device.BF16, x.Len()), device.New(b, device.BF16, manyX.Len())
			compute(y, x)
			compute(manyY, manyX)
			want, got := many(download(t, b, y)), download(t, b, manyY)
			for i := 0; i < len(want); i += 2 {
				w, g := binary.NativeEndian.Uint16(want[i:]), binary.NativeEndian.Uint16(got[i:])
				if w != g && !(w&0x7fff > 0x7f80 && g&0x7fff > 0x7f80) { // of a NaN the compiler chooses the sign
					t.Errorf("activation %d, %s: element %d is %x, want %x", f, name, i/2, g, w)
					break
				}
			}
			b.Free(y.Buf)
			b.Free(manyY.Buf)
		}
	}
	for _, kernel := range []string{"act_table_bf16", "act_bf16", "act_slope_bf16"} {
		if !b.Ran(kernel) {
			t.Errorf("%s did not run", kernel)
		}
	}
}

// A product with a factor is one call of cuDNN, which rounds once: 3·87 alone would be rounded to 260.
func TestVendorMultipliesAProductByAFactor(t *testing.T) {
	v := openVendor(t, "bfloat16")
	x, y, dst := device.New(v, device.BF16, 3, 87), device.New(v, device.BF16, 87, 8), device.New(v, device.BF16, 3, 8)
	factor, back := device.New(v, device.BF16, 3, 8), device.New(v, device.F32, 3, 8)
	v.Fill(x, 3)
	v.Fill(y, 1)
	v.Fill(factor, 1.0078125)
	v.MatMul(dst, x, y, device.Mul{Alpha: 1, Factor: factor})
	v.Copy(back, dst)
	if out := download(t, v.Backend, back); string(out[:4]) != string(numbers(264)) {
		t.Errorf("a product of 261 by 1.0078125 is %v, want 264", out[:4])
	}
	if products, convolutions := v.queued(); products != 0 || convolutions != 1 {
		t.Errorf("%d products and %d convolutions by the libraries, want 0 and 1", products, convolutions)
	}
}
