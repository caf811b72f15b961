package report

import (
	"image"
	"image/color"
	"io"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	plottext "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sheet is a sheet of pictures in rows, for a paper.
type Sheet struct {
	Rows []SheetRow // from the top
	Side float64    // longer side of a picture, in millimetres, without a width in Style

	Style Style // how the sheet is set
}

// SheetRow is a row of a sheet.
type SheetRow struct {
	Title string // above the pictures
	Tiles []Tile // from the left
}

// Tile is a picture of a sheet.
type Tile struct {
	Picture image.Image // nil: an empty frame
	Frame   color.Color // nil: none
	Caption string      // below the picture, cut to its width
}

// Frame returns the kind of frame of a picture that shares some of the levels with the query: 3 for all, 0
// for none, 2 for more than half of the levels, 1 otherwise.
func Frame(shared, levels int) int {
	switch {
	case shared == levels:
		return 3
	case shared == 0:
		return 0
	case 2*shared > levels:
		return 2
	}
	return 1
}

// FrameColours are the colours of frames on a sheet.
var FrameColours = [4]color.RGBA{{213, 94, 0, 255}, {230, 159, 0, 255}, {86, 180, 233, 255}, {0, 158, 115, 255}}

// Measures of a sheet.
const (
	sheetGap     = 2 * vg.Millimeter   // between tiles
	sheetFrame   = 0.8 * vg.Millimeter // width of a frame
	sheetTitle   = 5 * vg.Millimeter   // height of a title
	sheetCaption = 3 * vg.Millimeter   // height of a caption
)

// Write writes the sheet in one of Formats, on a white background.
func (s *Sheet) Write(w io.Writer, format string) error {
	columns := 0
	for i := range s.Rows {
		columns = max(columns, len(s.Rows[i].Tiles))
	}
	if columns == 0 {
		return ErrEmpty
	}
	side, height := vg.Length(s.Side)*vg.Millimeter, sheetGap
	if width := s.Style.width(0); width > 0 {
		side = max((width-sheetGap)/vg.Length(columns)-sheetGap, sheetGap)
	}
	for i := range s.Rows {
		height += s.height(i, side)
	}
	canvas, err := s.Style.canvas(sheetGap+vg.Length(columns)*(side+sheetGap), height, format)
	if err != nil {
		return err
	}
	c := draw.New(canvas)
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	top := c.Max.Y - sheetGap
	for i, row := range s.Rows {
		y := top
		if row.Title != "" {
			c.FillText(sheetText(s.Style.points(vg.Points(9))), vg.Point{X: sheetGap, Y: y}, row.Title)
			y -= sheetTitle
		}
		for k, t := range row.Tiles {
			at := vg.Point{X: sheetGap + vg.Length(k)*(side+sheetGap), Y: y}
			drawTile(c, t, at, side, sheetText(s.Style.points(vg.Points(9))*2/3))
		}
		top -= s.height(i, side)
	}
	var b strings.Builder
	if _, err := canvas.WriteTo(&b); err != nil {
		return err
	}
	_, err = w.Write(s.Style.finished([]byte(b.String()), format))
	return err
}

// height returns the height of a row with the gap below it.
func (s *Sheet) height(i int, side vg.Length) vg.Length {
	h := side + sheetGap
	if s.Rows[i].Title != "" {
		h += sheetTitle
	}
	for _, t := range s.Rows[i].Tiles {
		if t.Caption != "" {
			return h + sheetCaption
		}
	}
	return h
}

// sheetText is the style of a text below a point.
func sheetText(size vg.Length) draw.TextStyle {
	return draw.TextStyle{Color: color.Black, Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"},
		size), XAlign: draw.XLeft, YAlign: draw.YTop, Handler: sheetFonts}
}

// sheetFonts holds the fonts of sheets.
var sheetFonts = plottext.Plain{Fonts: font.NewCache(liberation.Collection())}

// drawTile draws a picture in the middle of the square whose upper left corner is at.
func drawTile(c draw.Canvas, t Tile, at vg.Point, side vg.Length, style draw.TextStyle) {
	box := vg.Rectangle{Min: vg.Point{X: at.X, Y: at.Y - side}, Max: vg.Point{X: at.X + side, Y: at.Y}}
	frame := t.Frame
	if t.Picture == nil && frame == nil {
		frame = color.Gray{180}
	}
	inner := box
	if t.Picture != nil {
		size := t.Picture.Bounds().Size()
		longest := vg.Length(max(size.X, size.Y))
		margin := vg.Point{X: side * (1 - vg.Length(size.X)/longest) / 2, Y: side * (1 - vg.Length(size.Y)/longest) / 2}
		inner = vg.Rectangle{Min: box.Min.Add(margin), Max: box.Max.Sub(margin)}
		c.DrawImage(inner, t.Picture)
	}
	if frame != nil {
		c.SetColor(frame)
		c.SetLineWidth(sheetFrame)
		c.Stroke(inner.Path())
	}
	if t.Caption != "" {
		caption := t.Caption
		for style.Width(caption) > side && caption != "" {
			runes := []rune(strings.TrimSuffix(caption, "…"))
			caption = string(runes[:len(runes)-1]) + "…"
			if len(runes) == 1 {
				break
			}
		}
		c.FillText(style, vg.Point{X: at.X, Y: at.Y - side - sheetFrame}, caption)
	}
}
