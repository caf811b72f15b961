package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"hgld/cluster"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/labels"
)

// newPage returns a page with clusters of five tags each, named by name.
func newPage(names []string) *Page {
	d := &labels.Draft{Origin: labels.Origin{Tool: "hgld", Algorithm: "lloyd", Encoder: names[0], Prompt: names[0],
		Input: names[0]}}
	random := rand.New(rand.NewPCG(1, 2))
	positions := cluster.NewMatrix(len(names), 2)
	for i, name := range names {
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: name, QID: name}, Landmarks: i % 7})
		if i%5 == 0 {
			d.Clusters = append(d.Clusters, labels.Cluster{ID: 10 + i, Name: name})
		}
		c := &d.Clusters[len(d.Clusters)-1]
		c.Members = append(c.Members, labels.Member{Tag: i, Distance: float64(i%5) / 4, Outlier: i%5 == 4})
		positions.Row(i)[0], positions.Row(i)[1] = float32(random.NormFloat64()), float32(random.NormFloat64())
	}
	for i := range d.Clusters {
		d.Clusters[i].Nearest = []int{d.Clusters[(i+1)%len(d.Clusters)].ID}
	}
	return &Page{Draft: d, Positions: positions, Method: "pca", Seed: 1}
}

func render(t testing.TB, p *Page) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, p.Write(&b))
	return b.String()
}

func plain(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("tag %d", i))
	}
	return names
}

// block returns the data that the page's script reads.
func block(t *testing.T, text string) data {
	t.Helper()
	_, rest, _ := strings.Cut(text, `<script id="data" type="application/json">`)
	inner, _, _ := strings.Cut(rest, "</script>")
	var d data
	must.Do(t, json.Unmarshal([]byte(inner), &d))
	return d
}

func TestPageHoldsTheDraft(t *testing.T) {
	p := newPage(plain(23))
	d := block(t, render(t, p))
	if len(d.Tags.Name) != 23 || len(d.Clusters) != 5 || len(d.Tags.Outlier) != 4 {
		t.Fatalf("%d tags, %d clusters, %d outliers", len(d.Tags.Name), len(d.Clusters), len(d.Tags.Outlier))
	}
	for i, c := range d.Clusters {
		want := p.Draft.Clusters[i]
		if c.Name != want.Name || c.ID != want.ID || len(c.Members) != len(want.Members) ||
			d.Clusters[c.Nearest[0]].ID != want.Nearest[0] {
			t.Errorf("cluster %+v, want %+v", c, want)
		}
		for k, m := range c.Members {
			if d.Tags.Cluster[m] != i || d.Tags.Distance[m] != want.Members[k].Distance {
				t.Errorf("member %d of cluster %d: cluster %d, distance %v", m, i, d.Tags.Cluster[m], d.Tags.Distance[m])
			}
		}
	}
	low, high := math.Inf(1), math.Inf(-1)
	for i := range d.Tags.X {
		low, high = min(low, d.Tags.X[i], d.Tags.Y[i]), max(high, d.Tags.X[i], d.Tags.Y[i])
	}
	if low < 0 || high > 1000 || high-low < 999 {
		t.Errorf("positions from %v to %v, want 0 to 1000", low, high)
	}
}

func TestPageIsTheSameTwice(t *testing.T) {
	if a, b := render(t, newPage(plain(40))), render(t, newPage(plain(40))); a != b {
		t.Error("two pages of one draft differ")
	}
}

// If all positions coincide, as with PCA of equal tags, the page is still drawn.
func TestMapOfCoincidentPointsIsDrawn(t *testing.T) {
	p := newPage(plain(6))
	p.Positions = cluster.NewMatrix(6, 2)
	for _, x := range block(t, render(t, p)).Tags.X {
		if x != 500 {
			t.Errorf("x = %v, want the middle", x)
		}
	}
}

func TestPageLoadsNothingFromTheNetwork(t *testing.T) {
	text := render(t, newPage(plain(12)))
	if m := regexp.MustCompile(`(?i)(src|href|url\()\s*=?\s*["']?https?:|@import|fetch\(|XMLHttpRequest|WebSocket`).FindString(text); m != "" {
		t.Errorf("the page holds %q", m)
	}
	if !strings.Contains(text, "default-src &#39;none&#39;") {
		t.Error("the page has no content security policy")
	}
}

// census counts the elements and attributes of a page.
func census(t *testing.T, text string) map[string]int {
	t.Helper()
	root := must.Get(html.Parse(strings.NewReader(text)))(t)
	counts := map[string]int{}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			counts[n.Data]++
			for _, a := range n.Attr {
				counts[n.Data+" "+a.Key]++
			}
		}
		if n.Type == html.CommentNode {
			counts["comment"]++
		}
	}
	return counts
}

// attacks are sixty texts that call hgldRan if a page takes them for markup, an attribute, a
// script, a style or an address.
func attacks(t *testing.T) (names []string) {
	t.Helper()
	goldens.ReadJSON(t, "testdata/attacks.json", &names)
	if len(names) != 60 {
		t.Fatalf("%d strings, want 60", len(names))
	}
	return names
}

// Sixty strings that would run a script if they were taken for markup give the same elements and
// attributes as harmless names, and are displayed unchanged.
func TestTagsNeverBecomeMarkup(t *testing.T) {
	names := attacks(t)
	bad := newPage(names)
	bad.Sweep = []Plot{{Title: names[0], Note: names[1], Lines: lines(names[2], names[3])}}
	good := newPage(plain(60))
	good.Sweep = []Plot{{Title: "a", Note: "b", Lines: lines("c", "d")}}
	text := render(t, bad)
	got, want := census(t, text), census(t, render(t, good))
	for what, n := range got {
		if want[what] != n {
			t.Errorf("%d of <%s>, want %d", n, what, want[what])
		}
	}
	for i, name := range block(t, text).Tags.Name {
		if name != names[i] {
			t.Errorf("tag %q came back as %q", names[i], name)
		}
	}
	if regexp.MustCompile(`\.(innerHTML|outerHTML|insertAdjacentHTML)|document\.write|eval\(|new Function`).MatchString(scriptText) {
		t.Error("the script can make markup of text")
	}
}

var rootColor = regexp.MustCompile(`--([a-z]+): (#[0-9a-f]{6})`)

// Contrast by WCAG: 4.5 to 1 for text, 3 to 1 for marks and edges, in both colour schemes and on
// both backgrounds.
func TestColoursHaveContrast(t *testing.T) {
	blocks := regexp.MustCompile(`:root \{[^}]*\}`).FindAllString(render(t, newPage(plain(10))), -1)
	if len(blocks) != 2 {
		t.Fatalf("%d colour schemes, want two", len(blocks))
	}
	for scheme, marks := range [][]string{Light, Dark} {
		of := map[string]string{}
		for _, m := range rootColor.FindAllStringSubmatch(blocks[scheme], -1) {
			of[m[1]] = m[2]
		}
		for _, ground := range []string{of["paper"], of["panel"]} {
			for _, name := range []string{"ink", "soft", "accent"} {
				if c := contrast(t, of[name], ground); c < 4.5 {
					t.Errorf("scheme %d: --%s %s on %s has %.2f to 1", scheme, name, of[name], ground, c)
				}
			}
			for _, mark := range append([]string{of["edge"]}, marks...) {
				if c := contrast(t, mark, ground); c < 3 {
					t.Errorf("scheme %d: mark %s on %s has %.2f to 1", scheme, mark, ground, c)
				}
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance is WCAG's relative luminance.
func luminance(t *testing.T, color string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(color, "#"), 16, 32)
	if err != nil {
		t.Fatalf("color %q: %v", color, err)
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		c := float64(n>>(16-8*i)&255) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// Clusters that are adjacent on the map have different colours.
func TestNeighboursHaveDifferentColours(t *testing.T) {
	d := data{Tags: tagColumns{}}
	for i := range 144 { // a grid of 12 by 12 clusters
		d.Tags.X = append(d.Tags.X, float64(i%12)*80)
		d.Tags.Y = append(d.Tags.Y, float64(i/12)*80)
		d.Clusters = append(d.Clusters, clusterData{Members: []int{i}})
	}
	chosen := colors(d)
	for i := range 144 {
		for _, j := range []int{i + 1, i + 12} {
			if j < 144 && (j != i+1 || j%12 != 0) && chosen[i] == chosen[j] {
				t.Errorf("clusters %d and %d lie side by side and both have colour %d", i, j, chosen[i])
			}
		}
	}
}

func TestMapsArePlacedAndRepeat(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	x := cluster.NewMatrix(60, 8)
	for i := range x.Data {
		x.Data[i] = float32(random.NormFloat64())
	}
	for _, m := range Methods {
		var maps [2]cluster.Matrix
		for k := range maps {
			var err error
			if maps[k], err = m.Value(context.Background(), x, cluster.TSNE{Seed: 5, MaxIter: 60}); err != nil {
				t.Fatal(err)
			}
		}
		if maps[0].Rows != 60 || maps[0].Cols != 2 {
			t.Errorf("%s: [%d,%d], want [60,2]", m.Name, maps[0].Rows, maps[0].Cols)
		}
		for i := range maps[0].Data {
			if maps[0].Data[i] != maps[1].Data[i] {
				t.Fatalf("%s: two maps of one seed differ", m.Name)
			}
		}
	}
}

func lines(names ...string) (list []Line) {
	for _, n := range names {
		list = append(list, Line{Name: n, X: []float64{1, 2}, Y: []float64{3, 4}, Spread: []float64{0, 0.5}})
	}
	return list
}

func TestSweepIsDrawnByMeasure(t *testing.T) {
	plots, err := ReadSweep([]byte(`[{"k":50,"seeds":2,"inertia":{"mean":9,"deviation":0.5},"silhouette":0.1,"judged":{"purity":3},"settings":{"center":"true"}},
		{"k":25,"inertia":{"mean":12,"deviation":0},"silhouette":0.2,"settings":{"center":"true"}},{"k":25,"inertia":11,"settings":{"center":"false"}}]`), "sweep.json")
	must.Do(t, err)
	var titles []string
	for _, p := range plots {
		titles = append(titles, p.Title)
	}
	if got := strings.Join(titles, ", "); got != "Inertia, Silhouette, judged purity" {
		t.Errorf("plots %s", got)
	}
	if l := plots[0].Lines; len(l) != 2 || l[0].X[0] != 25 || l[0].Y[0] != 12 || l[0].Y[1] != 9 || l[0].Spread[1] != 0.5 ||
		l[1].Name != "center false" {
		t.Errorf("lines %+v, want one for each setting, by k", l)
	}
	p := newPage(plain(10))
	p.Sweep = plots
	text := render(t, p)
	for what, want := range map[string]int{`<svg class="plot"`: 4, // the sizes and three measures
		`>center true</text>`:  3,
		`>center false</text>`: 1} {
		if n := strings.Count(text, what); n != want {
			t.Errorf("%d of %s, want %d", n, what, want)
		}
	}
	for _, text := range []string{"", "{}", "[]", `[{"inertia":1}]`, `[{"k":"x"}]`} {
		if _, err := ReadSweep([]byte(text), "sweep.json"); !errors.As(err, new(*SweepError)) ||
			!strings.HasPrefix(err.Error(), "sweep.json") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func TestHistogramCountsEveryCluster(t *testing.T) {
	total := 0.0
	for _, at := range histogram([]int{1, 1, 2, 120, 7, 8}).Curves[0].Points {
		total += at.Y
	}
	if total != 6 {
		t.Errorf("the lines hold %v clusters, want 6", total)
	}
	if got := sizesNote([]int{1, 1, 2, 120, 7}); got != "The smallest cluster has 1, the median one 2 and the largest "+
		"120 tags; 2 clusters have a single tag." {
		t.Error(got)
	}
}
