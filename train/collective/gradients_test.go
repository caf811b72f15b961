package collective

import (
	"reflect"
	"testing"

	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/grad"
)

func TestBucketsAreCompleteWithTheLastOfTheirWeights(t *testing.T) {
	b := cpu.New(1)
	grads, other := device.New(b, device.F32, 100), device.New(b, device.F32, 100)
	ready := []grad.Ready{ // by offset
		{Grad: grads.RowRange(0, 10), At: 9},
		{Grad: other.RowRange(10, 20), At: 99},
		{Grad: grads.RowRange(16, 40), At: 7},
		{Grad: grads.RowRange(48, 50), At: 3},
		{Grad: grads.RowRange(64, 90), At: 5},
	}
	type part struct{ lo, hi, at int }
	for least, want := range map[int][]part{
		1:   {{0, 16, 9}, {16, 48, 7}, {48, 64, 3}, {64, 100, 5}},
		40:  {{0, 48, 9}, {48, 100, 5}},
		100: {{0, 100, 9}},
	} {
		var got []part
		for _, p := range buckets(grads, ready, least) {
			lo := p.grads.Off - grads.Off
			got = append(got, part{lo, lo + p.grads.Len(), p.at})
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("buckets of %d: %v, want %v", least, got, want)
		}
	}
}
