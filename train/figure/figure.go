// Package figure draws the figures of the papers that need no training: step functions, the operating
// region of a sigmoid, estimates by mini-batches, precision and recall of one query, the sizes of classes.
// Each is a plot together with the table of its points.
package figure

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"hgld/internal/report"
	"hgld/internal/texttable"
)

// Figure is a plot with its points.
type Figure struct {
	Plot  report.Plot     // the picture
	Table texttable.Table // its points, without rounding
}

// PointsFile returns the path of the table of a figure: beside it, as .csv.
func PointsFile(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) + ".csv" }

// Draw writes the plot in the format that the ending of path names, one of [report.Formats].
func (f *Figure) Draw(w io.Writer, path string) error {
	drawing, err := f.Plot.Draw()
	if err != nil {
		return err
	}
	return drawing.Write(w, strings.TrimPrefix(filepath.Ext(path), "."))
}

// Points returns the table of the points.
func (f *Figure) Points() *texttable.Table { return &f.Table }

// number formats a number of a table.
func number(v float64) string { return fmt.Sprintf("%.9g", v) }
