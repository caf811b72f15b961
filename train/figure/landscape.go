package figure

import (
	"hgld/internal/report"
	"hgld/internal/texttable"
)

// Landscape draws the values of a loss on a plane, by v and then by u.
func Landscape(steps []float64, values [][]float64) *Figure {
	f := &Figure{Plot: report.Plot{XLabel: "along u", YLabel: "along v",
		Heat: &report.Heat{Xs: steps, Ys: steps, Values: values}},
		Table: texttable.Table{Head: []string{"along u", "along v", "loss"}}}
	for i, y := range steps {
		for k, x := range steps {
			f.Table.Rows = append(f.Table.Rows, []string{number(x), number(y), number(values[i][k])})
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
