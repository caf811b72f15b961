package input

import (
	"fmt"
	"image"
	"math"

	"hgld/internal/img"
	"hgld/internal/registry"
	"hgld/train/sample"
)

// Filters lists the resampling kernels by name.
var Filters = registry.Table[img.Filter]{
	{Name: "bilinear", About: "triangle, torchvision's default", Value: img.Bilinear},
	{Name: "bicubic", About: "a = −0.5, used to train vision transformers", Value: img.Bicubic},
	{Name: "lanczos", About: "three lobes", Value: img.Lanczos},
}

// cropFunc places an image of w×h pixels.
type cropFunc func(f *framer, w, h int, random *sample.Random) placement

// Crops lists the training crops by name.
var Crops = registry.Table[cropFunc]{
	{Name: "resized", About: "a random part of the image of a random shape, resized", Value: (*framer).resized},
	{Name: "random", About: "a random window of the image of which an evaluation takes the centre",
		Value: (*framer).random},
	{Name: "padded", About: "a random window of the centre crop in a black frame of pad pixels",
		Value: (*framer).padded},
	{Name: "centre", About: "the centre crop of an evaluation",
		Value: func(f *framer, w, h int, _ *sample.Random) placement { return f.centre(w, h) }},
	{Name: "whole", About: "the whole image, resized to a square whatever its shape",
		Value: func(f *framer, w, h int, _ *sample.Random) placement { return f.whole(w, h) }},
}

// placement says how an image becomes a square: a part of it is resampled to a size, and a window
// of the result is kept.
type placement struct {
	part         image.Rectangle // pixels outside it are not read
	w, h         int             // size after resampling
	across, down img.Window
}

// view is what a batch holds of an image.
type view struct {
	placement
	flip   bool
	random *sample.Random // of a training image, to distort it; nil: an evaluation
}

// framer chooses the part of an image that the network sees. It serves one goroutine.
type framer struct {
	in     Settings
	filter img.Filter
	crop   cropFunc // of training
}

// newFramer returns the framer of checked settings.
func newFramer(in Settings, filter img.Filter) *framer {
	crop, err := Crops.Get("crop", in.Crop)
	if err != nil {
		panic(err)
	}
	return &framer{in: in, filter: filter, crop: crop}
}

// view draws the training crop of an image of w×h pixels, and whether it is mirrored. Both depend
// only on random and on the size. Without random it is the view of an evaluation.
func (f *framer) view(w, h int, random *sample.Random) view {
	if random == nil {
		return view{placement: f.centre(w, h)}
	}
	flip := f.in.Flip && random.Uint64()&1 == 1
	return view{f.crop(f, w, h, random), flip, random}
}

// Distorts reports whether training changes pixels.
func (in *Settings) Distorts() bool {
	return in.Jitter != Jitter{} || !in.RandAugment.IsZero() || !in.Erase.IsZero()
}

// resized is torchvision's RandomResizedCrop. torchvision's recipes first resize an image whose
// short side exceeds Resize; this does not. The crop is a share of the area, so the result is the
// same with one resampling less.
func (f *framer) resized(w, h int, random *sample.Random) placement {
	part := img.RandomCrop(w, h, f.in.Scale, f.in.Ratio, random.Float64)
	return f.all(part)
}

// random resizes the image as for an evaluation and takes a random window of it, as torchvision's Resize and
// RandomCrop do. Without Resize there is one window.
func (f *framer) random(w, h int, random *sample.Random) placement {
	p := f.centre(w, h)
	p.across.From = random.IntN(p.w - f.in.Size + 1) // Resize is at least Size
	p.down.From = random.IntN(p.h - f.in.Size + 1)
	return p
}

// padded moves a window over the centre crop by up to Pad pixels in each direction, as CIFAR
// recipes do. Pixels outside the crop are black.
func (f *framer) padded(w, h int, random *sample.Random) placement {
	p := f.centre(w, h)
	dx, dy := random.IntN(2*f.in.Pad+1)-f.in.Pad, random.IntN(2*f.in.Pad+1)-f.in.Pad
	p.across, p.down = p.across.Shift(dx), p.down.Shift(dy)
	return p
}

// centre is the crop of an evaluation. It resizes the short side to Resize, or with Squash both
// sides, then takes the centre.
func (f *framer) centre(w, h int) placement {
	if f.in.Resize == 0 {
		return f.whole(w, h)
	}
	p := placement{part: image.Rect(0, 0, w, h), w: f.in.Resize, h: f.in.Resize}
	if !f.in.Squash {
		p.w, p.h = img.ShortSide(w, h, f.in.Resize)
	}
	p.across, p.down = img.CenterWindow(p.w, f.in.Size), img.CenterWindow(p.h, f.in.Size)
	return p
}

func (f *framer) whole(w, h int) placement { return f.all(image.Rect(0, 0, w, h)) }

// all resamples a part of an image to the input size of the network.
func (f *framer) all(part image.Rectangle) placement {
	window := img.Whole(f.in.Size)
	return placement{part: part, w: f.in.Size, h: f.in.Size, across: window, down: window}
}

// Settings says how an image becomes the input of the network: resampled as in Pillow, then
// (pixel/255 − Mean)/Std. Mean and Std default to those of the backbone's published weights.
type Settings struct {
	Size   int        `yaml:"size" json:"size" range:"8 8192" usage:"side of the network's input, in pixels"`
	Crop   string     `yaml:"crop" json:"crop" usage:"training: resized (torchvision's RandomResizedCrop), random, padded, centre or whole"`
	Scale  [2]float64 `yaml:"scale" json:"scale" range:"0 1" usage:"resized: range of the crop's share of the area"`
	Ratio  [2]float64 `yaml:"ratio" json:"ratio" range:"0.001 1000" usage:"resized: range of width divided by height"`
	Pad    int        `yaml:"pad" json:"pad" range:"0 8192" usage:"padded: width of the black frame around the centre crop, in pixels"`
	Flip   bool       `yaml:"flip" json:"flip" usage:"training: mirror every second image"`
	Resize int        `yaml:"resize" json:"resize" range:"0 8192" usage:"evaluation: short side before the centre crop; 0: the whole image, whatever its shape"`
	Filter string     `yaml:"filter" json:"filter" usage:"bilinear, bicubic or lanczos"`
	Mean   [3]float32 `yaml:"mean" json:"mean" range:"-1000 1000" usage:"mean of red, green and blue in 0…1; with std 0, the mean that belongs to the backbone's weights"`
	Std    [3]float32 `yaml:"std" json:"std" range:"0 1000" usage:"standard deviation of red, green and blue in 0…1; 0: the one that belongs to the backbone's weights"`
	Squash bool       `yaml:"squash" json:"squash,omitempty" usage:"evaluation: resize to a square of side resize, whatever the shape, before the centre crop"`
	Scales []float64  `yaml:"scales" json:"scales,omitempty" range:"0.001 1000" usage:"evaluation: average the embeddings of copies scaled by these factors; empty: only the image itself"`

	Jitter      Jitter      `yaml:"jitter" json:"jitter,omitzero"`           // training: random colours
	RandAugment RandAugment `yaml:"randaugment" json:"randaugment,omitzero"` // training: random operations
	Erase       Erase       `yaml:"erase" json:"erase,omitzero"`             // training: erase a rectangle
}

// Default returns torchvision's preprocessing of images of 224 pixels, without distortions.
func Default() Settings {
	return Settings{
		Size: 224, Crop: "resized", Scale: [2]float64{0.16, 1}, Ratio: [2]float64{0.75, 4.0 / 3}, Pad: 4, Flip: true,
		Resize: 256, Filter: "bilinear", RandAugment: RandAugment{Magnitude: 9},
		Erase: Erase{Scale: [2]float64{0.02, 0.33}, Ratio: [2]float64{0.3, 3.3}},
	}
}

// Boxed is a Dataset of which a box of each image counts.
type Boxed interface {
	Dataset
	// Box returns the left, upper, right and lower edge of the box of item i, in pixels.
	Box(i int) [4]float64
}

// Box returns the box of item i of a Boxed data set or a part of one, in whole pixels.
// It is empty if all of the image counts.
func Box(d Dataset, i int) image.Rectangle {
	d, i = source(d, i)
	if b, is := d.(Boxed); is {
		return WholePixels(b.Box(i))
	}
	return image.Rectangle{}
}

// WholePixels rounds the left, upper, right and lower edge of a box as Pillow's crop does.
func WholePixels(box [4]float64) image.Rectangle {
	var at [4]int
	for k, edge := range box {
		at[k] = int(math.RoundToEven(edge))
	}
	return image.Rect(at[0], at[1], at[2], at[3])
}

// Within returns the part of a box that an image has: all of the image if the box is empty. It fails if they have no
// pixel in common.
func Within(box, whole image.Rectangle) (image.Rectangle, error) {
	if box.Empty() {
		return whole, nil
	}
	part := box.Intersect(whole)
	if part.Empty() {
		return part, fmt.Errorf("its box %v lies outside its %d×%d pixels", box, whole.Dx(), whole.Dy())
	}
	return part, nil
}
