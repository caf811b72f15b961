package cuda_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
	"hgld/train/device"
)

const (
	// attentionDifference bounds the relative difference in L2 of an attention, or its gradient, on
	// tensor cores and in F32, both rounded to BF16. On tensor cores each probability and each
	// gradient of a score is rounded before it is multiplied, by up to 2⁻⁹. A sum whose terms are
	// off by that, at random, is off by less, and then now and then rounds to the other neighbour,
	// 2⁻⁸ apart. A tile that is left out or counted twice changes it tenfold.
	attentionDifference = 0x1p-8

	// lseDifference bounds that of lse, which is F32 and rounded nowhere in between.
	lseDifference = 2e-6
)

// The kernels for tensor cores give a warp 16 tokens and a block up to eight warps. The others come in steps of
// 16, 32 or 64, of the last of which groups of 16 are left out. Heads are padded to 64 or 128 numbers. Keys and
// values beyond the length are NaN.
func TestLargeTilesOfAttentionAgreeWithF32(t *testing.T) {
	b := emulated(t)
	for _, c := range []struct {
		images, tokens, heads, size int
		causal                      bool
		lengths                     []int32
	}{
		{1, 2, 1, 64, true, nil},
		{2, 15, 1, 64, true, nil},
		{1, 16, 1, 64, false, nil},
		{1, 17, 1, 64, true, nil},
		{1, 63, 1, 64, true, nil},
		{1, 64, 1, 64, false, nil},
		{2, 65, 1, 64, false, []int32{65, 49}},
		{2, 77, 1, 64, true, []int32{77, 34}},
		{2, 50, 3, 64, false, nil},
		{1, 197, 2, 64, false, nil},
		{1, 257, 1, 64, true, nil},
		{1, 577, 1, 64, false, nil},
		{4, 131, 2, 64, false, []int32{0, 1, 65, 131}},
		{4, 130, 1, 64, true, []int32{0, 1, 100, 130}},
		{3, 64, 1, 32, true, []int32{16, 63, 64}},
		{1, 133, 2, 72, false, nil},
		{2, 77, 1, 80, true, []int32{77, 33}},
		{1, 129, 1, 96, true, nil},
		{4, 131, 1, 128, false, []int32{0, 1, 65, 131}},
	} {
		if c.tokens > 200 && !effort.Exhaustive() {
			continue // four tiles decide
		}
		what, d := fmt.Sprintf("%+v", c), c.heads*c.size
		o := device.Heads{Heads: c.heads, Causal: c.causal}
		qkv, dy := drawn(b, 1, c.images, c.tokens, 3*d), drawn(b, 2, c.images, c.tokens, d)
		y, dqkv := drawn(b, 3, c.images, c.tokens, d), drawn(b, 4, c.images, c.tokens, 3*d)
		logs := func() device.Array { return device.New(b, device.F32, c.images, c.heads, c.tokens) }
		lse := pair{logs(), logs()}
		var length device.Array
		if c.lengths != nil {
			length = device.New(b, device.I32, c.images)
			list, err := binary.Append(nil, binary.NativeEndian, c.lengths)
			must.Do(t, err)
			b.Upload(length, list)
			for i, n := range c.lengths {
				for _, a := range []device.Array{qkv.short, qkv.full} {
					rows := a.Reshape(c.images*c.tokens, 3*d).RowRange(i*c.tokens+int(n), (i+1)*c.tokens)
					b.Fill(rows.ColRange(d, 3*d), float32(math.NaN()))
				}
			}
		}
		b.Attention(y.short, lse.short, qkv.short, length, o)
		b.AttentionGrad(dqkv.short, dy.short, y.short, lse.short, qkv.short, length, o)
		b.Attention(y.full, lse.full, qkv.full, length, o)
		b.AttentionGrad(dqkv.full, dy.full, y.full, lse.full, qkv.full, length, o)
		y.within(t, b, "y of "+what, attentionDifference)
		for i, part := range []string{"dq", "dk", "dv"} {
			of := func(a device.Array) device.Array {
				return a.Reshape(c.images*c.tokens, 3*d).ColRange(i*d, (i+1)*d)
			}
			pair{of(dqkv.short), of(dqkv.full)}.within(t, b, part+" of "+what, attentionDifference)
		}
		lse.within(t, b, "lse of "+what, lseDifference)
	}
}

// Tensor cores need rows at multiples of 16 bytes. Arrays that begin elsewhere have the kernels of
// other heads.
func TestAttentionOfArraysAtOddAddresses(t *testing.T) {
	b := emulated(t)
	const tokens, d = 40, 64
	odd := func(a device.Array) device.Array {
		moved := device.Make(b.Alloc(2*a.Len()+2), 1, device.BF16, a.Shape()...)
		b.Copy(moved, a)
		return moved
	}
	qkv, dy := drawn(b, 1, 1, tokens, 3*d), drawn(b, 2, 1, tokens, d)
	y, dqkv, lse := drawn(b, 3, 1, tokens, d), drawn(b, 4, 1, tokens, 3*d), device.New(b, device.F32, 1, 1, tokens)
	o := device.Heads{Heads: 1}
	b.Attention(y.full, lse, qkv.full, device.Array{}, o)
	b.AttentionGrad(dqkv.full, dy.full, y.full, lse, qkv.full, device.Array{}, o)
	for moved := range 4 {
		arrays := [4]device.Array{y.short, qkv.short, dqkv.short, dy.short}
		arrays[moved] = odd(arrays[moved])
		b.Attention(arrays[0], lse, arrays[1], device.Array{}, o)
		b.AttentionGrad(arrays[2], arrays[3], arrays[0], lse, arrays[1], device.Array{}, o)
		pair{arrays[0], y.full}.within(t, b, fmt.Sprint("y, odd array ", moved), attentionDifference)
		pair{arrays[2], dqkv.full}.within(t, b, fmt.Sprint("gradient, odd array ", moved), attentionDifference)
	}
}
