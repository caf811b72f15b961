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
	"hgld/train/figure"
	"hgld/train/history"
)

func runsPlotCommand() *cli.Command {
	return &cli.Command{
		Name: "plot", Usage: "plot curves of several runs in one picture", ArgsUsage: "RUN…",
		Description: "  hgld runs plot --out loss.svg runs/smooth-ap runs/happier\n" +
			"  hgld runs plot --what H-AP --out h-ap.png runs/*       evaluations during training\n" +
			"  hgld runs plot --what img/s --smooth 1 --out speed.svg runs/happier",
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "out", Value: "runs.svg", Usage: "`FILE` to write, .svg, .png or .pdf; the points go beside it as .csv"},
			&cli.StringFlag{Name: "what", Value: "loss",
				Usage: "loss, loss/TERM, lr, head_lr, proxy_lr, grad_norm, region, img/s, or a `METRIC`: R@1_level0, H-AP"},
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
			drawing, err := plotRuns(runs, c.String("what"), c.Int("smooth"), c.Bool("log"))
			if err != nil {
				return withCode(exitUsage, err)
			}
			err = atomicfile.Write(c.String("out"), func(w io.Writer) error { return drawing.Write(w, format) })
			if err == nil {
				err = writePoints(runs, c.String("what"), c.Int("smooth"), figure.PointsFile(c.String("out")))
			}
			if err != nil {
				return err
			}
			sayLacking(j, c.String("out"), j.args)
			if j.json {
				return writeCurves(j, runs, c.String("what"), c.Int("smooth"), c.String("out"))
			}
			j.print("%s, %s\n", c.String("out"), figure.PointsFile(c.String("out")))
			return nil
		},
	}
}

// writePoints writes the points that were drawn, as .csv.
func writePoints(runs []*history.Run, what string, smooth int, path string) error {
	t := texttable.Table{Head: []string{"run", "step", what}}
	for _, r := range runs {
		points, _, err := r.Curve(what, smooth)
		if err != nil {
			return err
		}
		for _, p := range points {
			t.Rows = append(t.Rows, []string{r.Dir, strconv.FormatFloat(p.X, 'g', -1, 64), strconv.FormatFloat(p.Y, 'g', 9, 64)})
		}
	}
	return atomicfile.Write(path, func(w io.Writer) error { return t.Write(w, "csv") })
}

// writeCurves prints the points that were drawn.
func writeCurves(j *job, runs []*history.Run, what string, smooth int, file string) error {
	type curve struct {
		Run    string       `json:"run"`
		Points [][2]float64 `json:"points"` // step, value
	}
	list := make([]curve, len(runs))
	for i, r := range runs {
		points, _, err := r.Curve(what, smooth)
		if err != nil {
			return err
		}
		list[i] = curve{Run: r.Dir, Points: make([][2]float64, len(points))}
		for k, p := range points {
			list[i].Points[k] = [2]float64{p.X, p.Y}
		}
	}
	return writeJSON(j, map[string]any{"file": file, "what": what, "curves": list})
}

// plotRuns draws a curve of each run.
func plotRuns(runs []*history.Run, what string, smooth int, logarithmic bool) (*report.Drawing, error) {
	p := &report.Plot{XLabel: "step", YLabel: what, Log: logarithmic}
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
	drawing, err := p.Draw()
	if errors.Is(err, report.ErrEmpty) {
		err = fmt.Errorf("no run has values of %s to draw", what)
		if what == "region" {
			err = withHint(err, "hgld train run -o run.log=region records it")
		}
	}
	return drawing, err
}

// besidePlot recognises the points of a plot by the picture beside them.
func besidePlot(path string) (bool, error) {
	for _, extension := range report.Formats {
		ours, err := outputKinds()[kindPlot].Ours(strings.TrimSuffix(path, filepath.Ext(path)) + "." + extension)
		if err != nil || ours {
			return ours, err
		}
	}
	return false, nil
}
