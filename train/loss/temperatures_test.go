package loss_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"hgld/train/loss"
)

// One number for all k is that number for each.
func TestTemperatureOfAllIsThatOfEach(t *testing.T) {
	in := randomBatch(21, 6, 4, 8, 1)
	at := []float64{1, 2, 4}
	for _, kind := range []func(loss.Temperatures) loss.Kind{
		func(temp loss.Temperatures) loss.Kind { return loss.SmoothRecall{Tau: 0.01, AtK: at, Temp: temp} },
		func(temp loss.Temperatures) loss.Kind { return loss.SupRecall{HMinus: sopStep, AtK: at, Temp: temp} },
		func(temp loss.Temperatures) loss.Kind { return loss.RecallAtKOriginal{Tau: 0.01, AtK: at, Temp: temp} },
	} {
		one := forward(t, backend(), kind(loss.Temperatures{All: 0.7}), in)
		each := forward(t, backend(), kind(loss.Temperatures{Each: []float64{0.7, 0.7, 0.7}}), in)
		other := forward(t, backend(), kind(loss.Temperatures{Each: []float64{0.7, 0.7, 1.4}}), in)
		if !reflect.DeepEqual(one, each) {
			t.Errorf("%T: %v, and %v with the number given thrice", kind(loss.Temperatures{}), one.Value, each.Value)
		}
		if other.Value == one.Value {
			t.Errorf("%T: the last temperature changes nothing", kind(loss.Temperatures{}))
		}
	}
}

// The mean over several k is that of the losses of each k with its temperature.
func TestRecallIsTheMeanOverKWithTheirTemperatures(t *testing.T) {
	in := randomBatch(22, 6, 4, 8, 1)
	at, temps := []float64{4, 1, 2}, []float64{0.5, 3, 1}
	all := define(t, loss.SmoothRecall{Tau: 0.1, AtK: at, Temp: loss.Temperatures{Each: temps}}, in)
	mean := 0.0
	for i := range at {
		mean += forward(t, backend(), loss.SmoothRecall{Tau: 0.1, AtK: at[i : i+1], Temp: loss.Temperatures{All: temps[i]}},
			in).Value / 3
	}
	if d := mean/all.Value - 1; !(d < 1e-6 && d > -1e-6) {
		t.Errorf("%v, and the mean %v", all.Value, mean)
	}
}

func TestTemperaturesAreANumberOrAList(t *testing.T) {
	for _, c := range []struct {
		text string
		want loss.Temperatures
	}{
		{"0.5", loss.Temperatures{All: 0.5}},
		{"2", loss.Temperatures{All: 2}},
		{"[1, 0.5]", loss.Temperatures{Each: []float64{1, 0.5}}},
		{"[1]", loss.Temperatures{Each: []float64{1}}},
	} {
		got := loss.SupRecall{Temp: loss.Temperatures{All: 1, Each: []float64{3}}} // what stood there goes
		if err := yaml.Unmarshal([]byte("temp: "+c.text), &got); err != nil || !reflect.DeepEqual(got.Temp, c.want) {
			t.Errorf("%s is %+v, %v", c.text, got.Temp, err)
		}
		text, err := yaml.Marshal(map[string]any{"temp": got.Temp})
		var again loss.SupRecall
		if err != nil || yaml.Unmarshal(text, &again) != nil || !reflect.DeepEqual(again.Temp, c.want) {
			t.Errorf("%s became %s, %v", c.text, text, err)
		}
		if text, err := json.Marshal(got.Temp); err != nil || string(text) != strings.ReplaceAll(c.text, " ", "") {
			t.Errorf("%s became %s, %v", c.text, text, err)
		}
	}
	for _, text := range []string{"warm", "[1, warm]", "{all: 1}"} {
		if err := yaml.Unmarshal([]byte("temp: "+text), new(loss.SupRecall)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// Temperatures and smoothed angles have the gradient of their value, by the proxies
// too: of random rows, and of rows on both sides of the angle at which φ jumps or
// bends, for the positive and for the others.
func TestSwitchesHaveTheGradientOfTheirValue(t *testing.T) {
	random, temps := randomBatch(23, 4, 3, 5, 1), loss.Temperatures{Each: []float64{0.5, 3, 1}}
	at := []float64{1, 4, 2}
	beside := func(degrees float64) *batch { // of which the proxy of class 0 is the positive, then not
		rows := atAngles(degrees-0.1, degrees+0.1, degrees-0.1, degrees+0.1)
		return (&batch{Query: rows, Labels: [][]int32{{0}, {0}, {1}, {2}}, Proxies: atAngles(0, 60, 170)}).Own()
	}
	edge := 180 - 0.5/degree
	for name, c := range map[string]struct {
		k  loss.Kind
		in *batch
	}{
		"smooth-recall":        {loss.SmoothRecall{Tau: 0.1, AtK: at, Temp: temps}, random},
		"sup-recall":           {loss.SupRecall{HMinus: autoStep, AtK: at, Temp: temps}, random},
		"recall-at-k-original": {loss.RecallAtKOriginal{Tau: 0.1, AtK: at, Temp: temps}, random},
		"arcface":              {loss.ArcFace{S: 30, M: 0.5, Smoothing: 0.1}, random},
		"arcface, easy":        {loss.ArcFace{S: 30, M: 0.5, Smoothing: 0.6, EasyMargin: true}, random},
		"at the edge":          {loss.ArcFace{S: 8, M: 0.5, Smoothing: 0.1}, beside(edge)},
		"at the edge, easy":    {loss.ArcFace{S: 8, M: 0.5, Smoothing: 0.4, EasyMargin: true}, beside(90)},
		"at the edge, plain":   {loss.ArcFace{S: 8, M: 0.5}, beside(edge)},
	} {
		want := define(t, c.k, c.in)
		if d := farthest(differences(t, c.k, c.in, c.in.Query), want.Query); !(d <= 1e-6) {
			t.Errorf("%s: gradient off by %.2g", name, d)
		}
		if _, ok := c.k.(loss.ArcFace); !ok {
			continue
		}
		if d := farthest(differences(t, c.k, c.in, c.in.Proxies), want.Proxies); !(d <= 1e-6) {
			t.Errorf("%s: gradient of the proxies off by %.2g", name, d)
		}
		if got := forward(t, backend(), c.k, c.in); farthest(got.Proxies, want.Proxies) > 1e-5 ||
			farthest(got.Query, want.Query) > 1e-5 {
			t.Errorf("%s: gradients off by %.2g and %.2g", name, farthest(got.Query, want.Query),
				farthest(got.Proxies, want.Proxies))
		}
	}
}
