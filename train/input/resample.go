package input

import (
	"encoding/binary"
	"fmt"
	"image"
	"slices"
	"sync"

	"hgld/internal/img"
	"hgld/train/device"
)

// packing holds the sizes of the arrays of device.Image's Resample for a batch. Every image has
// room for its finished form, whatever its size. Spare room can be used by any of them.
type packing struct {
	rows, side int
	finished   int // units of a finished image
	spare      int // units on top
	weights    int // words of the taps, those of a finished image included
}

const (
	MeanPixels = 10      // mean pixels of a decoded part per pixel of a finished image
	mostSpare  = 1 << 30 // bytes
	mostUnits  = 1 << 30 // so that an index fits in 32 bits
	packedTaps = 48      // words per pixel of a side: Lanczos at the mean size, both axes
	mostTaps   = 1 << 25 // words
)

func newPacking(rows, side int) packing {
	p := packing{rows: rows, side: side, finished: units(3 * side * side)}
	p.spare = max(0, min((MeanPixels-1)*rows*p.finished, mostSpare/device.ImageUnit, mostUnits-rows*p.finished))
	p.weights = 3*side + min(rows*packedTaps*side, mostTaps)
	return p
}

// units returns how many units the given bytes take.
func units(bytes int) int { return (bytes + device.ImageUnit - 1) / device.ImageUnit }

// bytes returns the size of the array of pixels.
func (p *packing) bytes() int { return (p.rows*p.finished + p.spare) * device.ImageUnit }

// packed holds the decoded images of a batch on the host, and how they are resampled. An image
// that does not fit is resampled by its worker and sent in its finished form, so the result is
// the same.
type packed struct {
	packing
	pixels []byte  // of the parts that are read
	taps   []byte  // words; the first 3·side describe a finished image
	images []int32 // [rows, device.ImageCols]

	mu          sync.Mutex
	used, words int // units of pixels, words of taps
	left        int // units that are neither used nor kept for a finished image
}

func newPacked(rows, side int) *packed {
	p := &packed{packing: newPacking(rows, side), images: make([]int32, rows*device.ImageCols)}
	p.pixels, p.taps = make([]byte, p.bytes()), make([]byte, 4*p.weights)
	p.clear()
	same := img.Taps{Count: slices.Repeat([]int32{1}, side), Weight: slices.Repeat([]int32{img.One}, side)}
	for i := range side {
		same.First = append(same.First, int32(i))
	}
	p.write(0, &same)
	return p
}

// clear makes all images black.
func (p *packed) clear() {
	clear(p.images)
	p.used, p.words, p.left = 0, 3*p.side, p.spare
}

// reserve takes memory for an image, if there is enough beside the finished images still to come.
func (p *packed) reserve(units, words int) (at, tapsAt int, fits bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	more := units - p.finished
	if more > p.left || p.words+words > p.weights {
		return 0, 0, false
	}
	at, tapsAt = p.used, p.words
	p.used, p.words, p.left = p.used+units, p.words+words, p.left-more
	return at, tapsAt, true
}

// add places a part of an image in a row, with the taps that resample it. It reports whether there was
// room.
func (p *packed) add(row int, src *img.RGB, part image.Rectangle, horizontal, vertical *img.Taps) bool {
	across, w, h := words(horizontal), part.Dx(), part.Dy()
	first, taps, fits := p.reserve(units(3*w*h), across+words(vertical))
	if !fits {
		return false
	}
	pixels := p.pixels[first*device.ImageUnit:][:3*w*h]
	for y := range h {
		from := 3 * ((part.Min.Y+y)*src.W + part.Min.X)
		copy(pixels[3*w*y:3*w*(y+1)], src.Pix[from:])
	}
	p.write(taps, horizontal)
	p.write(taps+across, vertical)
	p.describe(row, first, w, h, taps, horizontal.Width, taps+across, vertical.Width)
	return true
}

// room returns the memory of a finished image of side×side pixels in a row.
func (p *packed) room(row int) []byte {
	at, _, fits := p.reserve(p.finished, 0)
	if !fits {
		panic(fmt.Sprintf("train: no room for image %d of %d in %d units", row, p.rows, p.used))
	}
	p.describe(row, at, p.side, p.side, 0, 1, 0, 1)
	return p.pixels[at*device.ImageUnit:][:3*p.side*p.side]
}

// describe writes a row of the table of images.
func (p *packed) describe(row int, columns ...int) {
	for i, v := range columns {
		p.images[row*device.ImageCols+i] = int32(v)
	}
}

// words returns how many words the taps of an axis take.
func words(t *img.Taps) int { return len(t.First) + len(t.Count) + len(t.Weight) }

// write writes the taps of an axis, starting at word at.
func (p *packed) write(at int, t *img.Taps) {
	for _, list := range [...][]int32{t.First, t.Count, t.Weight} {
		to := p.taps[4*at:]
		for i, v := range list {
			binary.LittleEndian.PutUint32(to[4*i:], uint32(v))
		}
		at += len(list)
	}
}

// PackedBytes returns the host memory that the batches of a loader take if the device resamples.
func (l *Loader) PackedBytes() float64 {
	p := newPacking(l.rows(), l.In.Size)
	return float64(p.bytes()) * float64(l.Prefetch+1)
}

// size returns the bytes of host memory.
func (p *packed) size() int { return len(p.pixels) + len(p.taps) + 4*len(p.images) }

// packedInputs holds the device arrays of device.Image's Resample.
type packedInputs struct {
	pixels, taps, images device.Array // U8 [B], I32 [T], I32 [N,device.ImageCols]

	table []byte // staging for images
}

func newPackedInputs(b device.Backend, p packing) *packedInputs {
	return &packedInputs{pixels: device.New(b, device.U8, p.bytes()), taps: device.New(b, device.I32, p.weights),
		images: device.New(b, device.I32, p.rows, device.ImageCols), table: make([]byte, 4*p.rows*device.ImageCols)}
}

// upload brings the images of a batch to the device.
func (i *packedInputs) upload(b device.Backend, p *packed) {
	bytes := p.used * device.ImageUnit
	b.Upload(i.pixels.RowRange(0, bytes), p.pixels[:bytes])
	b.Upload(i.taps.RowRange(0, p.words), p.taps[:4*p.words])
	b.Upload(i.images, stage(i.table, p.images))
}

// resample computes the finished images.
func (i *packedInputs) resample(b device.Backend, dst device.Array) {
	b.Resample(dst, i.pixels, i.taps, i.images)
}
