package metric

import (
	"math"
	"math/rand/v2"
	"testing"
)

// curveByDefinition looks through all prefixes for every recall.
func curveByDefinition(shared []byte, least int) []float64 {
	total := 0
	for _, s := range shared {
		if int(s) >= least {
			total++
		}
	}
	p := make([]float64, CurvePoints)
	hits := 0
	for i, s := range shared {
		if int(s) < least {
			continue
		}
		hits++
		for r := range p {
			if hits*(CurvePoints-1) >= r*total {
				p[r] = max(p[r], float64(hits)/float64(i+1))
			}
		}
	}
	return p
}

func TestCurveIsTheInterpolatedPrecision(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	list := NewList(2, ScoreThenRow)
	var whole, left, right [2]Curve
	sums, counted := [2][CurvePoints]float64{}, [2]int{}
	for q := range 200 {
		shared := make([]byte, 1+random.IntN(150))
		for i := range shared {
			shared[i] = byte(max(0, random.IntN(9)-6))
		}
		list.Reset(shared)
		for h := range 2 {
			whole[h].Add(list.Level(h))
			half := &left[h]
			if q%3 == 0 {
				half = &right[h]
			}
			half.Add(list.Level(h))
			if list.Positives(2-h) == 0 {
				continue
			}
			counted[h]++
			for r, v := range curveByDefinition(shared, 2-h) {
				sums[h][r] += v
			}
		}
	}
	for h := range 2 {
		left[h].Join(&right[h])
		if whole[h] != left[h] || whole[h].Queries != counted[h] {
			t.Errorf("level %d: joined halves differ from the whole", h)
		}
		for r, got := range whole[h].Precision() {
			if want := sums[h][r] / float64(counted[h]); math.Abs(got-want) > 1e-9 { // the unit of the sums
				t.Errorf("level %d: precision %v at recall %v, want %v", h, got, float64(r)/100, want)
			}
		}
	}
	if p := new(Curve).Precision()[0]; !math.IsNaN(p) {
		t.Errorf("a curve of no query is %v", p)
	}
}

func TestCurvePutsTiedPositivesLast(t *testing.T) {
	list := NewList(1, AverageTies)
	list.Reset([]byte{1, 0 | Tied, 1 | Tied, 0})
	var c Curve
	c.Add(list.Level(0))
	if p := c.Precision(); math.Abs(p[0]-2.0/3) > 1e-9 || math.Abs(p[100]-2.0/3) > 1e-9 {
		t.Errorf("precision %v and %v, want 2/3", p[0], p[100])
	}
}

// At one level the hierarchical curve is the binary one. Over several, the steps of its points add up to
// H-AP, and the curve is the greatest precision at each recall or beyond.
func TestHierarchicalCurveHasHAPBelow(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	one, three := NewList(1, AverageTies), NewList(3, ScoreThenRow)
	var binary, same Curve
	for range 100 {
		shared, levels := make([]byte, 1+random.IntN(60)), make([]byte, 60)
		for i := range shared {
			shared[i] = byte(random.IntN(2))
			if i > 0 && random.IntN(3) == 0 {
				shared[i] |= Tied
			}
		}
		one.Reset(shared)
		binary.Add(one.Level(0))
		same.AddHierarchical(one)
		for i := range levels {
			levels[i] = byte(max(0, random.IntN(8)-4))
		}
		three.Reset(levels)
		area, before := 0.0, 0.0
		var curve Curve
		curve.AddHierarchical(three)
		for _, p := range Hierarchical(three) {
			area += (p.Recall - before) * p.Precision
			before = p.Recall
			if got := curve.Precision()[int(p.Recall*100)]; got < p.Precision-1e-8 {
				t.Errorf("%v at recall %v, want at least %v", got, p.Recall, p.Precision)
			}
		}
		if want, ok := ofList(HAP{}, three); ok && (!equal(area, want) || !equal(before, 1)) {
			t.Errorf("%v: the area is %v up to a recall of %v, H-AP is %v", levels, area, before, want)
		}
	}
	for i, want := range binary.Precision() {
		if got := same.Precision()[i]; math.Abs(got-want) > 1e-8 || same.Queries != binary.Queries {
			t.Errorf("at recall %d %%: %v, by the binary curve %v", i, got, want)
		}
	}
}
