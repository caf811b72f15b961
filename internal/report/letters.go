package report

import (
	"slices"
	"unicode"

	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot/font"
)

// Lacking returns the letters of texts that the font of pictures in PNG and PDF does not have, each once. An SVG
// leaves letters to the fonts of its viewer.
func Lacking(texts ...string) string {
	face := sheetFonts.Fonts.Lookup(font.Font{Typeface: "Liberation", Variant: "Sans"}, 1)
	var list []rune
	var buffer sfnt.Buffer
	for _, text := range texts {
		for _, r := range text {
			glyph, err := face.Face.GlyphIndex(&buffer, r)
			if (glyph == 0 || err != nil) && unicode.IsGraphic(r) && !slices.Contains(list, r) {
				list = append(list, r)
			}
		}
	}
	return string(list)
}
