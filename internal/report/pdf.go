package report

import (
	"image"
	"io"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgpdf"
)

func init() {
	epoch := time.Unix(0, 0).UTC() // equal figures have equal bytes
	fpdf.SetDefaultCreationDate(epoch)
	fpdf.SetDefaultModificationDate(epoch)
	fpdf.SetDefaultCatalogSort(true)
	draw.RegisterFormat("pdf", func(w, h vg.Length) vg.CanvasWriterTo { return newPDF(w, h) })
}

// pdfCanvas draws text as the outlines of its glyphs. The canvas of gonum embeds fonts, and has only the letters of
// code page 1252: neither τ nor a minus sign.
type pdfCanvas struct {
	*vgpdf.Canvas
	buffer sfnt.Buffer
}

func newPDF(width, height vg.Length) *pdfCanvas { return &pdfCanvas{Canvas: vgpdf.New(width, height)} }

// FillString fills the outlines of a text's glyphs, with the advances and the kerning by which it was measured.
func (c *pdfCanvas) FillString(face plotfont.Face, at vg.Point, text string) {
	em := fixed.Int26_6(face.Face.UnitsPerEm())
	scale := face.Font.Size / vg.Length(em)
	previous := sfnt.GlyphIndex(0)
	var outlines vg.Path
	for i, r := range []rune(text) {
		glyph, err := face.Face.GlyphIndex(&c.buffer, r)
		if err != nil {
			continue
		}
		if i > 0 {
			if kern, err := face.Face.Kern(&c.buffer, previous, glyph, em, font.HintingNone); err == nil {
				at.X += vg.Length(kern) * scale
			}
		}
		if segments, err := face.Face.LoadGlyph(&c.buffer, glyph, em, nil); err == nil {
			outlines = append(outlines, outline(segments, at, scale)...)
		}
		if advance, err := face.Face.GlyphAdvance(&c.buffer, glyph, em, font.HintingNone); err == nil {
			at.X += vg.Length(advance) * scale
		}
		previous = glyph
	}
	if len(outlines) > 0 {
		c.Fill(outlines)
	}
}

// outline returns the path of a glyph, whose vertical axis points down.
func outline(segments sfnt.Segments, at vg.Point, scale vg.Length) (path vg.Path) {
	for _, s := range segments {
		var p [3]vg.Point
		for i, a := range s.Args {
			p[i] = vg.Point{X: at.X + vg.Length(a.X)*scale, Y: at.Y - vg.Length(a.Y)*scale}
		}
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			path.Move(p[0])
		case sfnt.SegmentOpLineTo:
			path.Line(p[0])
		case sfnt.SegmentOpQuadTo:
			path.QuadTo(p[0], p[1])
		case sfnt.SegmentOpCubeTo:
			path.CubeTo(p[0], p[1], p[2])
		}
	}
	return path
}

// DrawImage draws a picture upright. The canvas of gonum, whose vertical axis it turns, draws it upside down.
func (c *pdfCanvas) DrawImage(to vg.Rectangle, picture image.Image) {
	c.Push()
	defer c.Pop()
	c.Translate(vg.Point{Y: to.Min.Y + to.Max.Y})
	c.Scale(1, -1)
	c.Canvas.DrawImage(to, picture)
}

// WriteTo writes the file, and the name of the program after its end.
func (c *pdfCanvas) WriteTo(w io.Writer) (int64, error) {
	n, err := c.Canvas.WriteTo(w)
	if err != nil {
		return n, err
	}
	more, err := io.WriteString(w, "% /Creator (hgld)\n")
	return n + int64(more), err
}
