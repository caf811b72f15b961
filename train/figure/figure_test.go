package figure

import (
	"math"
	"slices"
	"strconv"
	"testing"

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
			if err != nil {
				t.Fatal(err)
			}
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
	if err != nil {
		t.Fatal(err)
	}
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
	if r := Region(0.01, 0.005); math.Abs(r-0.0990339) > 1e-7 || Region(1, 0.3) != 0 {
		t.Errorf("the operating region is %v, want 0.0990339", r)
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
	if err != nil {
		t.Fatal(err)
	}
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

// Scores of 0° against 10°, 25°, 45°: 0.985, 0.906, 0.707. All pairs of one query are 0.079, 0.199, 0.278.
func TestOperatingRegionCountsPairs(t *testing.T) {
	s := []float64{0.707, 0.985, 0.906}
	for reach, want := range map[float64]int{0.01: 0, 0.08: 1, 0.2: 2, 0.3: 3} {
		if got := closePairs(slices.Clone(s), reach); got != want {
			t.Errorf("%d pairs closer than %v, want %d", got, reach, want)
		}
	}
	it := circle([2]float64{0, 0}, [2]float64{10, 1}, [2]float64{25, 0}, [2]float64{45, 1})
	f, err := Operating(it, Dealing{Sizes: []int{4}}, 0.01, 0.005)
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]float64{}
	for _, row := range f.Table.Rows {
		n, err := strconv.ParseFloat(row[3], 64)
		if err != nil {
			t.Fatal(err)
		}
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
