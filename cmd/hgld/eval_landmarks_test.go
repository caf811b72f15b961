package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/img"
	"hgld/internal/report"
	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
)

// savePNG writes an image.
func savePNG(t *testing.T, path string, m *img.RGB) {
	t.Helper()
	picture := image.NewNRGBA(m.Bounds())
	for y := range m.H {
		for x := range m.W {
			p := m.Pix[3*(y*m.W+x):]
			picture.Set(x, y, color.NRGBA{p[0], p[1], p[2], 255})
		}
	}
	var data bytes.Buffer
	must.Do(t, png.Encode(&data, picture))
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, data.Bytes(), 0o644))
}

// patterned returns an image that depends on a number.
func patterned(w, h, n int) *img.RGB {
	m := img.NewRGB(w, h)
	for i := range m.Pix {
		m.Pix[i] = byte((i/3%w)*(3+n) + i/3/w*(5*n+1) + i%3*40)
	}
	return m
}

// landmarkFolder makes a benchmark of one query, a box of photo, whose right answer is its crop. "small" is what
// the crop becomes if photo is reduced to a longer side of 30.
func landmarkFolder(t *testing.T) (weights string) {
	t.Helper()
	t.Chdir(t.TempDir())
	photo := patterned(60, 40, 1)
	crop := img.Crop(photo, image.Rect(10, 6, 40, 36))
	var small img.RGB
	new(img.Resampler).Resize(&small, crop, 15, 15, img.Bilinear)
	for name, m := range map[string]*img.RGB{"photo": photo, "crop": crop, "small": &small,
		"x": patterned(50, 61, 2), "y": patterned(33, 20, 3)} {
		savePNG(t, "jpg/"+name+".png", m)
	}
	for i := range 12 {
		savePNG(t, "more/d"+string(rune('a'+i))+".png", patterned(24+i, 30, 4+i))
	}
	truth := `{"imlist": ["x", "small", "crop", "y"], "qimlist": ["photo"],
		"gnd": [{"bbx": [9.6, 6.5, 40.4, 35.7], "easy": [2], "hard": [1], "junk": []}]}`
	must.Do(t, os.WriteFile("gnd.json", []byte(truth), 0o644))
	return drawnWeights(t, map[string]string{})
}

// rowsOfNPY reads vectors.
func rowsOfNPY(t *testing.T, path string) [][]float32 {
	t.Helper()
	a := must.Get(tensorfile.OpenNPY(path))(t)
	defer a.Close()
	rows, cols := a.Rows()
	values := make([]float32, rows*cols)
	must.Do(t, a.ReadRows(values, 0))
	return slices.Collect(slices.Chunk(values, cols))
}

// A query is the pixels of its box, reduced as its image would be.
func TestLandmarksAreEmbeddedInTheirOwnShapes(t *testing.T) {
	weights := landmarkFolder(t)
	args := []string{"eval", "landmarks", "--weights", weights, "-o", "input.filter=bilinear", "gnd.json", "jpg"}
	for _, c := range []struct {
		side string
		row  int // of the gallery that equals the query
		easy float64
	}{{"1024", 2, 100}, {"30", 1, 0}, {"0", 2, 0}} {
		code, out, errs := run(t, append(args, "--json", "--out", "at"+c.side, "--side", c.side)...)
		var table []revisitedRow
		if err := json.Unmarshal([]byte(out), &table); code != exitOK || err != nil || len(table) != 3 {
			t.Fatalf("exit code %d, %v\n%s%s", code, err, out, errs)
		}
		query, gallery := rowsOfNPY(t, "at"+c.side+"/queries.npy"), rowsOfNPY(t, "at"+c.side+"/gallery.npy")
		if len(query) != 1 || len(gallery) != 4 || !slices.Equal(query[0], gallery[c.row]) {
			t.Errorf("side %s: the query differs from row %d of the gallery", c.side, c.row)
		}
		values := string(must.Get(os.ReadFile("at" + c.side + "/per-query.csv"))(t))
		row := "\nmedium,photo," + table[1].MAP.Decimals(2, "") + "," // one query: its AP is the mean
		if !strings.HasPrefix(values, "protocol,query,AP,P@1,") || !strings.Contains(values, row) {
			t.Errorf("side %s: the values of the query, want %q in\n%s", c.side, row, values)
		}
		if got := float64(table[0].MAP); c.easy == 100 && got != 100 {
			t.Errorf("side %s: mAP of easy is %v, want 100", c.side, got)
		}
	}
	code, out, errs := run(t, strings.Fields("figure retrieved --embeddings at1024/queries.npy --images jpg --out f.svg "+
		"--gallery-embeddings at1024/gallery.npy --qrels gnd.json -o qrels_usage=easy --query photo --top-k 4")...)
	table, err := os.ReadFile("f.csv")
	if code != exitOK || err != nil || !strings.Contains(string(table), "photo.png,1,crop.png,1,1\n") ||
		!strings.Contains(string(table), "photo.png,,small.png,") {
		t.Errorf("the figure: exit code %d, %v\n%s%s%s", code, err, out, errs, table)
	}
	checkBoxedPage(t)
	code, _, errs = run(t, append(args, "--out", "at30", "--side", "30")...)
	if code != exitOK || strings.Contains(errs, "gallery: 0 of") {
		t.Errorf("again: exit code %d\n%s", code, errs)
	}
	code, out, errs = run(t, append(args, "--distractors", "more", "--whiten", "more", "--dims", "3")...)
	if code != exitOK || !strings.Contains(errs, "ranking 16 gallery items for 1 queries") ||
		!strings.Contains(out, "medium") {
		t.Errorf("with distractors and a whitening: exit code %d\n%s%s", code, out, errs)
	}
	if _, err := os.Stat("landmarks/gnd/whiten.npy"); err != nil {
		t.Error(err)
	}
	tower := weightsOf(t, "deit-small", func(x tensorfile.Tensor) (tensorfile.Tensor, bool) { return x, true })
	code, _, errs = run(t, "eval", "landmarks", "--weights", tower, "--backbone", "deit-small", "--out", "tower",
		"gnd.json", "jpg")
	if code != exitUsage || !strings.Contains(errs, "224×224 pixels alone") || !strings.Contains(errs, "--side 0") {
		t.Errorf("a network of one size: exit code %d\n%s", code, errs)
	}
	if left, _ := filepath.Glob("tower/*"); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

// checkBoxedPage fails if the page of judgements does not frame the box of the query in its picture, or if a ground
// truth without boxes gives no page.
func checkBoxedPage(t *testing.T) {
	t.Helper()
	args := strings.Fields("eval run --embeddings at1024/queries.npy --gallery-embeddings at1024/gallery.npy " +
		"-o qrels_usage=easy --out e.json --report page.html --images jpg --qrels")
	page := func(truth string) (items []report.Item, errs string) {
		code, out, errs := run(t, append(args, truth)...)
		text := string(must.Get(os.ReadFile("page.html"))(t))
		_, text, found := strings.Cut(text, `<script id="data" type="application/json">`)
		text, _, _ = strings.Cut(text, "</script>")
		var x report.Explorer
		if err := json.Unmarshal([]byte(text), &x); code != exitOK || !found || err != nil || len(x.Items) != 4 {
			t.Fatalf("%s: exit code %d, %v, %d items\n%s%s", truth, code, err, len(x.Items), out, errs)
		}
		for _, item := range x.Items {
			items = append(items, *item)
		}
		return items, errs
	}
	framed := func(item report.Item) bool { // has the yellow of the frame at the left edge of the box, halfway down
		_, coded, _ := strings.Cut(string(item.Source), ",")
		data := must.Get(base64.StdEncoding.DecodeString(coded))(t)
		r, g, b, _ := must.Get(jpeg.Decode(bytes.NewReader(data)))(t).At(10+2, 21).RGBA()
		return r>>8 > 200 && g>>8 > 160 && b>>8 < 100 // about 255, 214, 0 after JPEG
	}
	items, _ := page("gnd.json")
	for _, item := range items {
		boxed := item.Box != nil && *item.Box == [4]int{10, 6, 40, 36}
		if query := item.ID == "photo.png"; query != boxed || query != framed(item) {
			t.Errorf("%s: box %v, framed: %v", item.ID, item.Box, framed(item))
		}
	}
	whole := strings.Replace(string(must.Get(os.ReadFile("gnd.json"))(t)), `"bbx": [9.6, 6.5, 40.4, 35.7], `, "", 1)
	must.Do(t, os.WriteFile("whole.json", []byte(whole), 0o644))
	items, errs := page("whole.json")
	if !strings.Contains(errs, "shows queries without their boxes") || framed(items[0]) {
		t.Errorf("without boxes: framed: %v\n%s", framed(items[0]), errs)
	}
}

func TestLandmarksThatAreNotThereAreNamed(t *testing.T) {
	weights := landmarkFolder(t)
	for name, text := range map[string]string{
		"lost.json": `{"imlist": ["lost"], "qimlist": ["photo"], "gnd": [{"bbx": [0, 0, 9, 9], "easy": [0]}]}`,
		"box.json":  `{"imlist": ["x"], "qimlist": ["photo"], "gnd": [{"bbx": [0, 0, 9], "easy": [0]}]}`,
		"out.json":  `{"imlist": ["x"], "qimlist": ["photo"], "gnd": [{"bbx": [90, 0, 99, 9], "easy": [0]}]}`,
		"few.json":  `{"imlist": ["x"], "qimlist": ["photo", "y"], "gnd": [{"bbx": [0, 0, 9, 9], "easy": [0]}]}`,
		"not.json":  `{"gnd": []}`,
	} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o644))
	}
	savePNG(t, "twins/a/x.png", patterned(20, 20, 1))
	savePNG(t, "twins/b/x.png", patterned(20, 20, 2))
	savePNG(t, "twins/photo.png", patterned(20, 20, 3))
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"lost.json jpg", "jpg: lost is not among the 5 images", exitUsage},
		{"box.json jpg", "query photo has a box of 3 numbers", exitUsage},
		{"out.json jpg", "its box (90,0)-(99,9) lies outside its 60×40 pixels", exitFailed},
		{"few.json jpg", "the truth of 1 queries, want 2", exitUsage},
		{"not.json jpg", "want the ground truth of Revisited Oxford", exitUsage},
		{"gnd.json nowhere", "nowhere", exitUsage},
		{"gnd.json", "the ground truth and the folder of its images", exitUsage},
		{"--dims 3 gnd.json jpg", "add --whiten", exitUsage},
		{"--side -1 gnd.json jpg", "--side", exitUsage},
		{"box.json twins", "query photo has a box", exitUsage},
		{"out.json twins", "two images are called x", exitUsage},
	} {
		args := append([]string{"eval", "landmarks", "--weights", weights}, strings.Fields(c.args)...)
		says(t, c.code, c.want, args...)
	}
}
