package nn_test

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/nn"
	"hgld/train/nn/testing/nntest"
)

// small declares one parameter of every layout and a pair of statistics.
func small() (*nn.Store, *nn.Conv) {
	s := nn.NewStore()
	body := s.Group("backbone").In("body")
	stem := nn.NewConv(body.In("conv1"), 3, 5, 3, nn.Square(1, 1))
	nn.NewBatchNorm(body.In("bn1"), 5)
	nn.NewLinear(s.Group("head").In("fc"), 5, 7)
	return s, stem
}

func TestGroupsAreFlatWithZerosBetween(t *testing.T) {
	b := backend()
	s, stem := small()
	s.Build(b, 1)
	if len(s.Groups) != 2 || s.Groups[0].Name != "backbone" || s.Groups[1].Name != "head" {
		t.Fatalf("groups %v", s.Groups)
	}
	for _, g := range s.Groups {
		flat := download(t, b, g.Values)
		sum, parts := 0.0, 0.0
		for _, v := range flat {
			sum += math.Abs(float64(v))
		}
		for _, p := range g.Params {
			if p.Value.Buf != g.Values.Buf || p.Grad.Buf != g.Grads.Buf || p.Value.Off != p.Grad.Off {
				t.Errorf("%s lies elsewhere", p.Name())
			}
			if p.Value.Off%16 != 0 {
				t.Errorf("%s begins at %d", p.Name(), p.Value.Off)
			}
			for _, v := range download(t, b, p.Value) {
				parts += math.Abs(float64(v))
			}
		}
		if math.Abs(sum-parts) > 1e-9*sum {
			t.Errorf("%s: something stands between the parameters", g.Name)
		}
		if slices.ContainsFunc(download(t, b, g.Grads), func(v float32) bool { return v != 0 }) {
			t.Errorf("%s: gradients do not start at zero", g.Name)
		}
	}
	if got, want := s.Size(), 5*3*9+5+5+7*5+7; got != want {
		t.Errorf("%d numbers, want %d", got, want)
	}
	if want := "body.conv1.weight"; stem.Weight.Name() != want {
		t.Errorf("name %q, want %q", stem.Weight.Name(), want)
	}
}

func TestStemReadsAFourthChannelOfZeros(t *testing.T) {
	b := backend()
	s, stem := small()
	s.Build(b, 1)
	if got := stem.Weight.Value.Shape(); !slices.Equal(got, []int{5, 3, 3, 4}) {
		t.Fatalf("the stem is %v", got)
	}
	file := nntest.Values[float32](t, s, b)["body.conv1.weight"] // [5,3,3,3]
	dev := download(t, b, stem.Weight.Value)                     // [5,3,3,4]
	for k := range 5 {
		for p := range 9 {
			for c := range 4 {
				want := float32(0)
				if c < 3 {
					want = file[(k*3+c)*9+p]
				}
				if got := dev[(k*9+p)*4+c]; got != want {
					t.Fatalf("filter %d, place %d, channel %d: %v, want %v", k, p, c, got, want)
				}
			}
		}
	}
}

func TestImportIsTheInverseOfExport(t *testing.T) {
	b := backend()
	from, _ := small()
	from.Build(b, 1)
	to, _ := small()
	to.Build(b, 2)
	tensors, err := from.Export(b)
	must.Do(t, err)
	if slices.Equal(download(t, b, from.Groups[0].Values), download(t, b, to.Groups[0].Values)) {
		t.Fatal("two seeds give the same weights")
	}
	counter := tensorfile.NewI64("body.bn1.num_batches_tracked", nil, []int64{3})
	must.Do(t, to.Import(b, append(tensors, counter), ""))
	for i, g := range from.Groups {
		nntest.Near(t, g.Name, download(t, b, to.Groups[i].Values), download(t, b, g.Values), 0)
	}
}

func TestImportNamesWhatDoesNotFitAndChangesNothing(t *testing.T) {
	b := backend()
	s, _ := small()
	s.Build(b, 1)
	before := download(t, b, s.Groups[1].Values)
	err := s.Import(b, []tensorfile.Tensor{
		tensor("body.conv1.weight", make([]float32, 135), 5, 3, 3, 3),
		tensor("body.bn1.weight", make([]float32, 6), 6),
		tensor("fc.weight", make([]float32, 35), 7, 5),
		tensor("fc.bais", make([]float32, 7), 7),
		tensorfile.NewI64("body.bn1.bias", []int{5}, make([]int64, 5)),
	}, "")
	var bad *nn.MismatchError
	if !errors.As(err, &bad) {
		t.Fatalf("error %v", err)
	}
	if want := []string{"body.bn1.running_mean", "body.bn1.running_var", "fc.bias"}; !slices.Equal(bad.Missing, want) {
		t.Errorf("missing %q, want %q", bad.Missing, want)
	}
	if !slices.Equal(bad.Unexpected, []string{"fc.bais"}) || len(bad.Shapes) != 2 {
		t.Errorf("unexpected %q, shapes %q", bad.Unexpected, bad.Shapes)
	}
	for _, part := range []string{"3 missing: body.bn1.running_mean", "1 unexpected: fc.bais (for fc.bias?)",
		"bn1.weight (is F32[6], want F32[5])"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	nntest.Near(t, "weights", download(t, b, s.Groups[1].Values), before, 0)
}

func TestImportRefusesValuesThatAreNotFinite(t *testing.T) {
	b := backend()
	s, _ := small()
	s.Build(b, 1)
	before := download(t, b, s.Groups[1].Values)
	wide := make([]byte, 8*7)
	binary.LittleEndian.PutUint64(wide[8*3:], math.Float64bits(1e39)) // finite, but not as float32
	for name, bias := range map[string]tensorfile.Tensor{
		"NaN":    tensor("fc.bias", []float32{0, 0, 0, float32(math.NaN()), 0, 0, 0}, 7),
		"−∞":     tensor("fc.bias", []float32{0, 0, 0, float32(math.Inf(-1)), 0, 0, 0}, 7),
		"BF16 ∞": {Name: "fc.bias", DType: "BF16", Shape: []int{7}, Data: []byte{6: 0x80, 7: 0x7f, 13: 0}},
		"F16 ∞":  {Name: "fc.bias", DType: "F16", Shape: []int{7}, Data: []byte{6: 0, 7: 0x7c, 13: 0}},
		"F64":    {Name: "fc.bias", DType: "F64", Shape: []int{7}, Data: wide},
	} {
		err := s.Import(b, []tensorfile.Tensor{tensor("fc.weight", make([]float32, 35), 7, 5), bias}, "fc.")
		if err == nil || !strings.Contains(err.Error(), "element 3 of fc.bias is not finite") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	nntest.Near(t, "weights", download(t, b, s.Groups[1].Values), before, 0)
}

func TestImportBelowAPrefixLeavesTheRest(t *testing.T) {
	b := backend()
	s, _ := small()
	s.Build(b, 1)
	before := download(t, b, s.Groups[0].Values)
	err := s.Import(b, []tensorfile.Tensor{
		tensor("fc.weight", make([]float32, 35), 7, 5),
		tensor("fc.bias", make([]float32, 7), 7),
		tensor("layer9.weight", nil, 0),
	}, "fc.")
	must.Do(t, err)
	nntest.Near(t, "backbone", download(t, b, s.Groups[0].Values), before, 0)
	nntest.Near(t, "head", nntest.Values[float32](t, s, b)["fc.weight"], make([]float32, 35), 0)
}

func TestRegisteredArraysAreInTheCheckpoint(t *testing.T) {
	b := backend()
	s, _ := small()
	s.Build(b, 1)
	labels := device.New(b, device.I32, 2, 3)
	b.Upload(labels, []byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 255, 255, 255, 255, 5, 0, 0, 0, 6, 0, 0, 0})
	s.Register("memory.labels", labels)
	tensors, err := s.Export(b)
	must.Do(t, err)
	last := tensors[len(tensors)-1]
	if last.Name != "memory.labels" || last.DType != "I32" || !slices.Equal(last.Shape, []int{2, 3}) {
		t.Errorf("%s %s%v", last.Name, last.DType, last.Shape)
	}
	got, err := last.Int64()
	if err != nil || !slices.Equal(got, []int64{1, 2, 3, -1, 5, 6}) {
		t.Errorf("%v, %v", got, err)
	}
	b.Fill(labels, 0)
	must.Do(t, s.Import(b, tensors, ""))
	if tensors, _ = s.Export(b); !slices.Equal(tensors[len(tensors)-1].Data, last.Data) {
		t.Error("integers do not come back")
	}
}

func TestStartDependsOnSeedAndNameAlone(t *testing.T) {
	b := backend()
	alone := nn.NewStore()
	nn.NewLinear(alone.Group("other").In("fc"), 5, 7)
	alone.Build(b, 1)
	s, _ := small()
	s.Build(b, 1)
	nntest.Near(t, "fc.weight", nntest.Values[float32](t, alone, b)["fc.weight"],
		nntest.Values[float32](t, s, b)["fc.weight"], 0)
}

// Uniform within ±1/√fanIn has deviation 1/√(3·fanIn); five standard errors.
func TestInitialisersHaveTheirDeviation(t *testing.T) {
	b := backend()
	for _, c := range []struct {
		name string
		init nn.Init
		want float64
		most float64
	}{
		{"kaiming uniform", nn.KaimingUniform, 1 / math.Sqrt(3*32*9), 1 / math.Sqrt(32*9)},
		{"kaiming normal", nn.KaimingNormal, math.Sqrt(2.0 / (64 * 9)), 6 * math.Sqrt(2.0/(64*9))},
		{"uniform", nn.UniformFan(12), 1 / math.Sqrt(3*12), 1 / math.Sqrt(12)},
	} {
		s := nn.NewStore()
		s.Group("all").Param("w", c.init, 64, 32, 3, 3)
		s.Build(b, 3)
		n, sum, squares, most := 64*32*9, 0.0, 0.0, 0.0
		for _, v := range download(t, b, s.Groups[0].Params[0].Value) {
			sum += float64(v)
			squares += float64(v) * float64(v)
			most = max(most, math.Abs(float64(v)))
		}
		deviation := math.Sqrt(squares / float64(n))
		if math.Abs(deviation/c.want-1) > 5/math.Sqrt(2*float64(n)) || most > c.most {
			t.Errorf("%s: deviation %v, want %v; largest %v of %v", c.name, deviation, c.want, most, c.most)
		}
		if mean := sum / float64(n); math.Abs(mean) > 5*c.want/math.Sqrt(float64(n)) {
			t.Errorf("%s: mean %v", c.name, mean)
		}
	}
}

func TestSameNameTwicePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	s := nn.NewStore()
	nn.NewLinear(s.Group("a").In("fc"), 2, 2)
	nn.NewLinear(s.Group("b").In("fc"), 2, 2)
}

func TestAllocatedStoreIsZeroUntilItsWeightsAreRead(t *testing.T) {
	b, from, to := backend(), nn.NewStore(), nn.NewStore()
	for _, s := range []*nn.Store{from, to} {
		nn.NewLinear(s.Group("all"), 3, 2)
		s.Group("all").Statistics(2, 0.1)
	}
	from.Build(b, 1)
	to.Allocate(b, 1)
	for name, v := range nntest.Values[float32](t, to, b) {
		if want := map[bool]float32{true: 1}[name == "running_var"]; slices.ContainsFunc(v,
			func(x float32) bool { return x != want }) {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	tensors, err := from.Export(b)
	must.Do(t, err)
	must.Do(t, to.Import(b, tensors, ""))
	want := nntest.Values[float32](t, from, b)
	for name, got := range nntest.Values[float32](t, to, b) {
		if !slices.Equal(got, want[name]) {
			t.Errorf("%s is %v, want %v", name, got, want[name])
		}
	}
}

// However a group is arranged, its parameters start alike and its files are the same: those of
// either arrangement fill the other.
func TestArrangementIsNotSeenInFiles(t *testing.T) {
	b := backend()
	build := func(reversed bool) (*nn.Store, []tensorfile.Tensor) {
		s, _ := small()
		g := s.Groups[0]
		if reversed {
			order := slices.Clone(g.Params)
			slices.Reverse(order)
			g.Arrange(order)
		}
		s.Build(b, 1)
		moment := device.New(b, device.F32, g.Values.Len())
		b.Copy(moment, g.Values) // a moment like the values: each has its place
		s.RegisterMoment("moment", g, moment)
		tensors, err := s.Export(b)
		must.Do(t, err)
		return s, tensors
	}
	plain, before := build(false)
	arranged, after := build(true)
	for i, want := range before {
		if got := after[i]; got.Name != want.Name || !slices.Equal(got.Data, want.Data) {
			t.Errorf("%s: other bytes in a store that is arranged", want.Name)
		}
	}
	if first, last := arranged.Groups[0].Params[0], plain.Groups[0].Params[0]; first.Value.Off == last.Value.Off {
		t.Error("the arrangement changes nothing")
	}
	for i, v := range before[len(before)-1].Data {
		before[len(before)-1].Data[i] = v ^ 1
	}
	must.Do(t, arranged.Import(b, before, ""))
	again, err := arranged.Export(b)
	must.Do(t, err)
	if want := before[len(before)-1]; !slices.Equal(again[len(again)-1].Data, want.Data) {
		t.Errorf("%s does not come back", want.Name)
	}
}
