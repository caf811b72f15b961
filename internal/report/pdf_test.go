package report

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"image"
	"io"
	"regexp"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"hgld/internal/testing/must"
)

// pageOf returns the content of the page of a PDF.
func pageOf(t *testing.T, file []byte) string {
	t.Helper()
	_, packed, _ := bytes.Cut(file, []byte("stream\n"))
	r := must.Get(zlib.NewReader(bytes.NewReader(packed)))(t)
	text := must.Get(io.ReadAll(r))(t)
	return string(text)
}

// A picture is upright in its rectangle: the unit square of an image, whose first row is at the top, is mapped to it.
func TestPDFHasPicturesUpright(t *testing.T) {
	c := newPDF(200, 100)
	box := vg.Rectangle{Min: vg.Point{X: 5, Y: 6}, Max: vg.Point{X: 25, Y: 16}}
	c.DrawImage(box, image.NewNRGBA(image.Rect(0, 0, 2, 2)))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	before, _, drawn := strings.Cut(pageOf(t, b.Bytes()), " Do")
	at := [2][2]float64{{0, 0}, {1, 1}} // corners of the unit square
	matrices := regexp.MustCompile(`\S+ \S+ \S+ \S+ \S+ \S+ cm`).FindAllString(before, -1)
	for i := len(matrices) - 1; i >= 0; i-- { // the last one counts first
		var m [6]float64
		fmt.Sscan(matrices[i], &m[0], &m[1], &m[2], &m[3], &m[4], &m[5])
		for k, p := range at {
			at[k] = [2]float64{m[0]*p[0] + m[2]*p[1] + m[4], m[1]*p[0] + m[3]*p[1] + m[5]}
		}
	}
	want := [2][2]float64{{5, 6}, {25, 16}}
	for k := range at {
		for axis := range 2 {
			if d := at[k][axis] - want[k][axis]; !drawn || d < -0.01 || d > 0.01 {
				t.Fatalf("the corners are at %v, want %v", at, want)
			}
		}
	}
}

// Text needs no font, whatever its letters; equal plots have equal bytes.
func TestPDFOfAPlotNeedsNoFont(t *testing.T) {
	drawn := func(label string) (file []byte, page string) {
		p := Plot{XLabel: label, Curves: []Curve{{Points: []Point{{X: 1, Y: 3}, {X: 2, Y: 1}}}}}
		d := must.Get(p.Draw())(t)
		var b bytes.Buffer
		must.Do(t, d.Write(&b, "pdf"))
		return b.Bytes(), pageOf(t, b.Bytes())
	}
	file, with := drawn("τ → λ")
	_, without := drawn("")
	curves := regexp.MustCompile(` [cvy]\n`)
	if a, b := len(curves.FindAllString(with, -1)), len(curves.FindAllString(without, -1)); a < b+20 {
		t.Errorf("%d curves with a label and %d without, want the outlines of its letters", a, b)
	}
	if bytes.Contains(file, []byte("/FontFile")) || !bytes.Contains(file, []byte("/Creator (hgld)")) {
		t.Error("the file has a font, or does not name the program")
	}
	if again, _ := drawn("τ → λ"); !bytes.Equal(file, again) {
		t.Error("the same plot has other bytes")
	}
}
