package input

import (
	"image"
	"slices"
	"testing"

	"hgld/internal/img"
	"hgld/train/sample"
)

// ramp is an image whose every pixel tells where it is.
func ramp(w, h int) *img.RGB {
	m := img.NewRGB(w, h)
	for i := range w * h {
		m.Pix[3*i], m.Pix[3*i+1], m.Pix[3*i+2] = byte(i%w), byte(i/w), 200
	}
	return m
}

// finished returns the pixels of a view of an image.
func (c *worker) finished(m *img.RGB, v view) []byte {
	c.image = img.Part{RGB: *m}
	c.set(v)
	pixels := make([]byte, 3*c.in.Size*c.in.Size)
	c.finish(pixels)
	return pixels
}

func TestPaddedCropMovesAWindow(t *testing.T) {
	in := Settings{Size: 16, Crop: "padded", Pad: 3, Resize: 0}
	c := newWorker(newFramer(in, img.Bilinear))
	seen := map[[2]int]bool{}
	for i := range 400 {
		out := c.finished(ramp(16, 16), c.view(16, 16, sample.NewRandom(uint64(i))))
		// The window stands at (dx, dy) of the image: its pixel (8, 8) shows (8+dx, 8+dy).
		dx, dy := int(out[3*(8*16+8)])-8, int(out[3*(8*16+8)+1])-8
		seen[[2]int{dx, dy}] = true
		for y := range 16 {
			for x := range 16 {
				p := out[3*(y*16+x):][:3]
				want := []byte{0, 0, 0}
				if sx, sy := x+dx, y+dy; sx >= 0 && sx < 16 && sy >= 0 && sy < 16 {
					want = []byte{byte(sx), byte(sy), 200}
				}
				if !slices.Equal(p, want) {
					t.Fatalf("pixel %d,%d of the window at %d,%d is %v, want %v", x, y, dx, dy, p, want)
				}
			}
		}
	}
	if len(seen) != 49 {
		t.Errorf("%d of 49 windows were met", len(seen))
	}
}

// A random crop is a window of the resized image, anywhere within it.
func TestRandomCropIsAWindowOfTheResizedImage(t *testing.T) {
	in := Settings{Size: 12, Crop: "random", Resize: 16, Squash: true}
	c := newWorker(newFramer(in, img.Bilinear))
	whole := img.Resize(ramp(40, 30), 16, 16, img.Bilinear)
	seen := map[[2]int]bool{}
	for i := range 400 {
		got, found := c.finished(ramp(40, 30), c.view(40, 30, sample.NewRandom(uint64(i)))), false
		for at := range 25 {
			dx, dy := at%5, at/5
			same := true
			for y := range 12 {
				same = same && slices.Equal(got[3*12*y:3*12*(y+1)], whole.Pix[3*(16*(y+dy)+dx):][:3*12])
			}
			if same {
				found, seen[[2]int{dx, dy}] = true, true
			}
		}
		if !found {
			t.Fatalf("crop %d is no window of the image", i)
		}
	}
	if len(seen) != 25 {
		t.Errorf("%d of 25 windows were met", len(seen))
	}
	long := Settings{Size: 12, Crop: "random", Resize: 12}
	c = newWorker(newFramer(long, img.Bilinear))
	want := img.Resize(ramp(40, 30), 16, 12, img.Bilinear) // 12 on the short side: only the long side moves
	for i := range 20 {
		got := c.finished(ramp(40, 30), c.view(40, 30, sample.NewRandom(uint64(i))))
		begins := func(dx int) bool { return slices.Equal(got[:36], want.Pix[3*dx:][:36]) }
		if !slices.ContainsFunc([]int{0, 1, 2, 3, 4}, begins) {
			t.Errorf("crop %d does not begin in the first row", i)
		}
	}
}

func TestCentreCropIsTheSameInTrainingAndEvaluation(t *testing.T) {
	in := Settings{Size: 12, Crop: "centre", Resize: 16}
	c := newWorker(newFramer(in, img.Bilinear))
	a := c.finished(ramp(40, 30), c.view(40, 30, sample.NewRandom(1)))
	b := c.finished(ramp(40, 30), c.view(40, 30, nil))
	want := img.Crop(img.Resize(ramp(40, 30), 21, 16, img.Bilinear), image.Rect(4, 2, 16, 14)) // 4½ is rounded to even
	if !slices.Equal(a, want.Pix) || !slices.Equal(b, want.Pix) {
		t.Error("not the centre of the image with a short side of 16")
	}
}

func TestSquashedImagesAreResizedToASquare(t *testing.T) {
	in := Settings{Size: 12, Crop: "centre", Resize: 16, Squash: true}
	c := newWorker(newFramer(in, img.Bilinear))
	got := c.finished(ramp(40, 30), c.view(40, 30, nil))
	want := img.Crop(img.Resize(ramp(40, 30), 16, 16, img.Bilinear), image.Rect(2, 2, 14, 14))
	if !slices.Equal(got, want.Pix) {
		t.Error("not the centre of the image as a square of 16")
	}
}
