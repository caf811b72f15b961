package report

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// pdfOf returns a PDF and the content of its page. Its table of objects must point to them.
func pdfOf(t *testing.T, write func(w io.Writer) error) (file []byte, page string) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	file = b.Bytes()
	for i, m := range regexp.MustCompile(`(?m)^(\d{10}) 00000 n $`).FindAllSubmatch(file, -1) {
		at, _ := strconv.Atoi(string(m[1]))
		if want := fmt.Sprintf("%d 0 obj\n", i+1); !bytes.HasPrefix(file[at:], []byte(want)) {
			t.Errorf("object %d is said to be at %d: %.12q", i+1, at, file[at:])
		}
	}
	_, tail, _ := bytes.Cut(file, []byte("startxref\n"))
	if at, _ := strconv.Atoi(strings.Fields(string(tail))[0]); !bytes.HasPrefix(file[at:], []byte("xref\n")) {
		t.Errorf("the table is said to be at %d", at)
	}
	_, packed, _ := bytes.Cut(file, []byte("5 0 obj"))
	_, packed, _ = bytes.Cut(packed, []byte("stream\n"))
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return file, string(text)
}

func TestPDFHasTheCoordinatesOfThePlot(t *testing.T) {
	c := newPDF(200, 100)
	c.SetColor(color.NRGBA{R: 255, A: 51}) // a fifth of red on white
	c.SetLineDash([]vg.Length{3, 1.5}, 1)
	var p vg.Path
	p.Move(vg.Point{X: 1, Y: 2})
	p.Line(vg.Point{X: 100})
	p.Arc(vg.Point{}, 100, 0, math.Pi/2) // a quarter of a circle has control points at 0.5523 of its radius
	p.QuadTo(vg.Point{X: 3, Y: 103}, vg.Point{X: 6, Y: 100})
	p.Close()
	c.Stroke(p)
	c.SetLineWidth(0)
	c.Stroke(p)
	pixel := image.NewNRGBA(image.Rect(0, 0, 1, 1))
	pixel.SetNRGBA(0, 0, color.NRGBA{G: 255, A: 255})
	c.DrawImage(vg.Rectangle{Min: vg.Point{X: 5, Y: 6}, Max: vg.Point{X: 25, Y: 16}}, pixel)
	file, page := pdfOf(t, func(w io.Writer) error { _, err := c.WriteTo(w); return err })
	for _, want := range []string{"\n1 0.8 0.8 RG\n", "\n[3 1.5 ] 1 d\n",
		"\n1 2 m\n100 0 l\n100 0 l\n100 55.2285 55.2285 100 0 100 c\n2 102 4 102 6 100 c\nh\nS\n",
		"\nq\n20 0 0 10 5 6 cm\n/I0 Do\nQ\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if n := strings.Count(page, "S\n"); n != 1 {
		t.Errorf("%d strokes, want one: a line without a width is none", n)
	}
	for _, want := range []string{"/MediaBox [0 0 200.0000 100.0000]", "/XObject << /I0 6 0 R >>", "/Width 1 /Height 1 "} {
		if !bytes.Contains(file, []byte(want)) {
			t.Errorf("the file lacks %q", want)
		}
	}
}

// Text needs no font, whatever its letters; equal plots have equal bytes.
func TestPDFOfAPlotNeedsNoFont(t *testing.T) {
	drawn := func(label string) ([]byte, string) {
		p := Plot{XLabel: label, Curves: []Curve{{Points: []Point{{X: 1, Y: 3}, {X: 2, Y: 1}}}}}
		d, err := p.Draw()
		if err != nil {
			t.Fatal(err)
		}
		return pdfOf(t, func(w io.Writer) error { return d.Write(w, "pdf") })
	}
	file, with := drawn("τ → λ")
	_, without := drawn("")
	if a, b := strings.Count(with, " c\n"), strings.Count(without, " c\n"); a < b+20 {
		t.Errorf("%d curves with a label and %d without, want the outlines of its letters", a, b)
	}
	if bytes.Contains(file, []byte("/Font")) || !bytes.Contains(file, []byte("/Creator (hgld)")) {
		t.Error("the file names a font, or not the program")
	}
	if again, _ := drawn("τ → λ"); !bytes.Equal(file, again) {
		t.Error("the same plot has other bytes")
	}
}
