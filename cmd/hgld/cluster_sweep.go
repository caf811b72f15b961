package main

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"hgld/cluster"
	"hgld/internal/atomicfile"
)

func clusterSweepCommand() *cli.Command {
	var flags []cli.Flag
	for _, f := range flagsOf(clusterStage().settings()) {
		if name := f.Names()[0]; name != "k" && name != "out" {
			flags = append(flags, f)
		}
	}
	return &cli.Command{
		Name: "sweep", Usage: "measure drafts of several sizes, to choose k by",
		Description: "  hgld cluster sweep                              k from 25 to 400, 3 seeds each\n" +
			"  hgld cluster sweep --ks 50,100,150 --seeds 5    other sizes, more seeds\n" +
			"  hgld cluster sweep --plots figures              figures/inertia.svg and one for each other measure\n" +
			"  hgld cluster sweep --algorithm ward --json",
		Flags: append(append(flags, stageFlags()...),
			&cli.StringFlag{Name: "ks", Usage: "numbers of clusters, with commas", Value: "25,50,78,100,150,200,300,400"},
			&cli.IntFlag{Name: "seeds", Usage: "seeds to take the mean and the stability of", Value: 3},
			&cli.StringFlag{Name: "plots", Usage: "folder to write a plot of each measure to (SVG)"},
		),
		Action: runClusterSweep,
	}
}

// sweepPoint is what one number of clusters gives, as the mean of the seeds.
type sweepPoint struct {
	K       int     `json:"k"`
	Inertia float64 `json:"inertia"`
	cluster.Internal
	Stability *float64 `json:"stability,omitempty"` // mean ARI of two seeds; nil for one partition
	Largest   int      `json:"largest"`             // rows of the largest cluster of the first seed
	Alone     int      `json:"alone"`               // its clusters of one row
}

func runClusterSweep(c *cli.Context) error {
	j, err := newJob(c)
	if err != nil {
		return err
	}
	if len(j.args) > 0 {
		return usagef("cluster sweep takes no arguments, only flags; got %q", strings.Join(j.args, " "))
	}
	stage := clusterStage()
	s := stage.settings().(*clusterSettings)
	if err := j.project.load(c, "cluster", s); err != nil {
		return err
	}
	if err := stage.missingInput(j, s); err != nil {
		return err
	}
	if c.Int("seeds") < 1 {
		return usagef("--seeds is %d; want 1 or more", c.Int("seeds"))
	}
	plan, err := planCluster(j, s, 0)
	if err != nil {
		return err
	}
	ks, err := sweepSizes(c.String("ks"), c.IsSet("ks"), plan)
	if err != nil {
		return err
	}
	points := make([]sweepPoint, 0, len(ks))
	for _, k := range ks {
		p, err := plan.measure(j, s, k, c.Int("seeds"))
		if err != nil {
			return err
		}
		points = append(points, p)
	}
	if folder := c.String("plots"); folder != "" {
		if err := plotSweep(j, folder, points); err != nil {
			return err
		}
	}
	if j.json {
		return writeJSON(j, points)
	}
	printSweep(j, points)
	return nil
}

// sweepSizes reads the list of sizes. Of the default list it takes what the
// number of tags and of known groups allows.
func sweepSizes(list string, asked bool, plan *clusterPlan) ([]int, error) {
	least, most := 2, len(plan.tags)-1
	if known := plan.base.Known; known != nil {
		least = max(least, len(known.Names))
	}
	var ks []int
	for text := range strings.SplitSeq(list, ",") {
		k, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return nil, usagef("--ks: %q is no whole number", text)
		}
		if k >= least && k <= most {
			ks = append(ks, k)
		} else if asked {
			return nil, usagef("--ks: %d clusters of %s cannot be measured; want %d to %d", k, count(len(plan.tags), "tag"), least, most)
		}
	}
	if len(ks) == 0 {
		return nil, usagef("none of the numbers of clusters %s suits %s; name others with --ks", list, count(len(plan.tags), "tag"))
	}
	return ks, nil
}

// measure clusters into k from several seeds. Agglomerative clustering draws
// nothing and runs once.
func (p *clusterPlan) measure(j *job, s *clusterSettings, k, seeds int) (sweepPoint, error) {
	point := sweepPoint{K: k}
	var partitions [][]int32
	for i := range seeds {
		r, err := p.run(j, s, k, s.Seed+uint64(i), "k "+strconv.Itoa(k))
		if err != nil {
			return point, err
		}
		if i == 0 {
			for _, size := range r.Sizes {
				point.Largest = max(point.Largest, size)
				if size == 1 {
					point.Alone++
				}
			}
		}
		m, err := cluster.Measure(p.x, r.Labels, p.base.BLAS)
		if err != nil {
			return point, err
		}
		partitions = append(partitions, r.Labels)
		for _, sum := range []struct {
			of *float64
			v  float64
		}{{&point.Inertia, r.Inertia}, {&point.Silhouette, m.Silhouette}, {&point.SilhouetteCosine, m.SilhouetteCosine},
			{&point.CalinskiHarabasz, m.CalinskiHarabasz}, {&point.DaviesBouldin, m.DaviesBouldin}} {
			*sum.of += sum.v / float64(seeds)
		}
		if len(r.Restarts) == 0 {
			seeds = 1
			point.Inertia, point.Internal = r.Inertia, m
			break
		}
	}
	if seeds < 2 {
		return point, nil
	}
	stability, err := cluster.Stability(partitions)
	point.Stability = &stability
	return point, err
}

func printSweep(j *job, points []sweepPoint) {
	j.print("%5s %10s %10s %10s %10s %10s %9s %8s %6s\n", "k", "inertia", "silhouette", "by cosine", "Cal.-Har.", "Dav.-Bou.", "stability", "largest", "alone")
	for _, p := range points {
		stability := ""
		if p.Stability != nil {
			stability = strconv.FormatFloat(*p.Stability, 'f', 3, 64)
		}
		j.print("%5d %10.5g %10.4f %10.4f %10.4g %10.4f %9s %8d %6d\n", p.K, p.Inertia, p.Silhouette, p.SilhouetteCosine, p.CalinskiHarabasz, p.DaviesBouldin, stability, p.Largest, p.Alone)
	}
}

// plotSweep writes a line plot of each measure against k.
func plotSweep(j *job, folder string, points []sweepPoint) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for _, measure := range []struct {
		file, title string
		of          func(sweepPoint) (float64, bool)
	}{
		{"inertia", "inertia", func(p sweepPoint) (float64, bool) { return p.Inertia, true }},
		{"silhouette", "silhouette (higher is better)", func(p sweepPoint) (float64, bool) { return p.Silhouette, true }},
		{"silhouette_cosine", "silhouette by cosine (higher is better)", func(p sweepPoint) (float64, bool) { return p.SilhouetteCosine, true }},
		{"calinski_harabasz", "Calinski–Harabasz (higher is better)", func(p sweepPoint) (float64, bool) { return p.CalinskiHarabasz, true }},
		{"davies_bouldin", "Davies–Bouldin (lower is better)", func(p sweepPoint) (float64, bool) { return p.DaviesBouldin, true }},
		{"stability", "mean ARI of two seeds", func(p sweepPoint) (float64, bool) {
			if p.Stability == nil {
				return 0, false
			}
			return *p.Stability, true
		}},
	} {
		var line plotter.XYs
		for _, p := range points {
			if y, defined := measure.of(p); defined {
				line = append(line, plotter.XY{X: float64(p.K), Y: y})
			}
		}
		if len(line) == 0 {
			continue
		}
		path := filepath.Join(folder, measure.file+".svg")
		if err := plotLine(path, measure.title, line); err != nil {
			return err
		}
		j.say("%s written", path)
	}
	return nil
}

func plotLine(path, title string, line plotter.XYs) error {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "clusters", title
	l, dots, err := plotter.NewLinePoints(line)
	if err != nil {
		return err
	}
	p.Add(plotter.NewGrid(), l, dots)
	w, err := p.WriterTo(12*vg.Centimeter, 8*vg.Centimeter, "svg")
	if err != nil {
		return err
	}
	return atomicfile.Write(path, func(out io.Writer) error {
		_, err := w.WriteTo(out)
		return err
	})
}
