package reference

import "hgld/train/device"

// Resample returns the image [h,w,3] described by one row of the table of images; see
// device.Image.
func Resample(bytes, taps, image []float64, h, w int) *Array {
	y := Zeros(h, w, 3)
	width, height := int(image[device.ImageWidth]), int(image[device.ImageHeight])
	if height == 0 {
		return y
	}
	source := &Array{[]int{height, width * 3}, bytes[int(image[device.ImageAt])*device.ImageUnit:][:height*width*3]}
	across := axis{taps[int(image[device.AcrossAt]):], w, int(image[device.AcrossWidth])}
	down := axis{taps[int(image[device.DownAt]):], h, int(image[device.DownWidth])}
	mid := Zeros(height, w*3)
	for i := range mid.V {
		row, x, c := i/(w*3), i/3%w, i%3
		mid.V[i] = across.sum(x, func(at int) float64 { return source.Row(row)[at*3+c] })
	}
	for i := range y.V {
		y.V[i] = down.sum(i/3/w, func(at int) float64 { return mid.Row(at)[i%(w*3)] })
	}
	return y
}

// axis holds the taps of some outputs.
type axis struct {
	taps           []float64
	outputs, width int
}

// sum returns an output, computed from the inputs that value returns.
func (a axis) sum(output int, value func(at int) float64) float64 {
	first, count := int(a.taps[output]), int(a.taps[a.outputs+output])
	weights := a.taps[2*a.outputs+output*a.width:][:count]
	s := 1 << 21
	for j, w := range weights {
		s += int(w) * int(value(first+j))
	}
	return float64(min(max(s>>22, 0), 255))
}
