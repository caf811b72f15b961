// Package sketch draws small pictures of made-up places. The demo uses them, and so do tests
// that need images which a network can learn from. Pictures of one place look alike. Places of
// one form (all bridges, all lakes) share their shape but neither colours nor proportions.
package sketch

import (
	"image"
	"image/color"
	"math"
	"math/rand/v2"

	"golang.org/x/image/vector"
)

// Forms lists the forms of a place.
var Forms = []string{"church", "castle", "bridge", "lighthouse", "tower", "museum", "stadium", "cemetery",
	"mountain", "lake", "waterfall", "island", "park", "ocean"}

// Picture draws a square view of a place, size pixels wide. place and view are arbitrary
// numbers, and form is an index into Forms. Equal arguments produce the same picture.
func Picture(form, place, view, size int) *image.RGBA {
	p := rand.New(rand.NewPCG(uint64(place)*0x9E3779B97F4A7C15+uint64(form), 0x5ce7c4))
	v := rand.New(rand.NewPCG(uint64(place), uint64(view)+0x71e3))
	c := &canvas{
		img: image.NewRGBA(image.Rect(0, 0, size, size)), size: float64(size),
		scale: 0.85 + 0.3*v.Float64(), dx: 0.16 * (v.Float64() - 0.5), dy: 0.1 * (v.Float64() - 0.5), flip: v.IntN(2) == 1,
		light: 0.8 + 0.35*v.Float64(),
	}
	s := newPlace(p)
	c.backdrop(s, v)
	drawings[form](c, s)
	c.grain(v)
	return c.img
}

// place holds the properties that all pictures of one place share.
type place struct {
	sky, ground, wall, roof, accent color.RGBA
	a, b, c                         float64 // proportions, in [0, 1)
	n                               int     // number of windows, arches or trees: 2 … 6
}

func newPlace(r *rand.Rand) *place {
	hue := r.Float64()
	return &place{
		sky:    hsl(0.5+0.2*r.Float64(), 0.3+0.5*r.Float64(), 0.6+0.3*r.Float64()),
		ground: hsl(0.08+0.3*r.Float64(), 0.2+0.5*r.Float64(), 0.25+0.3*r.Float64()),
		wall:   hsl(hue, 0.2+0.6*r.Float64(), 0.35+0.4*r.Float64()), roof: hsl(hue+0.3+0.4*r.Float64(), 0.4+0.5*r.Float64(),
			0.25+0.35*r.Float64()),
		accent: hsl(r.Float64(), 0.7, 0.5+0.3*r.Float64()),
		a:      r.Float64(), b: r.Float64(), c: r.Float64(), n: 2 + r.IntN(5),
	}
}

// canvas draws in unit coordinates: x points right, y down, and the scene is [0, 1]².
type canvas struct {
	img                 *image.RGBA
	size, scale, dx, dy float64
	flip                bool
	light               float64
}

func (c *canvas) at(x, y float64) (float32, float32) {
	x, y = (x-0.5)*c.scale+0.5+c.dx, (y-0.55)*c.scale+0.55+c.dy
	if c.flip {
		x = 1 - x
	}
	return float32(x * c.size), float32(y * c.size)
}

// poly fills a polygon given as x0, y0, x1, y1, …
func (c *canvas) poly(col color.RGBA, xy ...float64) {
	r := vector.NewRasterizer(c.img.Rect.Dx(), c.img.Rect.Dy())
	for i := 0; i < len(xy); i += 2 {
		x, y := c.at(xy[i], xy[i+1])
		if i == 0 {
			r.MoveTo(x, y)
		} else {
			r.LineTo(x, y)
		}
	}
	r.ClosePath()
	r.Draw(c.img, c.img.Rect, image.NewUniform(c.lit(col)), image.Point{})
}

func (c *canvas) rect(col color.RGBA, x, y, w, h float64) {
	c.poly(col, x, y, x+w, y, x+w, y+h, x, y+h)
}

// oval fills a sector of an ellipse between two angles, measured in turns clockwise from the
// right.
func (c *canvas) oval(col color.RGBA, x, y, rx, ry, from, to float64) {
	var xy []float64
	const steps = 24
	for i := range steps + 1 {
		t := 2 * math.Pi * (from + (to-from)*float64(i)/steps)
		xy = append(xy, x+rx*math.Cos(t), y+ry*math.Sin(t))
	}
	c.poly(col, xy...)
}

// backdrop paints sky and ground.
func (c *canvas) backdrop(s *place, v *rand.Rand) {
	horizon := 0.6 + 0.1*s.c + 0.04*(v.Float64()-0.5)
	for y := range c.img.Rect.Dy() {
		t := float64(y) / c.size
		col := shade(s.sky, 0.75+0.5*t)
		if t > horizon {
			col = shade(s.ground, 1.25-0.5*t)
		}
		for x := range c.img.Rect.Dx() {
			c.img.SetRGBA(x, y, c.lit(col))
		}
	}
}

// grain adds noise, as a camera does.
func (c *canvas) grain(v *rand.Rand) {
	for i := range c.img.Pix {
		if i%4 != 3 {
			c.img.Pix[i] = clamp(float64(c.img.Pix[i]) + 14*(v.Float64()-0.5))
		}
	}
}

func (c *canvas) lit(col color.RGBA) color.RGBA { return shade(col, c.light) }

func shade(c color.RGBA, f float64) color.RGBA {
	return color.RGBA{clamp(float64(c.R) * f), clamp(float64(c.G) * f), clamp(float64(c.B) * f), 255}
}

func clamp(v float64) uint8 { return uint8(max(0, min(255, v))) }

// hsl converts hue (in turns), saturation and lightness to a colour.
func hsl(h, s, l float64) color.RGBA {
	f := func(n float64) uint8 {
		k := math.Mod(n+h*12, 12)
		return clamp(255 * (l - s*min(l, 1-l)*max(-1, min(k-3, 9-k, 1))))
	}
	return color.RGBA{f(0), f(8), f(4), 255}
}
