package input

import (
	"math"

	"hgld/internal/img"
	"hgld/train/sample"
)

// Jitter is torchvision's ColorJitter. In random order it applies factors drawn uniformly from
// [max(0, 1 − x), 1 + x], and turns the hue by a number from [−Hue, Hue].
type Jitter struct {
	Brightness float64 `yaml:"brightness" json:"brightness,omitempty" range:"0 10" usage:"training: largest change of the brightness, as a share; 0: none"`
	Contrast   float64 `yaml:"contrast" json:"contrast,omitempty" range:"0 10" usage:"training: largest change of the contrast, as a share; 0: none"`
	Saturation float64 `yaml:"saturation" json:"saturation,omitempty" range:"0 10" usage:"training: largest change of the saturation, as a share; 0: none"`
	Hue        float64 `yaml:"hue" json:"hue,omitempty" range:"0 0.5" usage:"training: largest turn of the colour circle, as a share of it; 0: none"`
}

// apply changes the colours of m.
func (j Jitter) apply(m *img.RGB, random *sample.Random) {
	if j == (Jitter{}) {
		return
	}
	for _, op := range random.Choose(4, 4) {
		switch {
		case op == 0 && j.Brightness > 0:
			img.Brightness(m, factor(j.Brightness, random))
		case op == 1 && j.Contrast > 0:
			img.Contrast(m, factor(j.Contrast, random))
		case op == 2 && j.Saturation > 0:
			img.Saturation(m, factor(j.Saturation, random))
		case op == 3 && j.Hue > 0:
			img.Hue(m, between(-j.Hue, j.Hue, random))
		}
	}
}

// factor draws a factor around 1.
func factor(change float64, random *sample.Random) float32 {
	return float32(between(max(0, 1-change), 1+change, random))
}

func between(low, high float64, random *sample.Random) float64 {
	return low + float64((high-low)*random.Float64())
}

// RandAugment applies operations drawn with replacement, all of the same magnitude (Cubuk et al.,
// "RandAugment: Practical automated data augmentation", CVPR Workshops 2020). Operations and the
// 31 magnitudes are torchvision's.
type RandAugment struct {
	Ops       int `yaml:"ops" json:"ops" range:"0 16" usage:"training: number of RandAugment operations per image; 0: none"`
	Magnitude int `yaml:"magnitude" json:"magnitude" range:"0 30" usage:"training: magnitude of RandAugment's operations"`
}

// IsZero reports whether no operation is applied. Checkpoints then omit it.
func (a RandAugment) IsZero() bool { return a.Ops == 0 }

// magnitudes is the greatest magnitude.
const magnitudes = 30

// randAugmentOps lists the operations on m. share, from 0 to 1, is the position in an operation's
// range. sign is drawn for operations that have one.
var randAugmentOps = []func(m *img.RGB, share, sign float64){
	func(*img.RGB, float64, float64) {},
	func(m *img.RGB, share, sign float64) { *m = *img.Warp(m, img.ShearX(sign*0.3*share)) },
	func(m *img.RGB, share, sign float64) { *m = *img.Warp(m, img.ShearY(sign*0.3*share)) },
	func(m *img.RGB, share, sign float64) { *m = *img.Warp(m, img.Translate(moved(m.W, share, sign), 0)) },
	func(m *img.RGB, share, sign float64) { *m = *img.Warp(m, img.Translate(0, moved(m.H, share, sign))) },
	func(m *img.RGB, share, sign float64) { *m = *img.Warp(m, img.Rotate(m.W, m.H, sign*30*share)) },
	func(m *img.RGB, share, sign float64) { img.Brightness(m, float32(1+0.9*sign*share)) },
	func(m *img.RGB, share, sign float64) { img.Saturation(m, float32(1+0.9*sign*share)) },
	func(m *img.RGB, share, sign float64) { img.Contrast(m, float32(1+0.9*sign*share)) },
	func(m *img.RGB, share, sign float64) { img.Sharpness(m, float32(1+0.9*sign*share)) },
	func(m *img.RGB, share, _ float64) { img.Posterize(m, 8-int(math.RoundToEven(4*share))) },
	func(m *img.RGB, share, _ float64) { img.Solarize(m, 255*(1-share)) },
	func(m *img.RGB, _, _ float64) { img.AutoContrast(m) },
	func(m *img.RGB, _, _ float64) { img.Equalize(m) },
}

// moved returns a translation in pixels, at most 150/331 of the side.
func moved(side int, share, sign float64) int { return int(sign * 150 / 331 * float64(side) * share) }

// apply changes m.
func (a RandAugment) apply(m *img.RGB, random *sample.Random) {
	for range a.Ops {
		op, sign := random.IntN(len(randAugmentOps)), 1.0
		if random.IntN(2) == 1 {
			sign = -1
		}
		randAugmentOps[op](m, float64(a.Magnitude)/magnitudes, sign)
	}
}

// Erase is torchvision's RandomErasing (Zhong et al., "Random Erasing Data Augmentation", AAAI
// 2020). It fills a rectangle of an image with the mean colour, which the network sees as 0.
type Erase struct {
	Probability float64    `yaml:"probability" json:"probability" range:"0 1" usage:"training: share of images in which a rectangle is erased; 0: none"`
	Scale       [2]float64 `yaml:"-" json:"scale"` // range of the rectangle's share of the area
	Ratio       [2]float64 `yaml:"-" json:"ratio"` // range of height divided by width
}

// IsZero reports whether nothing is erased. Checkpoints then omit it.
func (e Erase) IsZero() bool { return e.Probability == 0 }

// apply erases a rectangle of m, if one is drawn and fits within ten tries.
func (e Erase) apply(m *img.RGB, mean [3]float32, random *sample.Random) {
	if e.Probability == 0 || random.Float64() >= e.Probability {
		return
	}
	var colour [3]byte
	for c, x := range mean {
		colour[c] = byte(max(0, min(255, math.Round(float64(x)*255))))
	}
	for range 10 {
		area := float64(m.W*m.H) * between(e.Scale[0], e.Scale[1], random)
		shape := math.Exp(between(math.Log(e.Ratio[0]), math.Log(e.Ratio[1]), random))
		h, w := int(math.RoundToEven(math.Sqrt(area*shape))), int(math.RoundToEven(math.Sqrt(area/shape)))
		if h < m.H && w < m.W {
			m.Fill(random.IntN(m.W-w+1), random.IntN(m.H-h+1), w, h, colour)
			return
		}
	}
}
