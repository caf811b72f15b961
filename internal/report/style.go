package report

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Style is how pictures are set, for a page or for a paper.
type Style struct {
	Width    string  `yaml:"width" usage:"width of pictures, such as 8.4cm, 84mm or 3.3in; empty: 16cm"`
	FontSize float64 `yaml:"font_size" range:"0 72" usage:"size of the letters in pictures, in points; 0: 12 and 10"`
	DPI      int     `yaml:"dpi" range:"0 2400" usage:"dots an inch of .png; 0: 96"`
}

var widthForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(cm|mm|in|pt)$`)

var units = map[string]vg.Length{"cm": vg.Centimeter, "mm": vg.Millimeter, "in": vg.Inch, "pt": 1}

// Check returns an error unless Width is "" or a length from 2 cm to 1 m.
func (s Style) Check() error {
	if w := s.width(0); s.Width != "" && (w < 2*vg.Centimeter || w > 100*vg.Centimeter) {
		return fmt.Errorf("width is %.40q; want a length from 2cm to 100cm, such as 8.4cm, 84mm or 3.3in", s.Width)
	}
	return nil
}

// width returns Width, otherwise for "".
func (s Style) width(otherwise vg.Length) vg.Length {
	if m := widthForm.FindStringSubmatch(s.Width); m != nil {
		if n, err := strconv.ParseFloat(m[1], 64); err == nil {
			return vg.Length(n) * units[m[2]]
		}
	}
	return otherwise
}

// points returns the size of letters that have a size otherwise.
func (s Style) points(otherwise vg.Length) vg.Length {
	if s.FontSize > 0 {
		return vg.Points(s.FontSize)
	}
	return otherwise
}

// usualDPI is the resolution of pictures for a screen.
const usualDPI = 96

func (s Style) dpi() int {
	if s.DPI > 0 {
		return s.DPI
	}
	return usualDPI
}

// canvas returns a canvas in one of Formats.
func (s Style) canvas(width, height vg.Length, format string) (vg.CanvasWriterTo, error) {
	if format == "png" {
		return vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(s.dpi()))}, nil
	}
	return draw.NewFormattedCanvas(width, height, format)
}

// svgFonts names fonts of the same widths beside that of a text, for viewers that do not have it.
var svgFonts = strings.NewReplacer(
	"font-family:Liberation Sans;", "font-family:Liberation Sans,Arial,Helvetica,sans-serif;",
	"font-family:Liberation Sans\"", "font-family:Liberation Sans,Arial,Helvetica,sans-serif\"")

// finished completes a picture: an SVG names further fonts; a PNG states its resolution if it is not the usual one. All
// have the name of the program: a comment before an SVG, the text Software of a PNG, the creator of a PDF.
func (s Style) finished(picture []byte, format string) []byte {
	switch format {
	case "svg":
		picture = []byte(svgFonts.Replace(string(picture)))
		at := max(bytes.Index(picture, []byte("<svg")), 0)
		return slices.Insert(picture, at, []byte("<!-- hgld -->\n")...)
	case "png":
		const afterHeader = 8 + 25 // the signature and the chunk IHDR
		chunks := pngChunk("tEXt", []byte("Software\x00hgld"))
		if s.dpi() != usualDPI {
			metre := binary.BigEndian.AppendUint32(nil, uint32(math.Round(float64(s.dpi())/0.0254)))
			chunks = append(chunks, pngChunk("pHYs", slices.Concat(metre, metre, []byte{1}))...)
		}
		return slices.Insert(picture, min(afterHeader, len(picture)), chunks...)
	}
	return picture
}

func pngChunk(kind string, data []byte) []byte {
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	chunk = append(append(chunk, kind...), data...)
	return binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
}
