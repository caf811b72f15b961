package figure

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hgld/internal/report"
	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/device"
	"hgld/train/metric"
)

// at reads a column of the row of a table that begins with the given cells.
func at(t *testing.T, f *Figure, column int, cells ...string) float64 {
	t.Helper()
	for _, row := range f.Table.Rows {
		if slices.Equal(row[:len(cells)], cells) {
			v, err := strconv.ParseFloat(row[column], 64)
			must.Do(t, err)
			return v
		}
	}
	t.Fatalf("no row %q in %v", cells, f.Table.Rows)
	return 0
}

// The values of H⁻ with the paper's constants, and where a sigmoid of temperature 0.01 has a slope of 0.005,
// were computed by hand.
func TestStepsHaveThePublishedValues(t *testing.T) {
	upper := device.Step{Kind: device.Upper, Tau: 0.01, Rho: 100, Delta: 0.05, Start: 0.5, AutoOffset: true, Zero: 1}
	f, err := Steps([]NamedStep{{"exact", device.Step{Kind: device.Heaviside}},
		{"smooth", device.Step{Kind: device.Sigmoid, Tau: 0.01}}, {"H⁻", upper}}, 0.1, false)
	must.Do(t, err)
	for _, c := range []struct {
		step, t      string
		value, slope float64
	}{
		{"exact", "-0.01", 0, 0}, {"exact", "0", 1, 0}, {"smooth", "-0.01", 0.2689414, 19.661193}, {"smooth", "0", 0.5, 25},
		{"H⁻", "-0.01", 0.2689414, 19.661193}, {"H⁻", "0", 1, 25}, {"H⁻", "0.02", 1.3807971, 10.499359},
		{"H⁻", "0.06", 2.4933071, 100}, {"H⁻", "0.1", 6.4933071, 100},
	} {
		v, s := at(t, f, 2, c.step, c.t), at(t, f, 3, c.step, c.t)
		if math.Abs(v-c.value) > 1e-5 || math.Abs(s-c.slope) > 1e-4 {
			t.Errorf("%s at %s: %v with slope %v, want %v and %v", c.step, c.t, v, s, c.value, c.slope)
		}
	}
	for i, jumps := range []int{1, 0, 1} { // the exact step and H⁻ at 0
		n := 0
		for _, p := range f.Plot.Curves[i].Points {
			if p.Gap {
				n++
			}
		}
		if n != jumps {
			t.Errorf("%s has %d gaps, want %d", f.Plot.Curves[i].Name, n, jumps)
		}
	}
	if _, err := Steps(nil, -1, false); err == nil {
		t.Error("a negative reach was drawn")
	}
}

// circle puts items at angles in degrees, each of a class.
func circle(list ...[2]float64) *Items {
	it := &Items{}
	for _, at := range list {
		sin, cos := math.Sincos(at[0] * math.Pi / 180)
		it.Vectors, it.Labels = append(it.Vectors, []float64{cos, sin}), append(it.Labels, labels.Path{int32(at[1]), 0})
	}
	return it
}

// Four items of two classes at 0°, 10° | 25°, 45° of 0, 1 | 0, 1: of their rankings, only that of 25° begins
// with another class twice. The APs are 1/2, 1/3, 1/2 and 1/2 by hand.
func TestABatchOfAllItemsHasNoGap(t *testing.T) {
	it := circle([2]float64{0, 0}, [2]float64{10, 1}, [2]float64{25, 0}, [2]float64{45, 1})
	f, err := Gap(it, Dealing{Sizes: []int{4, 2}}, "AP_level0", metric.Set{metric.AP{}})
	must.Do(t, err)
	// 0°: 10, 25 → 1/2. 10°: 0, 25, 45 → 1/3. 25°: 10, 45, 0 → 1/3. 45°: 25, 10 → 1/2.
	want := 100 * (1./2 + 1./3 + 1./3 + 1./2) / 4
	if got, gap := at(t, f, 4, "4"), at(t, f, 5, "4"); math.Abs(got-want) > 1e-6 || gap != 0 {
		t.Errorf("%v with the gap %v, want %v and 0", got, gap, want)
	}
	if f.Plot.Curves[1].Points[0].Y != f.Plot.Curves[1].Points[1].Y {
		t.Errorf("%+v: the value of all items depends on the batch size", f.Plot.Curves[1].Points)
	}
	for _, sizes := range [][]int{nil, {1}, {5}} {
		if _, err := Gap(it, Dealing{Sizes: sizes}, "AP_level0", metric.Set{metric.AP{}}); err == nil {
			t.Errorf("batches of %v were dealt from four items", sizes)
		}
	}
}

func TestBatchesHaveEqualClasses(t *testing.T) {
	var list [][2]float64
	for i := range 30 {
		list = append(list, [2]float64{float64(7 * i), float64(i % 5)})
	}
	d := Dealing{Sizes: []int{8}, PerClass: 2}
	batches, err := d.deal(circle(list...), 8)
	if err != nil || len(batches) != 3 {
		t.Fatalf("%v, %v", batches, err)
	}
	seen := map[int]bool{}
	for _, batch := range batches {
		count := map[int]int{}
		for _, row := range batch {
			if seen[row] {
				t.Errorf("row %d was dealt twice", row)
			}
			seen[row] = true
			count[row%5]++
		}
		for class, n := range count {
			if n%2 != 0 {
				t.Errorf("%d items of class %d in a batch, want pairs", n, class)
			}
		}
	}
	if _, err := d.deal(circle(list...), 7); err == nil {
		t.Error("pairs in a batch of 7")
	}
}

func TestOperatingRegionCountsPairs(t *testing.T) {
	it := circle([2]float64{0, 0}, [2]float64{10, 1}, [2]float64{25, 0}, [2]float64{45, 1})
	f, err := Operating(it, Dealing{Sizes: []int{4}}, 0.01, 0.005)
	must.Do(t, err)
	within := 0
	for q := range it.Vectors {
		_, s := it.scores(q, []int{0, 1, 2, 3})
		for i := range s {
			for k := range i {
				if math.Abs(s[i]-s[k]) < 0.0990339 {
					within++
				}
			}
		}
	}
	if got, want := at(t, f, 2, "4"), 100*float64(within)/12; math.Abs(got-want) > 1e-6 || within == 0 {
		t.Errorf("%v %%, want %v", got, want)
	}
}

// 0° of class 0 has positives at the places 2 and 3 of 3; the second model exchanges 10° and 25°.
func TestCurvesOfAQueryByTwoModels(t *testing.T) {
	a := circle([2]float64{0, 0}, [2]float64{10, 1}, [2]float64{25, 0}, [2]float64{45, 0})
	b := circle([2]float64{0, 0}, [2]float64{25, 1}, [2]float64{10, 0}, [2]float64{45, 0})
	f, err := Curves([]NamedItems{{"before", a}, {"after", b}}, 0, 0)
	must.Do(t, err)
	if f.Plot.Curves[0].Name != "before: AP 0.583" || f.Plot.Curves[1].Name != "after: AP 0.833" {
		t.Errorf("%q and %q, want (1/2 + 2/3)/2 and (1 + 2/3)/2", f.Plot.Curves[0].Name, f.Plot.Curves[1].Name)
	}
	if p := at(t, f, 3, "before", "3"); math.Abs(p-2./3) > 1e-8 {
		t.Errorf("the precision at the third place is %v", p)
	}
	all, err := Curves([]NamedItems{{"m", a}}, 0, AllLevels)
	if err != nil || len(all.Table.Rows) != 3 {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := Curves([]NamedItems{{"m", a}}, 1, 0); err == nil {
		t.Error("a query without positives has a curve")
	}
}

// The scores of 0° and 60° of a class, and of both with 90°: 0.5, 0 and 0.866.
func TestScoresAreCountedByPair(t *testing.T) {
	f, err := Scores(circle([2]float64{0, 0}, [2]float64{60, 0}, [2]float64{89, 1}), 0)
	must.Do(t, err)
	count := map[string]float64{}
	for _, row := range f.Table.Rows {
		n, err := strconv.ParseFloat(row[3], 64)
		must.Do(t, err)
		if n > 0 {
			count[row[0]+" "+row[1]] = n
		}
	}
	if len(count) != 3 || count["positives 0.48"]+count["positives 0.5"] != 1 || count["negatives 0"] != 1 ||
		count["negatives 0.86"] != 1 {
		t.Errorf("%v", count)
	}
}

func TestClassesAreSortedBySize(t *testing.T) {
	f, err := Classes(map[string]int{"b": 2, "a": 2, "c": 9}, "images")
	if err != nil || f.Table.Rows[0][1] != "c" || f.Table.Rows[1][1] != "a" || at(t, f, 2, "3", "b") != 2 {
		t.Errorf("%+v, %v", f, err)
	}
}

// The mean of 0° and 60° is 30°. Class 2 has items of two groups.
func TestClassMeansAreOfUnitLengthAndKeepTheirGroup(t *testing.T) {
	it := circle([2]float64{0, 0}, [2]float64{60, 0}, [2]float64{90, 1}, [2]float64{10, 2}, [2]float64{10, 2},
		[2]float64{180, 3}, [2]float64{5, -1})
	for i, group := range []int32{7, 7, 8, 7, 8, -1, 7} {
		it.Labels[i][1] = group
	}
	m, err := ClassMeans(it, 0, 1)
	must.Do(t, err)
	if !slices.Equal(m.Classes, []int32{0, 1, 2, 3}) || !slices.Equal(m.Parents, []int32{7, 8, -1, -1}) ||
		!slices.Equal(m.Items, []int{2, 1, 2, 1}) {
		t.Errorf("%+v", m)
	}
	if v := m.Vectors[0]; math.Abs(v[0]-math.Cos(math.Pi/6)) > 1e-12 || math.Abs(v[1]-0.5) > 1e-12 {
		t.Errorf("the mean is %v, want 30°", v)
	}
	if it.Labels[3][1] != 7 {
		t.Error("the labels were changed")
	}
	groups := make([]string, 9)
	groups[7], groups[8] = "a", "b"
	f := m.Draw([]float32{0, 1, 2, 3, 4, 5, 6, 7}, []string{"p", "q", "r", "s"}, groups, [2]string{"x", "y"})
	if len(f.Plot.Curves) != 3 || f.Plot.Curves[0].Name != "–" || at(t, f, 3, "q", "b") != 2 {
		t.Errorf("%+v", f.Plot.Curves)
	}
	if _, err := ClassMeans(circle([2]float64{0, 0}, [2]float64{60, 1}), 0, 1); err == nil {
		t.Error("two classes were placed in a plane")
	}
}

// pictures are images of one colour: 10 × 20 pixels, red by their row.
type pictures struct{ *Items }

func (p pictures) Len() int                 { return len(p.Items.Labels) }
func (p pictures) Labels(i int) labels.Path { return p.Items.Labels[i] }
func (p pictures) ID(i int) string          { return strconv.Itoa(i) }
func (p pictures) Image(_ context.Context, i int) ([]byte, error) {
	m := image.NewRGBA(image.Rect(0, 0, 10, 20))
	for k := range m.Pix {
		m.Pix[k] = 255
		if k%4 == 0 {
			m.Pix[k] = byte(i)
		}
	}
	var b bytes.Buffer
	err := png.Encode(&b, m)
	return b.Bytes(), err
}

// judged are the shared levels of gallery rows, the same for each query.
type judged map[int]byte

func (j judged) Shared(dst []byte, _ int) {
	clear(dst)
	for row, shared := range j {
		dst[row] = shared
	}
}

func TestRetrievedImagesAreFramedByTheLevelsTheyShare(t *testing.T) {
	it := circle([2]float64{0, 0}, [2]float64{30, 1}, [2]float64{10, 0}, [2]float64{20, 2})
	it.Labels[3][1] = 1
	p := pictures{it}
	find := func(ctx context.Context, id string) ([]byte, error) {
		i, err := strconv.Atoi(id)
		if err != nil {
			return nil, err
		}
		return p.Image(ctx, i)
	}
	side := Side{it, []string{"0", "1", "2", "3"}}
	of := &Retrieval{Queries: side, Gallery: side, Self: []int32{0, 1, 2, 3},
		Names: func(int) []string { return []string{"a", "b", "c"} }}
	album := &Album{Image: find, Side: 5}
	got, err := Retrieved(context.Background(), of, album, []int{0}, 3)
	must.Do(t, err)
	for i, want := range []struct {
		id, shared, caption string
		frame               int
	}{{"2", "2", "a", 3}, {"3", "0", "c", 0}, {"1", "1", "b", 1}} {
		row, tile := got.Table.Rows[i], got.Sheet.Rows[0].Tiles[i+1]
		if row[2] != want.id || row[4] != want.shared || tile.Caption != want.caption ||
			tile.Frame != report.FrameColours[want.frame] {
			t.Errorf("place %d: %v, %v %v, want %v", i+1, row, tile.Caption, tile.Frame, want)
		}
	}
	if size := got.Sheet.Rows[0].Tiles[0].Picture.Bounds().Size(); size != (image.Point{X: 10, Y: 20}) {
		t.Errorf("a small picture became %v", size)
	}
	of.Names = nil // judged items have no classes
	of.Truth, of.Levels, of.Junk = judged{1: 1, 2: device.AbsentLevel}, 1, true
	of.Box = func(string) image.Rectangle { return image.Rect(2, 5, 99, 9) }
	if got, err = Retrieved(context.Background(), of, album, []int{0}, 3); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		id, place, shared, caption string
		frame                      color.Color
	}{{"2", "", "junk", "junk", color.Gray{150}}, {"3", "1", "0", "1 negative", report.FrameColours[0]},
		{"1", "2", "1", "2 positive", report.FrameColours[3]}} {
		row, tile := got.Table.Rows[i], got.Sheet.Rows[0].Tiles[i+1]
		if row[1] != want.place || row[2] != want.id || row[4] != want.shared || tile.Caption != want.caption ||
			tile.Frame != want.frame {
			t.Errorf("judged %d: %v, %v %v, want %v", i+1, row, tile.Caption, tile.Frame, want)
		}
	}
	if size := got.Sheet.Rows[0].Tiles[0].Picture.Bounds().Size(); size != (image.Point{X: 8, Y: 4}) {
		t.Errorf("the box of the query became %v", size)
	}
	of.Junk = false
	if got, err = Retrieved(context.Background(), of, album, []int{0}, 3); err != nil || len(got.Table.Rows) != 2 {
		t.Errorf("without junk: %v, %v", got, err)
	}
	for _, file := range []string{"a.png", "a.svg"} {
		var pages [2]bytes.Buffer
		for i := range pages {
			must.Do(t, got.Draw(&pages[i], file))
		}
		if !bytes.Equal(pages[0].Bytes(), pages[1].Bytes()) || !bytes.Contains(pages[0].Bytes(), []byte("hgld")) {
			t.Errorf("%s has other bytes each time, or does not name the program", file)
		}
	}
}

func TestExamplesAreDrawnOfEachClassOnce(t *testing.T) {
	d := pictures{circle([2]float64{0, 0}, [2]float64{30, 1}, [2]float64{10, 0}, [2]float64{20, 0})}
	p, err := Examples(context.Background(), d, 0, []string{"a", "b"}, []string{"b", "a"}, 2, 5, 1)
	must.Do(t, err)
	rows := p.Table.Rows
	if len(rows) != 3 || rows[0][0] != "b" || rows[0][1] != "1" || rows[1][1] == rows[2][1] ||
		p.Sheet.Rows[1].Title != "a (3)" {
		t.Errorf("%v", rows)
	}
}

// The bound is the gap of a ranking that puts one batch after the other. Two batches of 2 positives and 2
// negatives, each with an AP of 1, are + + − − + + − −: AP (1 + 1 + 3/5 + 4/6)/4. With one positive of each batch
// below β and one negative above: the others, + and +, have rank⁺ 1 and 2 and rank⁻ 0 and 1; the low ones count
// all of the batch before.
func TestGapBoundsAreThoseOfTheWorstRanking(t *testing.T) {
	without, with := GapBounds(Batch{Positives: 2, Negatives: 2, LowPositives: 1, HighNegatives: 1}, 2)
	if want := 1 - (1+1+3./5+4./6)/4; math.Abs(without-want) > 1e-12 {
		t.Errorf("without the constraint %v, want %v", without, want)
	}
	if want := 1 - (1+2./2+2./3+4./6)/4; math.Abs(with-want) > 1e-12 {
		t.Errorf("with the constraint %v, want %v", with, want)
	}
	for _, k := range []int{1, 7} {
		if _, with := GapBounds(Batch{Positives: 3, Negatives: 9}, k); with != 0 {
			t.Errorf("%d calibrated batches have the bound %v", k, with)
		}
	}
	f, err := Bounds(Batch{Positives: 2, Negatives: 2}, 5)
	if err != nil || len(f.Table.Rows) != 3 || f.Table.Rows[0][1] != "0" {
		t.Errorf("%+v, %v", f, err)
	}
	for _, bad := range []Batch{{}, {Positives: 1, Negatives: 1, LowPositives: 2}} {
		if _, err := Bounds(bad, 4); err == nil {
			t.Errorf("%+v was drawn", bad)
		}
	}
}

// Batch 1 ranks a negative between its positives: its AP is (1 + 2/3)/2. Batch 2 makes no mistake. Of all, the
// positives have the places 1, 2, 4 and 5.
func TestToyGapIsThatOfThePaper(t *testing.T) {
	var batches [][]Scored
	for _, text := range []string{"0.9+ 0.3- 0.5+ 0.7-", "-.25- 0.4+ 8e-1+"} {
		items, err := ParseScored(text)
		must.Do(t, err)
		batches = append(batches, items)
	}
	f, err := Toy(batches)
	must.Do(t, err)
	const first, second, all = 100 * (1 + 2./3) / 2, 100., 100 * (1 + 1 + 3./4 + 4./5) / 4
	var csv strings.Builder
	must.Do(t, f.Table.Write(&csv, "csv"))
	for _, row := range []string{
		"batch 1,3,0.5,true," + number(first), "batch 1,4,0.3,false," + number(first), "batch 2,1,0.8,true,100",
		"batch 2,3,-0.25,false,100", "all,3,0.7,false," + number(all), "all,5,0.4,true," + number(all),
		"gap,,,," + number((first+second)/2-all),
	} {
		if !strings.Contains(csv.String(), "\n"+row+"\n") {
			t.Errorf("no row %s in\n%s", row, csv.String())
		}
	}
	if got := strings.Join(f.Plot.YNames, "; "); got != "all: 88.8; batch 2: 100.0; batch 1: 83.3" {
		t.Error(got)
	}
	for _, bad := range []string{"", "0.9", "0.9-", "x+", "0.9+-", "NaN+", "1e999+"} {
		if items, err := ParseScored(bad); err == nil {
			t.Errorf("%q was read as %v", bad, items)
		}
	}
}

// The worst ranking of figure 11 has the gap of the bound of Eq. 26.
func TestToyOfTheWorstCaseReachesTheBound(t *testing.T) {
	var batches [][]Scored
	for b := range 3 {
		from := -float64(10 * b)
		batches = append(batches, []Scored{{from, true}, {from - 1, true}, {from - 2, false}})
	}
	f, err := Toy(batches)
	must.Do(t, err)
	without, _ := GapBounds(Batch{Positives: 2, Negatives: 1}, 3)
	if row := f.Table.Rows[len(f.Table.Rows)-1]; row[4] != number(100*without) {
		t.Errorf("the gap is %s, and the bound %s", row[4], number(100*without))
	}
	if _, err := Toy(batches[:1]); err == nil {
		t.Error("one batch was drawn")
	}
	if _, err := Toy([][]Scored{make([]Scored, 500), make([]Scored, 501)}); err == nil {
		t.Error("1,001 items were drawn")
	}
}
