package loss

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/reference"
	"hgld/train/grad"
)

// ofPaths are labels of several paths: the worked example of docs/label-semantics.md. The query Q is a bridge
// (human-made, 0) and a river (natural, 1). The items by falling score: a river, a bridge, a lake, Q again, and a
// church.
var ofPaths = struct {
	query, items []int32
	scores       []float32
}{
	query: []int32{0, 0, 0 /**/, 0, 1, 1},
	items: []int32{1, 1, 1, 1, 1, 1 /**/, 2, 0, 0, 2, 0, 0 /**/, 3, 2, 1, 3, 2, 1, /**/
		0, 0, 0, 0, 1, 1 /**/, 4, 3, 0, 4, 3, 0},
	scores: []float32{.95, .90, .80, .70, .60},
}

func arrayOf(b device.Backend, t device.DType, data []byte, dims ...int) device.Array {
	a := device.New(b, t, dims...)
	b.Upload(a, data)
	return a
}

// The expected values are of exact ranks: no two scores are nearer than 0.05, 500 times the temperature.
func TestLossesTakeTheBestOfSeveralPaths(t *testing.T) {
	const tau = 0.0001
	c := ofPaths
	for _, of := range []struct {
		name       string
		k          Kind
		tree, want float64
	}{
		{"AP of the landmark", SmoothAP{Tau: tau}, 1 - 1./4, 1 - 1./4},
		{"AP of the supercategory", SmoothAP{Tau: tau, Level: 1}, 1 - (1./2+2./4)/2, 1 - (1+1+3./4)/3},
		{"AP of the kind", SmoothAP{Tau: tau, Level: 2}, 1 - (1./2+2./4+3./5)/3, 0},
		{"H-AP", SmoothHAP{Tau: tau, Relevance: paperRelevance}, 1 - ((2./3)/2+(1+2./3)/4+(3*1./3)/5)/2,
			1 - (1./3+1./3+1./6+11./24+1./6)/2},
		// Positives .95, .90 and .70, negatives .80 and .60.
		{"calibration of the supercategory", Calibration{PosMargin: .9, NegMargin: .7, Level: 1},
			(.2)/2 + (.25+.1)/3, .2/3 + .1/2},
	} {
		for _, paths := range []int{1, 2} {
			b := cpu.New(1)
			b.Poison = true
			l, err := of.k.New(Facts{Classes: []int{5, 4, 2}, Dim: 5, Batch: 1})
			must.Do(t, err)
			var scores, eye []byte
			for i, s := range c.scores {
				scores = binary.NativeEndian.AppendUint32(scores, math.Float32bits(s))
				for j := range c.scores {
					one := float32(0)
					if i == j {
						one = 1
					}
					eye = binary.NativeEndian.AppendUint32(eye, math.Float32bits(one))
				}
			}
			tape := grad.NewTape(b, b)
			in := &Batch{Query: tape.Leaf(arrayOf(b, device.F32, scores, 1, 5), device.Array{}),
				Gallery:       tape.Leaf(arrayOf(b, device.F32, eye, 5, 5), device.Array{}),
				QueryLabels:   arrayOf(b, device.I32, int32s(c.query), 1, 6).ColRange(0, 3*paths),
				GalleryLabels: arrayOf(b, device.I32, int32s(c.items), 5, 6).ColRange(0, 3*paths), Paths: paths}
			var data [4]byte
			must.Do(t, b.Wait(b.Download(data[:], l.Forward(tape, in).Value)))
			want := of.tree
			if paths > 1 {
				want = of.want
			}
			got := float64(math.Float32frombits(binary.NativeEndian.Uint32(data[:])))
			if math.Abs(got-want) > 2e-6 {
				t.Errorf("%s, %d paths: %v, want %v", of.name, paths, got, want)
			}
		}
	}
}

// Levels are shared by the best pair of paths, whatever is compared and whatever a query's own item counts as. A row
// without labels is absent.
func TestShareIsTheBestOfAllPairsOfPaths(t *testing.T) {
	const Q, G, levels, paths = 7, 40, 3, 3
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(rows int) []int32 {
		list := make([]int32, rows*levels*paths)
		for i := range list {
			list[i] = int32(r.IntN(3))
		}
		return list
	}
	ql, gl, self := draw(Q), draw(G), make([]int32, Q)
	for i := range levels * paths {
		gl[5*levels*paths+i] = -1
	}
	for q := range self {
		self[q] = int32(r.IntN(G+1) - 1)
	}
	wide := func(list []int32) (v []float64) {
		for _, c := range list {
			v = append(v, float64(c))
		}
		return v
	}
	for _, o := range []device.SharedKind{{}, {From: 1, To: 2, Self: device.SelfAbsent}, {To: 2, Self: device.SelfZero}} {
		b := cpu.New(2)
		tape := grad.NewTape(b, b)
		in := &Batch{QueryLabels: arrayOf(b, device.I32, int32s(ql), Q, levels*paths), Paths: paths}
		items := gallery{labels: arrayOf(b, device.I32, int32s(gl), G, levels*paths),
			self: arrayOf(b, device.I32, int32s(self), Q)}
		sh := device.New(b, device.U8, Q, G)
		tape.Do(func(d device.Backend) { in.share(tape, d, sh, items, o) })
		got, want := make([]byte, Q*G), make([]byte, Q*G)
		must.Do(t, b.Wait(b.Download(got, sh)))
		for at := range want {
			q, g := at/G, at%G
			for i := range paths {
				for j := range paths {
					n := reference.Shared(wide(ql[(q*paths+i)*levels:][:levels]), wide(gl[(g*paths+j)*levels:][:levels]),
						int(self[q]) == g, o)
					want[at] = max(want[at], byte(n))
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v:\n%v\n%v", o, got, want)
		}
	}
}

// A loss that compares with proxies names their levels, in every preset; the others compare items alone.
func TestLossesWithProxiesNameTheirLevels(t *testing.T) {
	f := Facts{Classes: []int{4, 2}, Dim: 3, Batch: 8, PerClass: 2, Paths: []labels.Path{{0, 0}, {1, 0}, {2, 1}, {3, 1}}}
	for _, preset := range Presets {
		for _, e := range preset.Value {
			l, err := e.Value.New(f)
			if err != nil {
				t.Fatalf("%s: %v", e.Name, err)
			}
			_, trained := l.(Trained)
			if trained {
				trained = len(l.(Trained).Params()) > 0
			}
			if levels := OneClass(l); trained != (len(levels) > 0) {
				t.Errorf("%s, %s: levels %v, proxies: %v", preset.Name, e.Name, levels, trained)
			}
		}
	}
	x, err := External{Command: []string{"x"}}.New(f)
	if got := fmt.Sprint(OneClass(x)); err != nil || got != "[0 1]" {
		t.Errorf("an external loss names the levels %s, %v", got, err)
	}
}
