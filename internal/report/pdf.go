package report

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
	"strconv"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func init() {
	draw.RegisterFormat("pdf", func(w, h vg.Length) vg.CanvasWriterTo { return newPDF(w, h) })
}

// pdfCanvas draws on the one page of a PDF. Text is drawn as the outlines of its glyphs, so that a figure has every
// letter of its font and needs none. Colours are opaque: what shines through them is white.
type pdfCanvas struct {
	width, height vg.Length
	page          bytes.Buffer // content stream
	images        [][]byte     // objects
	buffer        sfnt.Buffer
	end           [2]float64 // of the path

	line  vg.Length // width of strokes
	lines []vg.Length
}

func newPDF(width, height vg.Length) *pdfCanvas {
	c := &pdfCanvas{width: width, height: height}
	vg.Initialize(c)
	return c
}

// put writes an operator after its numbers.
func (c *pdfCanvas) put(operator string, numbers ...float64) {
	for _, v := range numbers {
		c.page.WriteString(strconv.FormatFloat(math.Round(v*1e4)/1e4+0, 'f', -1, 64) + " ")
	}
	c.page.WriteString(operator + "\n")
}

// Size returns the size of the page.
func (c *pdfCanvas) Size() (x, y vg.Length) { return c.width, c.height }

// SetLineWidth sets the width of strokes; those without one are not drawn.
func (c *pdfCanvas) SetLineWidth(w vg.Length) {
	c.line = w
	c.put("w", w.Points())
}

// SetLineDash sets the lengths of dashes and gaps.
func (c *pdfCanvas) SetLineDash(pattern []vg.Length, offset vg.Length) {
	c.page.WriteString("[")
	for _, p := range pattern {
		fmt.Fprintf(&c.page, "%.4g ", p.Points())
	}
	c.page.WriteString("] ")
	c.put("d", offset.Points())
}

// SetColor sets the colour of strokes and fills.
func (c *pdfCanvas) SetColor(colour color.Color) {
	if colour == nil {
		colour = color.Black
	}
	r, g, b := onWhite(colour)
	c.put("RG", float64(r)/255, float64(g)/255, float64(b)/255)
	c.put("rg", float64(r)/255, float64(g)/255, float64(b)/255)
}

// onWhite returns a colour as white paper shows it.
func onWhite(colour color.Color) (r, g, b byte) {
	red, green, blue, alpha := colour.RGBA()
	rest := 0xffff - alpha
	return byte((red + rest) >> 8), byte((green + rest) >> 8), byte((blue + rest) >> 8)
}

// Rotate turns what follows by an angle in radians.
func (c *pdfCanvas) Rotate(a float64) {
	c.put("cm", math.Cos(a), math.Sin(a), -math.Sin(a), math.Cos(a), 0, 0)
}

// Translate moves what follows.
func (c *pdfCanvas) Translate(by vg.Point) { c.put("cm", 1, 0, 0, 1, by.X.Points(), by.Y.Points()) }

// Scale stretches what follows.
func (c *pdfCanvas) Scale(x, y float64) { c.put("cm", x, 0, 0, y, 0, 0) }

// Push keeps the state for Pop.
func (c *pdfCanvas) Push() {
	c.lines = append(c.lines, c.line)
	c.put("q")
}

// Pop restores the state of Push.
func (c *pdfCanvas) Pop() {
	c.line, c.lines = c.lines[len(c.lines)-1], c.lines[:len(c.lines)-1]
	c.put("Q")
}

// Stroke draws a path.
func (c *pdfCanvas) Stroke(p vg.Path) {
	if c.line > 0 {
		c.path(p)
		c.put("S")
	}
}

// Fill fills a path.
func (c *pdfCanvas) Fill(p vg.Path) {
	c.path(p)
	c.put("f")
}

func (c *pdfCanvas) path(p vg.Path) {
	next := "m" // an arc begins with a line from the point before it, if there is one
	for _, part := range p {
		x, y := part.Pos.X.Points(), part.Pos.Y.Points()
		switch part.Type {
		case vg.MoveComp:
			c.to("m", x, y)
		case vg.LineComp:
			c.to("l", x, y)
		case vg.ArcComp:
			c.arc(part, next)
		case vg.CurveComp:
			if k := part.Control; len(k) == 1 {
				c.quadratic(k[0].X.Points(), k[0].Y.Points(), x, y)
			} else {
				c.to("c", k[0].X.Points(), k[0].Y.Points(), k[1].X.Points(), k[1].Y.Points(), x, y)
			}
		case vg.CloseComp:
			c.put("h")
		}
		if next = "l"; part.Type == vg.CloseComp {
			next = "m"
		}
	}
}

// to adds a piece of a path. The last two numbers are its end.
func (c *pdfCanvas) to(operator string, numbers ...float64) {
	c.put(operator, numbers...)
	c.end = [2]float64(numbers[len(numbers)-2:])
}

// quadratic adds a quadratic curve to a path as a cubic one, which PDF has alone.
func (c *pdfCanvas) quadratic(controlX, controlY, x, y float64) {
	third := func(a, control float64) float64 { return a + (control-a)*2/3 }
	c.to("c", third(c.end[0], controlX), third(c.end[1], controlY), third(x, controlX), third(y, controlY), x, y)
}

// arc adds a part of a circle to a path, as cubic curves of a quarter at most. next leads to its first point.
func (c *pdfCanvas) arc(part vg.PathComp, next string) {
	x, y, r := part.Pos.X.Points(), part.Pos.Y.Points(), part.Radius.Points()
	pieces := max(1, int(math.Ceil(math.Abs(part.Angle)/(math.Pi/2)-1e-9)))
	step := part.Angle / float64(pieces)
	k := 4.0 / 3 * math.Tan(step/4) * r
	sin, cos := math.Sincos(part.Start)
	c.to(next, x+r*cos, y+r*sin)
	for i := range pieces {
		nextSin, nextCos := math.Sincos(part.Start + float64(i+1)*step)
		c.to("c", x+r*cos-k*sin, y+r*sin+k*cos, x+r*nextCos+k*nextSin, y+r*nextSin-k*nextCos, x+r*nextCos, y+r*nextSin)
		sin, cos = nextSin, nextCos
	}
}

// FillString draws the outlines of a text's glyphs, with the advances and the kerning by which it was measured.
func (c *pdfCanvas) FillString(face plotfont.Face, at vg.Point, text string) {
	em := fixed.Int26_6(face.Face.UnitsPerEm())
	scale := face.Font.Size.Points() / float64(em)
	x, y := at.X.Points(), at.Y.Points()
	previous, outlined := sfnt.GlyphIndex(0), false
	for i, r := range []rune(text) {
		glyph, err := face.Face.GlyphIndex(&c.buffer, r)
		if err != nil {
			continue
		}
		if i > 0 {
			if kern, err := face.Face.Kern(&c.buffer, previous, glyph, em, font.HintingNone); err == nil {
				x += float64(kern) * scale
			}
		}
		if segments, err := face.Face.LoadGlyph(&c.buffer, glyph, em, nil); err == nil && len(segments) > 0 {
			c.outline(segments, x, y, scale)
			outlined = true
		}
		if advance, err := face.Face.GlyphAdvance(&c.buffer, glyph, em, font.HintingNone); err == nil {
			x += float64(advance) * scale
		}
		previous = glyph
	}
	if outlined {
		c.put("f")
	}
}

// outline adds a glyph to the path. Its vertical axis points down.
func (c *pdfCanvas) outline(segments sfnt.Segments, x, y, scale float64) {
	for _, s := range segments {
		var p []float64
		for _, a := range s.Args {
			p = append(p, x+float64(a.X)*scale, y-float64(a.Y)*scale)
		}
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			c.to("m", p[:2]...)
		case sfnt.SegmentOpLineTo:
			c.to("l", p[:2]...)
		case sfnt.SegmentOpQuadTo:
			c.quadratic(p[0], p[1], p[2], p[3])
		case sfnt.SegmentOpCubeTo:
			c.to("c", p...)
		}
	}
}

// DrawImage draws a picture in a rectangle.
func (c *pdfCanvas) DrawImage(to vg.Rectangle, picture image.Image) {
	b := picture.Bounds()
	pixels := make([]byte, 0, 3*b.Dx()*b.Dy())
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			red, green, blue := onWhite(picture.At(x, y))
			pixels = append(pixels, red, green, blue)
		}
	}
	c.images = append(c.images, stream(pixels, fmt.Sprintf(
		"/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceRGB /BitsPerComponent 8 ", b.Dx(), b.Dy())))
	size := to.Size()
	c.put("q")
	c.put("cm", size.X.Points(), 0, 0, size.Y.Points(), to.Min.X.Points(), to.Min.Y.Points())
	fmt.Fprintf(&c.page, "/I%d Do\nQ\n", len(c.images)-1)
}

// stream returns a compressed stream with further entries of its dictionary.
func stream(data []byte, entries string) []byte {
	var packed, out bytes.Buffer
	w := zlib.NewWriter(&packed)
	w.Write(data)
	w.Close()
	fmt.Fprintf(&out, "<< %s/Filter /FlateDecode /Length %d >>\nstream\n", entries, packed.Len())
	out.Write(packed.Bytes())
	out.WriteString("\nendstream")
	return out.Bytes()
}

// WriteTo writes the file: the program's name, which is found at the beginning, catalog, pages, page, content, images.
func (c *pdfCanvas) WriteTo(w io.Writer) (int64, error) {
	named := ""
	for i := range c.images {
		named += fmt.Sprintf("/I%d %d 0 R ", i, 6+i)
	}
	objects := append([][]byte{
		[]byte("<< /Creator (hgld) >>"),
		[]byte("<< /Type /Catalog /Pages 3 0 R >>"),
		[]byte("<< /Type /Pages /Kids [4 0 R] /Count 1 >>"),
		fmt.Appendf(nil, "<< /Type /Page /Parent 3 0 R /MediaBox [0 0 %.4f %.4f] /Contents 5 0 R "+
			"/Resources << /XObject << %s>> >> >>", c.width.Points(), c.height.Points(), named),
		stream(c.page.Bytes(), ""),
	}, c.images...)
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	table := fmt.Sprintf("xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for i, object := range objects {
		table += fmt.Sprintf("%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	fmt.Fprintf(&b, "%strailer\n<< /Size %d /Root 2 0 R /Info 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", table,
		len(objects)+1, b.Len())
	return b.WriteTo(w)
}
