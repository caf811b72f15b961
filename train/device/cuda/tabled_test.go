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
	factors := make([]byte, 2*arguments)
	for i := range arguments {
		binary.NativeEndian.PutUint16(few[2*i:], uint16(i))
		binary.NativeEndian.PutUint16(factors[2*i:], uint16(40503*i+1)) // another of the 2¹⁶ for each
	}
	array := func(data []byte) device.Array {
		a := device.New(b, device.BF16, len(data)/2)
		b.Upload(a, data)
		return a
	}
	const rest = 5 // elements that are no group of eight
	many := func(data []byte) []byte { return append(bytes.Repeat(data, repeated), data[:2*rest]...) }
	x, dy, manyX, manyDY := array(few), array(factors), array(many(few)), array(many(factors))
	for _, f := range []device.Func{device.GELU, device.GELUTanh, device.QuickGELU} {
		for name, compute := range map[string]func(dst, x, dy device.Array){
			"forward":  func(dst, x, _ device.Array) { b.Act(dst, x, f) },
			"gradient": func(dst, x, dy device.Array) { b.ActGrad(dst, dy, x, f) },
			"in place": func(dst, x, _ device.Array) { b.Copy(dst, x); b.Act(dst, dst, f) },
		} {
			y, manyY := device.New(b, device.BF16, x.Len()), device.New(b, device.BF16, manyX.Len())
			compute(y, x, dy)
			compute(manyY, manyX, manyDY)
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
	for _, kernel := range []string{"act_table_bf16", "act_grad_table_bf16", "act_bf16", "act_grad_bf16"} {
		if !b.Ran(kernel) {
			t.Errorf("%s did not run", kernel)
		}
	}
}
