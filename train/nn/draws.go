package nn

import "hgld/train/device"

// draws is the stream of random numbers for a seed and a name. Streams of different names are
// independent, and no stream depends on earlier draws from others.
type draws struct {
	key     [2]uint32
	counter [4]uint32 // block number (64 bits), hash of the name (64 bits)
	block   [4]uint32
	left    int
}

func newDraws(seed uint64, name string) *draws {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return &draws{
		key:     [2]uint32{uint32(seed), uint32(seed >> 32)},
		counter: [4]uint32{0, 0, uint32(h), uint32(h >> 32)},
	}
}

// uniform returns the next number in (0, 1). It is an odd multiple of 2⁻²⁵, so that neither end
// occurs and its logarithm is finite.
func (d *draws) uniform() float64 {
	if d.left == 0 {
		d.block = device.Philox(d.counter, d.key)
		d.left = len(d.block)
		if d.counter[0]++; d.counter[0] == 0 {
			d.counter[1]++
		}
	}
	d.left--
	return float64(device.Unit(d.block[len(d.block)-1-d.left])) + 0x1p-25
}
