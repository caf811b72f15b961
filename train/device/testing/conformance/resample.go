package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/img"
	"hgld/internal/testing/goldens"
	"hgld/train/device"
	"hgld/train/device/reference"
)

// resampling is an image and the taps of its result.
type resampling struct {
	source       *img.RGB
	across, down img.Taps
}

// testResample expects equality, since all arithmetic is integer.
func testResample(s *suite) {
	for _, size := range [][2]int{{1, 1}, {8, 32}, {7, 31}, {9, 33}, {65, 40}} {
		var list []resampling
		for i, from := range [][2]int{{1, 1}, {2, 300}, {300, 2}, {31, 33}, {200, 5}, {64, 64}, {40, 65}} {
			f := img.Filter(i % 3)
			list = append(list, s.resized(f, from, size), s.part(f, from, size), s.anyTaps(from, size))
		}
		list = append(list, resampling{})
		s.resamples(fmt.Sprint(size), size, list)
	}
	s.Run("Pillow", s.resamplesAsPillow)
}

// picture returns an image of random bytes, many of them black or white.
func (s *suite) picture(w, h int) *img.RGB {
	m := img.NewRGB(w, h)
	for i := range m.Pix {
		m.Pix[i] = byte(min(max(s.r.IntN(400)-70, 0), 255))
	}
	return m
}

// resized resizes an image. from and size are height and width.
func (s *suite) resized(f img.Filter, from, size [2]int) resampling {
	r := resampling{source: s.picture(from[1], from[0])}
	r.across.Set(from[1], size[1], f, img.Whole(size[1]))
	r.down.Set(from[0], size[0], f, img.Whole(size[0]))
	return r
}

// part moves a window over the resized image, which does not cover all of it.
func (s *suite) part(f img.Filter, from, size [2]int) resampling {
	r := resampling{source: s.picture(from[1], from[0])}
	window := func(size int) img.Window {
		move := s.r.IntN(2*size+1) - size
		return img.Window{From: move, Size: size, Lo: max(0, -move), Hi: min(size, size+3-move)}
	}
	r.across.Set(from[1], size[1]+3, f, window(size[1]))
	r.down.Set(from[0], size[0]+3, f, window(size[0]))
	return r
}

// anyTaps has any number of any weights, the sums of which exceed a byte on both sides.
func (s *suite) anyTaps(from, size [2]int) resampling {
	r := resampling{source: s.picture(from[1], from[0])}
	draw := func(t *img.Taps, inputs, outputs int) {
		t.Width = min(inputs, 5)
		for range outputs {
			count := s.r.IntN(t.Width + 1)
			t.First, t.Count = append(t.First, int32(s.r.IntN(inputs-count+1))), append(t.Count, int32(count))
			for range t.Width {
				t.Weight = append(t.Weight, int32(s.r.IntN(3<<20)-1<<20))
			}
		}
	}
	draw(&r.across, from[1], size[1])
	draw(&r.down, from[0], size[0])
	return r
}

// packImages returns the arrays of Resample.
func packImages(list []resampling) (data, taps, table *array) {
	data, taps, table = zeros(0), zeros(0), zeros(len(list), device.ImageCols)
	axis := func(t *img.Taps) (at, width float64) {
		at = float64(len(taps.V))
		for _, part := range [][]int32{t.First, t.Count, t.Weight} {
			for _, v := range part {
				taps.V = append(taps.V, float64(v))
			}
		}
		return at, float64(t.Width)
	}
	for i, r := range list {
		if r.source == nil {
			continue
		}
		row := table.Row(i)
		row[device.ImageAt] = float64(len(data.V) / device.ImageUnit)
		row[device.ImageWidth], row[device.ImageHeight] = float64(r.source.W), float64(r.source.H)
		row[device.AcrossAt], row[device.AcrossWidth] = axis(&r.across)
		row[device.DownAt], row[device.DownWidth] = axis(&r.down)
		for _, v := range r.source.Pix {
			data.V = append(data.V, float64(v))
		}
		for len(data.V)%device.ImageUnit > 0 {
			data.V = append(data.V, 255)
		}
	}
	data.Dims[0], taps.Dims[0] = len(data.V), len(taps.V)
	return data, taps, table
}

// resamples compares one call for all images with the definition.
func (s *suite) resamples(what string, size [2]int, list []resampling) {
	s.Helper()
	data, taps, table := packImages(list)
	dst := s.alloc(device.U8, len(list), size[0], size[1], 3)
	s.b.Resample(dst, s.put(device.U8, data), s.put(device.I32, taps), s.put(device.I32, table))
	var want []float64
	for i := range list {
		want = append(want, reference.Resample(data.V, taps.V, table.Row(i), size[0], size[1]).V...)
	}
	s.equal(what, dst, want)
}

// resamplesAsPillow compares with Pillow 12, bit for bit.
func (s *suite) resamplesAsPillow(t *testing.T) {
	dir := goldens.Dir(t, "vision")
	var all struct {
		Images map[string]struct{ File string }
		Cases  []struct {
			Name, Op, Image string
			Settings        struct {
				Width, Height int
				Filter        string
			}
			SHA256 string `json:"sha256_rgb"`
		}
	}
	goldens.ReadJSON(t, filepath.Join(dir, "cases.json"), &all)
	compared := 0
	for _, c := range all.Cases {
		file, size := all.Images[c.Image].File, [2]int{c.Settings.Height, c.Settings.Width}
		if c.Op != "resize" || file == "" || !s.fits(40*size[0]*size[1]) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		source, err := new(img.Decoder).Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		filter := map[string]img.Filter{"bilinear": img.Bilinear, "bicubic": img.Bicubic, "lanczos": img.Lanczos}
		r := resampling{source: source}
		r.across.Set(source.W, size[1], filter[c.Settings.Filter], img.Whole(size[1]))
		r.down.Set(source.H, size[0], filter[c.Settings.Filter], img.Whole(size[0]))
		pixels, taps, table := packImages([]resampling{r})
		dst := s.alloc(device.U8, 1, size[0], size[1], 3)
		s.b.Resample(dst, s.put(device.U8, pixels), s.put(device.I32, taps), s.put(device.I32, table))
		if sum := sha256.Sum256(s.bytes(dst)); hex.EncodeToString(sum[:]) != c.SHA256 {
			t.Errorf("%s: pixels differ from Pillow's", c.Name)
		}
		compared++
	}
	if compared < 15 {
		t.Errorf("%d cases were compared", compared)
	}
}
