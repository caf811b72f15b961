package sweep

import (
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/atomicfile"
	"hgld/internal/report"
	"hgld/internal/texttable"
)

// Table returns the points as aligned text: the settings that vary and the measures, a line
// for each point.
func Table(points []Point, varied []Variation) string {
	var heads []string
	for _, v := range varied {
		heads = append(heads, v.Key)
	}
	heads = append(heads, "k")
	if len(points) > 0 && points[0].Judged != nil {
		heads = append(heads, "purity", "ARI", "±", "NMI", "AMI", "moves", "clusters", "actions", "±")
	} else {
		heads = append(heads, "inertia", "silhouette", "by cosine", "Cal.-Har.", "Dav.-Bou.")
	}
	rows := [][]string{append(heads, "stability", "largest", "alone")}
	for _, p := range points {
		var row []string
		for _, v := range varied {
			row = append(row, strings.ReplaceAll(p.Settings[v.Key], "\n", " "))
		}
		row = append(row, strconv.Itoa(p.K))
		if p.Judged != nil {
			row = append(row, p.Judged.cells()...)
		} else {
			row = append(row, digits(p.Inertia.Mean, 'g', 5), digits(p.Silhouette.Mean, 'f', 4),
				digits(p.SilhouetteCosine.Mean, 'f', 4),
				digits(p.CalinskiHarabasz.Mean, 'g', 4), digits(p.DaviesBouldin.Mean, 'f', 4))
		}
		stability := ""
		if p.Stability != nil {
			stability = digits(*p.Stability, 'f', 3)
		}
		rows = append(rows, append(row, stability, strconv.Itoa(p.Largest), strconv.Itoa(p.Alone)))
	}
	numbers := len(rows[0]) - len(varied)
	return texttable.Format(strings.Repeat("  %s", len(varied))+strings.Repeat("  %1s", numbers), rows...)
}

func digits(v float64, format byte, n int) string { return strconv.FormatFloat(v, format, n, 64) }

// measures are what [Plot] draws.
var measures = []struct {
	file, title string
	of          func(Point) (v float64, defined bool)
}{
	{"inertia", "inertia", func(p Point) (float64, bool) { return p.Inertia.Mean, true }},
	{"silhouette", "silhouette (higher is better)", byShape(func(m *Shape) Estimate { return m.Silhouette })},
	{"silhouette_cosine", "silhouette by cosine (higher is better)",
		byShape(func(m *Shape) Estimate { return m.SilhouetteCosine })},
	{"calinski_harabasz", "Calinski–Harabasz (higher is better)",
		byShape(func(m *Shape) Estimate { return m.CalinskiHarabasz })},
	{"davies_bouldin", "Davies–Bouldin (lower is better)", byShape(func(m *Shape) Estimate { return m.DaviesBouldin })},
	{"ari", "adjusted Rand index with the known groups", judgedBy(func(g *Judgement) Estimate { return g.ARI })},
	{"actions", "actions a judged tag (lower is better)", judgedBy(func(g *Judgement) Estimate { return g.Actions })},
	{"stability", "mean ARI of two seeds", func(p Point) (float64, bool) {
		if p.Stability == nil {
			return 0, false
		}
		return *p.Stability, true
	}},
}

// PlotFiles lists the files that [Plot] may write into a folder.
func PlotFiles(folder string) (paths []string) {
	for _, m := range measures {
		paths = append(paths, filepath.Join(folder, m.file+".svg"))
	}
	return paths
}

// Plot writes a plot of each measure against k into a folder, a line for each combination
// of settings, and returns the paths written (SVG). Measures that no point has are left
// out.
func Plot(folder string, points []Point) (paths []string, err error) {
	if err := atomicfile.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	for i, path := range PlotFiles(folder) {
		drawn, err := plot(path, measures[i].title, points, measures[i].of)
		if err != nil {
			return paths, err
		}
		if drawn {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

func byShape(of func(*Shape) Estimate) func(Point) (float64, bool) {
	return func(p Point) (float64, bool) {
		if p.Shape == nil {
			return 0, false
		}
		return of(p.Shape).Mean, true
	}
}

func judgedBy(of func(*Judgement) Estimate) func(Point) (float64, bool) {
	return func(p Point) (float64, bool) {
		if p.Judged == nil {
			return 0, false
		}
		return of(p.Judged).Mean, true
	}
}

// plot draws the points that have the measure, and no file if none has.
func plot(path, title string, points []Point, of func(Point) (float64, bool)) (drawn bool, err error) {
	p := report.Plot{XLabel: "clusters", YLabel: title}
	for i, at := range points {
		if i == 0 || at.K <= points[i-1].K {
			p.Curves = append(p.Curves, report.Curve{Name: at.name(), Dots: true})
		}
		if y, defined := of(at); defined {
			c := &p.Curves[len(p.Curves)-1]
			c.Points = append(c.Points, report.Point{X: float64(at.K), Y: y})
		}
	}
	drawing, err := p.Draw()
	if errors.Is(err, report.ErrEmpty) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, atomicfile.Write(path, func(out io.Writer) error { return drawing.Write(out, "svg") })
}

// name lists the settings of a point, "" if none varies.
func (p Point) name() string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(p.Settings)) {
		list = append(list, key+" "+strings.ReplaceAll(p.Settings[key], "\n", " "))
	}
	return strings.Join(list, ", ")
}
