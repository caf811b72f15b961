package input

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
