package img

// The operations of this file change colours in place, with the bytes of Pillow's ImageEnhance
// and ImageOps, as torchvision applies them to PIL images. Products are converted before they
// are added, which forbids fused multiply-add.

// luma is Pillow's conversion of a pixel to grey (mode L): ITU-R 601-2 in 16 bits of fraction.
func luma(p [3]byte) byte {
	return byte((19595*uint32(p[0]) + 38470*uint32(p[1]) + 7471*uint32(p[2]) + 1<<15) >> 16)
}

// blend is a + factor·(b − a), truncated and kept within a byte.
func blend(a, b byte, factor float32) byte {
	mixed := int32(float32(a) + float32(factor*float32(int(b)-int(a))))
	return byte(max(0, min(255, mixed)))
}

// Brightness multiplies all channels by factor: 0 is black, 1 the image.
func Brightness(m *RGB, factor float32) {
	table := [256]byte{}
	for b := range table {
		table[b] = blend(0, byte(b), factor)
	}
	lookUp(m, &[3][256]byte{table, table, table})
}

// Contrast scales the distance from the mean grey: 0 is uniform grey, 1 the image.
func Contrast(m *RGB, factor float32) {
	sum := uint64(0)
	for _, p := range triples(m.Pix) {
		sum += uint64(luma(p))
	}
	grey := byte(float64(sum)/float64(m.W*m.H) + 0.5)
	table := [256]byte{}
	for b := range table {
		table[b] = blend(grey, byte(b), factor)
	}
	lookUp(m, &[3][256]byte{table, table, table})
}

// Saturation scales the distance of each pixel from its grey: 0 is a grey image, 1 the image.
func Saturation(m *RGB, factor float32) {
	pixels := triples(m.Pix)
	for i, p := range pixels {
		grey := luma(p)
		pixels[i] = [3]byte{blend(grey, p[0], factor), blend(grey, p[1], factor), blend(grey, p[2], factor)}
	}
}

// Sharpness scales the distance from the image smoothed by a 3×3 kernel, 5 in the middle and 1
// around it: 0 is the smoothed image, 1 the image. The outermost pixels stay as they are.
func Sharpness(m *RGB, factor float32) {
	if m.W < 3 || m.H < 3 {
		return
	}
	width := 3 * m.W
	before, columns := Crop(m, m.Bounds()).Pix, make([]uint32, width) // sums of three rows
	for y := 1; y < m.H-1; y++ {
		above, here, below := before[(y-1)*width:][:width], before[y*width:][:width], before[(y+1)*width:][:width]
		for i := range columns {
			columns[i] = uint32(above[i]) + uint32(here[i]) + uint32(below[i])
		}
		out := m.Pix[y*width:][:width]
		for i := 3; i < width-3; i++ {
			sum := columns[i-3] + columns[i] + columns[i+3] + 4*uint32(here[i])
			smooth := byte((2*sum + 13) / 26) // 13 is odd, so no sum lies in the middle
			out[i] = blend(smooth, here[i], factor)
		}
	}
}

// Hue turns the colour circle by a share of it, −0.5 to 0.5, through Pillow's HSV of bytes.
func Hue(m *RGB, share float64) {
	turn := byte(int(share * 255))
	pixels := triples(m.Pix)
	for i, p := range pixels {
		h, s, v := toHSV(p)
		pixels[i] = fromHSV(h+turn, s, v)
	}
}

// toHSV is Pillow's conversion of a pixel to HSV.
func toHSV(p [3]byte) (h, s, v byte) {
	most, least := max(p[0], p[1], p[2]), min(p[0], p[1], p[2])
	if most == least {
		return 0, 0, most
	}
	span := float32(most - least)
	away := func(c byte) float32 { return float32(most-c) / span }
	r, g, b := away(p[0]), away(p[1]), away(p[2])
	var hue float32
	switch most {
	case p[0]:
		hue = b - g
	case p[1]:
		hue = float32(2 + float64(r) - float64(b))
	default:
		hue = float32(4 + float64(g) - float64(r))
	}
	turn := float64(hue)/6 + 1 // from 5/6 to 11/6
	if turn >= 1 {
		turn--
	}
	return byte(float64(float32(turn)) * 255), byte(float64(span/float32(most)) * 255), most
}

// fromHSV is Pillow's conversion of a pixel from HSV.
func fromHSV(h, s, v byte) [3]byte {
	if s == 0 {
		return [3]byte{v, v, v}
	}
	sixth := float64(h) * 6 / 255
	whole := int(sixth)
	part, sat := float64(float32(sixth-float64(whole))), float64(float32(float64(s)/255))
	level := func(x float64) byte { return byte(float64(float64(v)*x) + 0.5) }
	p, q := level(1-sat), level(1-float64(sat*part))
	t := level(1 - float64(sat*(1-part)))
	switch whole % 6 {
	case 0:
		return [3]byte{v, t, p}
	case 1:
		return [3]byte{q, v, p}
	case 2:
		return [3]byte{p, v, t}
	case 3:
		return [3]byte{p, q, v}
	case 4:
		return [3]byte{t, p, v}
	}
	return [3]byte{v, p, q}
}

// lookUp replaces every byte by the entry of its channel's table.
func lookUp(m *RGB, tables *[3][256]byte) {
	pixels := triples(m.Pix)
	for i, p := range pixels {
		pixels[i] = [3]byte{tables[0][p[0]], tables[1][p[1]], tables[2][p[2]]}
	}
}

// histograms counts the bytes of each channel.
func histograms(m *RGB) (counts [3][256]int) {
	for _, p := range triples(m.Pix) {
		counts[0][p[0]]++
		counts[1][p[1]]++
		counts[2][p[2]]++
	}
	return counts
}

// AutoContrast stretches each channel so that its darkest value becomes 0 and its brightest 255.
func AutoContrast(m *RGB) {
	var tables [3][256]byte
	for c, counts := range histograms(m) {
		low, high := 0, 255
		for low < 255 && counts[low] == 0 {
			low++
		}
		for high > 0 && counts[high] == 0 {
			high--
		}
		scale := 255 / float64(max(1, high-low))
		offset := -float64(low) * scale
		for b := range tables[c] {
			tables[c][b] = byte(b)
			if high > low {
				tables[c][b] = byte(max(0, min(255, int(float64(float64(b)*scale)+offset))))
			}
		}
	}
	lookUp(m, &tables)
}

// Equalize spreads the values of each channel evenly over its range.
func Equalize(m *RGB) {
	var tables [3][256]byte
	for c, counts := range histograms(m) {
		kinds, last := 0, 0
		for _, n := range counts {
			if n > 0 {
				kinds, last = kinds+1, n
			}
		}
		step := (m.W*m.H - last) / 255
		sum := step / 2
		for b, n := range counts {
			tables[c][b] = byte(b)
			if kinds > 1 && step > 0 {
				tables[c][b] = byte(min(255, sum/step))
			}
			sum += n
		}
	}
	lookUp(m, &tables)
}

// Posterize keeps the given number of upper bits of each channel, 0 to 8.
func Posterize(m *RGB, bits int) {
	mask := byte(0xff << (8 - bits))
	for i := range m.Pix {
		m.Pix[i] &= mask
	}
}

// Solarize inverts the values from threshold up.
func Solarize(m *RGB, threshold float64) {
	for i, b := range m.Pix {
		if float64(b) >= threshold {
			m.Pix[i] = 255 - b
		}
	}
}

// Fill gives a rectangle of m one colour.
func (m *RGB) Fill(left, top, w, h int, colour [3]byte) {
	for y := top; y < top+h; y++ {
		row := m.row(y)[left : left+w]
		for x := range row {
			row[x] = colour
		}
	}
}
