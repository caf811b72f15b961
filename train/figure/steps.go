package figure

import (
	"fmt"
	"math"

	"hgld/internal/report"
	"hgld/internal/texttable"
	"hgld/train/device"
	"hgld/train/device/reference"
)

// NamedStep is a step function with its name.
type NamedStep struct {
	Name string      // in the legend
	Step device.Step // with its constants
}

// stepPoints is the number of points of a step function, odd to have one at 0.
const stepPoints = 801

// Steps draws step functions of t = s_i − s_k from −reach to reach, or their slopes: figure 12 of
// "Optimization of Rank Losses" and S7 (b) of Smooth-AP. A step that jumps has a gap there.
func Steps(list []NamedStep, reach float64, slopes bool) (*Figure, error) {
	if !(reach > 0) || math.IsInf(reach, 1) {
		return nil, fmt.Errorf("the reach is %v, want a positive number", reach)
	}
	f := &Figure{Plot: report.Plot{XLabel: "t = s_i − s_k", YLabel: "step"}}
	if slopes {
		f.Plot.YLabel = "slope of the step"
	}
	f.Table = texttable.Table{Head: []string{"step", "t", "value", "slope"}}
	for _, named := range list {
		if err := named.Step.Check(); err != nil {
			return nil, fmt.Errorf("%s: %w", named.Name, err)
		}
		step := reference.NewSteps(&device.Steps{Rank: [3]device.Step{named.Step}}).Rank[0]
		curve := report.Curve{Name: named.Name}
		before, steep := math.NaN(), 0.0
		for i := range stepPoints {
			t := reach * (2*float64(i)/(stepPoints-1) - 1)
			value, slope := step.Value(t), step.Slope(t)
			f.Table.Rows = append(f.Table.Rows, []string{named.Name, number(t), number(value), number(slope)})
			y := value
			if slopes {
				y = slope
			}
			// Between two points, a continuous step changes by its slope at most.
			jump := math.Abs(value-before) > 0.4+1.5*max(slope, steep)*2*reach/(stepPoints-1)
			curve.Points = append(curve.Points, report.Point{X: t, Y: y, Gap: jump && !slopes})
			before, steep = value, slope
		}
		f.Plot.Curves = append(f.Plot.Curves, curve)
	}
	return f, nil
}
