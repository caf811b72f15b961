package figure

import (
	"hgld/internal/report"
	"hgld/internal/texttable"
)

// Landscape draws the values of a loss on a plane, by v and then by u, and beside them its interpolations of the
// strengths lambdas.
func Landscape(steps []float64, values [][]float64, lambdas []float64, interpolated [][][]float64) *Figure {
	maps := []report.HeatMap{{Values: values}}
	f := &Figure{Table: texttable.Table{Head: []string{"along u", "along v", "loss"}}}
	for i, lambda := range lambdas {
		maps[0].Title = "the loss"
		maps = append(maps, report.HeatMap{Title: "λ = " + number(lambda), Values: interpolated[i]})
		f.Table.Head = append(f.Table.Head, "interpolated by λ = "+number(lambda))
	}
	f.Plot = report.Plot{XLabel: "along u", YLabel: "along v", Heat: &report.Heat{Xs: steps, Ys: steps, Maps: maps}}
	for i, y := range steps {
		for k, x := range steps {
			row := []string{number(x), number(y)}
			for _, m := range maps {
				row = append(row, number(m.Values[i][k]))
			}
			f.Table.Rows = append(f.Table.Rows, row)
		}
	}
	return f
}

// Batch returns the rows of the first batch of the first size.
func (d *Dealing) Batch(items *Items) ([]int, error) {
	if err := d.check(items); err != nil {
		return nil, err
	}
	batches, err := d.deal(items, d.Sizes[0])
	if err != nil {
		return nil, err
	}
	return batches[0], nil
}
