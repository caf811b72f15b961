package img

import "testing"

// BenchmarkAdjust measures each operation on an image of 224×224 pixels.
func BenchmarkAdjust(b *testing.B) {
	for name, op := range map[string]func(m *RGB){
		"brightness": func(m *RGB) { Brightness(m, 1.3) },
		"contrast":   func(m *RGB) { Contrast(m, 1.3) },
		"saturation": func(m *RGB) { Saturation(m, 1.3) },
		"sharpness":  func(m *RGB) { Sharpness(m, 1.3) },
		"hue":        func(m *RGB) { Hue(m, 0.1) },
		"equalize":   Equalize,
		"rotate":     func(m *RGB) { Warp(m, Rotate(m.W, m.H, 17)) },
	} {
		b.Run(name, func(b *testing.B) {
			m := NewRGB(224, 224)
			for i := range m.Pix {
				m.Pix[i] = byte(i * i)
			}
			for b.Loop() {
				op(m)
			}
		})
	}
}
