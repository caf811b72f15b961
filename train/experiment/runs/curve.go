package runs

import (
	"fmt"
	"math"
	"slices"

	"hgld/internal/registry"
	"hgld/internal/report"
	"hgld/train"
)

// stepCurves are the curves with one point per step. nil means that the value was not
// recorded.
var stepCurves = registry.Table[func(e train.Event) *float64]{
	{Name: "loss", Value: func(e train.Event) *float64 { return e.Loss }},
	{Name: "lr", Value: func(e train.Event) *float64 { return &e.Rate }},
	{Name: "head_lr", Value: func(e train.Event) *float64 { return positive(e.HeadRate) }},
	{Name: "proxy_lr", Value: func(e train.Event) *float64 { return positive(e.ProxyRate) }},
	{Name: "grad_norm", Value: func(e train.Event) *float64 { return e.Norm }},
	{Name: "region", Value: func(e train.Event) *float64 { return e.Region }},
	{Name: "img/s", Value: func(e train.Event) *float64 { return new(float64(e.Images) / e.Seconds) }},
}

// positive returns a rate, nil for one that was not recorded.
func positive(rate float64) *float64 {
	if rate > 0 {
		return &rate
	}
	return nil
}

// termCurve begins the names of the curves of a loss's terms: "loss/nsm".
const termCurve = "loss/"

// term returns the value of a term of the loss, without its weight.
func term(name string) func(e train.Event) *float64 {
	return func(e train.Event) *float64 {
		for _, t := range e.Terms {
			if t.Name == name && !math.IsNaN(float64(t.Value)) {
				return new(float64(t.Value))
			}
		}
		return nil
	}
}

// termNames lists the terms of the loss.
func (r *Run) termNames() (list []string) {
	for _, e := range r.Events {
		for _, t := range e.Terms {
			if !slices.Contains(list, t.Name) {
				list = append(list, t.Name)
			}
		}
	}
	return list
}

// Curve returns the points of a curve: "loss", "loss/TERM", "lr", "head_lr", "proxy_lr",
// "grad_norm", "region", "img/s", or an evaluation metric in percent. Step curves are smoothed by a
// running mean over smooth steps; 0 means one fiftieth of all steps. dots reports that the curve
// has few points, which is true of evaluations. It fails if the run has no such curve.
func (r *Run) Curve(what string, smooth int) (points []report.Point, dots bool, err error) {
	value, err := stepCurves.Get("curve", what)
	if err == nil {
		return r.stepCurve(value, smooth), false, nil
	}
	known := stepCurves.Names()
	for _, name := range r.termNames() {
		if known = append(known, termCurve+name); what == termCurve+name {
			return r.stepCurve(term(name), smooth), false, nil
		}
	}
	for _, e := range r.Events {
		if e.Kind != train.Evaluated || e.Result == nil {
			continue
		}
		for _, v := range e.Result.Values {
			if !slices.Contains(known, v.Key) {
				known = append(known, v.Key)
			}
		}
		if v := e.Result.Mean(what); !math.IsNaN(v) {
			points = append(points, report.Point{X: float64(e.Step), Y: 100 * v})
		}
	}
	if !slices.Contains(known, what) {
		return nil, true, fmt.Errorf("%s: %w", r.Dir, registry.Unknown("curve", what, known))
	}
	return points, true, nil
}

func (r *Run) stepCurve(value func(e train.Event) *float64, smooth int) (points []report.Point) {
	var values []float64
	missing := false
	for _, e := range r.Steps() {
		v := value(e)
		if v != nil {
			points = append(points, report.Point{X: float64(e.Step), Gap: missing})
			values = append(values, *v)
		}
		missing = v == nil
	}
	if smooth <= 0 {
		smooth = max(1, len(values)/50)
	}
	for i, v := range report.Smooth(values, smooth) {
		points[i].Y = v
	}
	return points
}
