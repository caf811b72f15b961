package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/atomicfile"
	"hgld/internal/report"
	"hgld/internal/texttable"
	"hgld/train/experiment/runs"
	"hgld/train/figure"
)

func runsPlotCommand() *cli.Command {
	return &cli.Command{
		Name: "plot", Usage: "plot curves of several runs in one picture", ArgsUsage: "RUN…",
		Description: "  hgld runs plot --out loss.svg runs/smooth-ap runs/happier\n" +
			"  hgld runs plot --metric H-AP --out h-ap.png runs/*       evaluations during training\n" +
			"  hgld runs plot --metric img/s --smooth 1 --out speed.svg runs/happier",
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "out", Value: "runs.svg", Usage: "`FILE` to write, .svg, .png or .pdf; the points go beside it as .csv"},
			&cli.StringFlag{Name: "metric", Value: "loss",
				Usage: "loss, loss/TERM, lr, head_lr, proxy_lr, grad_norm, region, img/s, or a metric `KEY`: R@1_level0, H-AP"},
			&cli.IntFlag{Name: "smooth", Usage: "average over `N` steps (default: a fiftieth of all steps; 1: no smoothing)"},
			&cli.BoolFlag{Name: "log", Usage: "use a logarithmic axis"}, replaceFlag()),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			if len(j.args) == 0 {
				return withHint(usagef("runs plot needs at least one run directory; got none"), "hgld runs list lists them")
			}
			format := strings.TrimPrefix(filepath.Ext(c.String("out")), ".")
			if err := report.CheckFile(c.String("out")); err != nil {
				return usagef("--out: %w", err)
			}
			if c.Int("smooth") < 0 {
				return usagef("--smooth is %d; want a number of steps, or 0 for a fiftieth of all steps", c.Int("smooth"))
			}
			if err := j.checkOutputs("runs plot", j.args, pictureOutputs(c.String("out"))...); err != nil {
				return err
			}
			runs, err := readPastRuns(j.args)
			if err != nil {
				return err
			}
			plot, err := curvesOf(runs, c.String("metric"), c.Int("smooth"))
			if err != nil {
				return withCode(exitUsage, err)
			}
			plot.Log, plot.Style = c.Bool("log"), j.pictures
			out, points := c.String("out"), figure.PointsFile(c.String("out"))
			drawing, err := plot.Draw()
			if errors.Is(err, report.ErrEmpty) {
				err = fmt.Errorf("no run has values of %s to draw", c.String("metric"))
				if c.String("metric") == "region" {
					err = withHint(err, "hgld train run -o run.log=region records it")
				}
			}
			if err != nil {
				return withCode(exitUsage, err)
			}
			err = atomicfile.Write(out, func(w io.Writer) error { return drawing.Write(w, format) })
			if err == nil {
				err = writePoints(runs, plot, c.String("metric"), points)
			}
			if err != nil {
				return err
			}
			sayLacking(j, out, j.args)
			if j.json {
				return writeCurves(j, runs, plot, c.String("metric"), out)
			}
			j.print("%s, %s\n", out, points)
			return nil
		},
	}
}

// curvesOf returns a plot with a curve of each run.
func curvesOf(runs []*runs.Run, what string, smooth int) (*report.Plot, error) {
	p := &report.Plot{XLabel: "step", YLabel: what}
	for _, r := range runs {
		points, dots, err := r.Curve(what, smooth)
		if err != nil {
			return nil, err
		}
		if dots && len(points) > 0 {
			p.YLabel = what + " (%)"
		}
		p.Curves = append(p.Curves, report.Curve{Name: filepath.Base(r.Dir), Points: points, Dots: dots})
	}
	return p, nil
}

// writePoints writes the points that were drawn, as .csv.
func writePoints(runs []*runs.Run, plot *report.Plot, what, path string) error {
	t := texttable.Table{Head: []string{"run", "step", what}}
	for i, r := range runs {
		for _, p := range plot.Curves[i].Points {
			t.Rows = append(t.Rows, []string{r.Dir, strconv.FormatFloat(p.X, 'g', -1, 64), strconv.FormatFloat(p.Y, 'g', 9, 64)})
		}
	}
	return atomicfile.Write(path, func(w io.Writer) error { return t.Write(w, "csv") })
}

// writeCurves prints the points that were drawn.
func writeCurves(j *job, runs []*runs.Run, plot *report.Plot, what, file string) error {
	type curve struct {
		Run    string       `json:"run"`
		Points [][2]float64 `json:"points"` // step, value
	}
	list := make([]curve, len(runs))
	for i, r := range runs {
		list[i] = curve{r.Dir, [][2]float64{}}
		for _, p := range plot.Curves[i].Points {
			list[i].Points = append(list[i].Points, [2]float64{p.X, p.Y})
		}
	}
	return writeJSON(j, map[string]any{"file": file, "what": what, "curves": list})
}
