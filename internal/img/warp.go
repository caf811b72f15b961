package img

import "math"

// Affine maps the position (x, y) of a pixel in the result to its position in the source, (A·x +
// B·y + C, D·x + E·y + F).
type Affine struct{ A, B, C, D, E, F float64 }

// ShearX slants the image: a pixel at height y comes from x + share·y.
func ShearX(share float64) Affine { return Affine{A: 1, B: share, E: 1} }

// ShearY slants the image: a pixel at x comes from y + share·x.
func ShearY(share float64) Affine { return Affine{A: 1, D: share, E: 1} }

// Translate moves the image by whole pixels to the right and down.
func Translate(right, down int) Affine {
	return Affine{A: 1, C: -float64(right), E: 1, F: -float64(down)}
}

// Rotate turns an image of w×h pixels counterclockwise about its centre.
func Rotate(w, h int, degrees float64) Affine {
	turned := -math.Mod(math.Mod(degrees, 360)+360, 360) * (math.Pi / 180)
	round := func(x float64) float64 { return math.Round(x*1e15) / 1e15 } // as Pillow does
	cos, sin := round(math.Cos(turned)), round(math.Sin(turned))
	cx, cy := float64(w)/2, float64(h)/2
	return Affine{
		A: cos, B: sin, C: float64(cos*-cx) + float64(sin*-cy) + cx,
		D: -sin, E: cos, F: float64(-sin*-cx) + float64(cos*-cy) + cy,
	}
}

// Warp returns m under a map. Each pixel is the nearest one in the source, or black if there is
// none. It has the bytes of Pillow's transform, which computes positions with 16 bits of fraction.
func Warp(m *RGB, f Affine) *RGB {
	out := NewRGB(m.W, m.H)
	fixed := func(v float64) int64 { return int64(math.Floor(float64(v*65536) + 0.5)) }
	a, b, d, e := fixed(f.A), fixed(f.B), fixed(f.D), fixed(f.E)
	x0 := fixed(f.C + float64(f.A*0.5) + float64(f.B*0.5))
	y0 := fixed(f.F + float64(f.D*0.5) + float64(f.E*0.5))
	for y := range m.H {
		row, px, py := out.row(y), x0, y0
		for x := range row {
			if sx, sy := int(px>>16), int(py>>16); sx >= 0 && sx < m.W && sy >= 0 && sy < m.H {
				row[x] = m.row(sy)[sx]
			}
			px, py = px+a, py+d
		}
		x0, y0 = x0+b, y0+e
	}
	return out
}
