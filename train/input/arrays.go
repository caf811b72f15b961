package input

import (
	"encoding/binary"

	"hgld/train/device"
)

// Arrays are the arrays that a recorded pass reads. Each batch is uploaded into them.
type Arrays struct {
	Pixels device.Array // U8 [B,H,W,3], or the vectors F32 [B,D]
	Crop   device.Array // I32 [B,3]
	Labels device.Array // I32 [B,L], or of more rows: see LabelRows
	bytes  []byte       // staging for crop and labels

	packed [DeviceSlots]*packedInputs // sources of resampling; nil: pixels are uploaded
	ahead  [DeviceSlots]device.Array  // sources of Pixels on a device with memory of its own, if it does not resample
}

// NewArrays makes the arrays of a batch of size rows, with vectors of the given width or, if it is 0,
// images of side×side pixels. packs says that images are resampled on the device. A device with memory of its own
// has room for the next batch either way.
func NewArrays(b device.Backend, size, levels, width, side int, packs bool) *Arrays {
	in := &Arrays{
		Crop:   device.New(b, device.I32, size, 3),
		Labels: device.New(b, device.I32, size, levels),
		bytes:  make([]byte, 4*size*max(levels, 3)),
	}
	if packs {
		for i := range in.packed {
			in.packed[i] = newPackedInputs(b, newPacking(size, side))
		}
	}
	pixels := func() device.Array {
		if width > 0 {
			return device.New(b, device.F32, size, width)
		}
		return device.New(b, device.U8, size, side, side, 3)
	}
	in.Pixels = pixels()
	for i := range in.ahead {
		if !packs && device.OwnMemory(b) {
			in.ahead[i] = pixels()
		}
	}
	return in
}

// LabelRows makes room for the labels of n rows instead of those of the images: of a batch whose other
// images other processes have.
func (i *Arrays) LabelRows(b device.Backend, n int) {
	if levels := i.Labels.Cols(); n != i.Labels.Dims[0] {
		b.Free(i.Labels.Buf)
		i.Labels = device.New(b, device.I32, n, levels)
		i.bytes = make([]byte, 4*max(n*levels, i.Crop.Len()))
	}
}

// Free releases the arrays.
func (i *Arrays) Free(b device.Backend) {
	all := []device.Array{i.Pixels, i.Crop, i.Labels}
	for _, p := range i.packed {
		if p != nil {
			all = append(all, p.pixels, p.taps, p.images)
		}
	}
	for _, a := range i.ahead {
		if !a.Absent() {
			all = append(all, a)
		}
	}
	for _, a := range all {
		b.Free(a.Buf)
	}
}

// Upload brings a batch to the device. Its images may be there already.
func (i *Arrays) Upload(b device.Backend, from *Batch) {
	switch {
	case from.packed == nil && from.sent:
		b.Copy(i.Pixels, i.ahead[from.place])
	case from.packed == nil:
		b.Upload(i.Pixels, from.Pixels)
	case from.sent:
		i.packed[from.place].resample(b, i.Pixels)
	default:
		i.packed[0].upload(b, from.packed)
		i.packed[0].resample(b, i.Pixels)
	}
	b.Upload(i.Crop, stage(i.bytes, from.Crop))
	b.Upload(i.Labels, stage(i.bytes, from.Labels))
}

// stage writes values into memory, which must be large enough, and returns the bytes written.
func stage(memory []byte, values []int32) []byte {
	for at, v := range values {
		binary.LittleEndian.PutUint32(memory[4*at:], uint32(v))
	}
	return memory[:4*len(values)]
}

// Sender returns a function for Loader.Send, which any goroutine may call, or nil if the device has no room for the
// next batch.
func (i *Arrays) Sender(b device.Backend) func(place int, from *Batch) {
	switch {
	case i.packed[0] != nil:
		return func(place int, from *Batch) { i.packed[place].upload(b, from.packed) }
	case !i.ahead[0].Absent():
		return func(place int, from *Batch) { b.Upload(i.ahead[place], from.Pixels) }
	}
	return nil
}

// Rows returns the arrays of rows [lo, hi) of a batch that has been uploaded.
func (i *Arrays) Rows(lo, hi int) *Arrays {
	return &Arrays{Pixels: i.Pixels.RowRange(lo, hi), Crop: i.Crop.RowRange(lo, hi), Labels: i.Labels.RowRange(lo, hi)}
}
