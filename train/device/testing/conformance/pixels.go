package conformance

import (
	"fmt"
	"math"
	"path/filepath"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/goldens"
	"hgld/train/device"
)

// testPixels expects equality, since every step is one float32 operation.
func testPixels(s *suite) {
	o := device.Pixel{Mean: [3]float32{0.485, 0.456, 0.406}, Std: [3]float32{0.229, 0.224, 0.225}}
	for _, c := range []struct{ n, fromH, fromW, h, w, channels int }{
		{1, 1, 1, 1, 1, 3}, {2, 5, 7, 5, 7, 4}, {3, 9, 8, 6, 5, 4}, {2, 33, 40, 32, 31, 3}, {2, 10, 13, 7, 8, 8},
	} {
		bytes := zeros(c.n, c.fromH, c.fromW, 3)
		for i := range bytes.V {
			bytes.V[i] = float64(s.r.IntN(256))
		}
		crop := zeros(c.n, 3)
		for i := range c.n {
			crop.V[3*i] = float64(s.r.IntN(c.fromH - c.h + 1))
			crop.V[3*i+1] = float64(s.r.IntN(c.fromW - c.w + 1))
			crop.V[3*i+2] = float64(s.r.IntN(2))
		}
		middle := zeros(c.n, 3)
		for i := range c.n {
			middle.V[3*i] = math.RoundToEven(float64(c.fromH-c.h) / 2)
			middle.V[3*i+1] = math.RoundToEven(float64(c.fromW-c.w) / 2)
		}
		image := s.put(device.U8, bytes)
		for _, given := range []bool{true, false} {
			window, boxes := crop, s.put(device.I32, crop)
			if !given {
				window, boxes = middle, absent
			}
			want := zeros(c.n, c.h, c.w, c.channels)
			for i := range want.V {
				n, y, x, channel := i/c.channels/c.w/c.h, i/c.channels/c.w%c.h, i/c.channels%c.w, i%c.channels
				if channel >= 3 {
					continue
				}
				if window.V[3*n+2] == 1 {
					x = c.w - 1 - x
				}
				y, x = y+int(window.V[3*n]), x+int(window.V[3*n+1])
				b := float32(bytes.V[((n*c.fromH+y)*c.fromW+x)*3+channel])
				unit := b / 255
				centred := unit - o.Mean[channel]
				want.V[i] = rounded(s.dtype, float64(centred/o.Std[channel]))
			}
			dst := s.alloc(s.dtype, c.n, c.h, c.w, c.channels)
			s.b.Pixels(dst, image, boxes, o)
			s.equal(fmt.Sprint(c, " given ", given), dst, want.V)
		}
	}
	s.pixelsAsTorch(o)
}

// pixelsAsTorch compares every byte of every channel with torchvision's ToTensor and Normalize.
func (s *suite) pixelsAsTorch(o device.Pixel) {
	f, err := tensorfile.OpenSafetensors(filepath.Join(goldens.Dir(s.T, "vision"), "normalize_table.safetensors"))
	if err != nil {
		s.Fatal(err)
	}
	defer f.Close()
	table, err := f.Float32("imagenet") // [3, 256]
	if err != nil {
		s.Fatal(err)
	}
	image, want := zeros(1, 1, 256, 3), zeros(1, 1, 256, 3)
	for i := range image.V {
		image.V[i] = float64(i / 3)
		want.V[i] = rounded(s.dtype, float64(table[i%3*256+i/3]))
	}
	dst := s.alloc(s.dtype, 1, 1, 256, 3)
	s.b.Pixels(dst, s.put(device.U8, image), device.Array{}, o)
	s.equal("torchvision", dst, want.V)
}
