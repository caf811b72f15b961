package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/cluster"
	"hgld/internal/registry"
)

func clusterSweepCommand() *cli.Command {
	var flags []cli.Flag
	for _, f := range flagsOf(clusterStage().settings()) {
		if name := f.Names()[0]; name != "k" && name != "out" {
			flags = append(flags, f)
		}
	}
	return &cli.Command{
		Name: "sweep", Usage: "measure drafts of several sizes and settings, to choose them by",
		Description: "  hgld cluster sweep                              k from 25 to 400\n" +
			"  hgld cluster sweep --ks 50,100,150 --vary algorithm=lloyd,ward --vary smooth=0,10\n" +
			"                                                  twelve drafts, a row each\n" +
			"  hgld cluster sweep --vary vectors=clip.safetensors,minilm.safetensors --ks 150\n" +
			"                                                  vectors that `hgld embed --out` made\n" +
			"  hgld cluster sweep --vary 'prompt=tag;photo;tag,photo' --init greedy-k-means++ --seeds 10\n" +
			"                                                  values that have commas; drawn starts, ten seeds\n" +
			"  hgld cluster sweep --truth tag_pairs.tsv --judge how=hand\n" +
			"                                                  purity, ARI and a curator's work by known groups\n" +
			"  hgld cluster sweep --truth tag_pairs.tsv --drop 0.1 --seeds 10\n" +
			"                                                  the same without a tenth of the other tags, ten times\n" +
			"  hgld cluster sweep --plots figures --json       figures/inertia.svg and one for each other measure",
		Flags: append(append(flags, stageFlags()...), deviceFlag(),
			&cli.StringFlag{Name: "ks", Usage: "numbers of clusters, with commas", Value: "25,50,78,100,150,200,300,400"},
			&cli.StringSliceFlag{Name: "vary", Usage: "setting and values to combine with all others: `KEY=A,B`, or KEY=A;B"},
			&cli.IntFlag{Name: "seeds", Usage: "seeds to take the mean, the deviation and the stability of", Value: 3},
			&cli.Float64Flag{Name: "drop", Usage: "leave out this share of the tags, others for each seed: how much a draft owes to chance even where nothing is drawn"},
			&cli.StringFlag{Name: "truth", Usage: "tab-separated `FILE` of tags and their groups to judge by"},
			&cli.StringFlag{Name: "judge", Usage: "judge only rows of that file with this value: `COLUMN=VALUE`"},
			&cli.StringFlag{Name: "plots", Usage: "folder to write a plot of each measure to (SVG)"},
		),
		Action: runClusterSweep,
	}
}

// estimate is a measure over the seeds.
type estimate struct {
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"` // of one seed, over n−1
}

// sweepPoint is what one combination of settings gives.
type sweepPoint struct {
	Settings map[string]string `json:"settings,omitempty"` // those that --vary combines
	K        int               `json:"k"`
	Seeds    int               `json:"seeds"` // partitions; 1 where nothing is drawn
	Inertia  estimate          `json:"inertia"`

	*shapeMeasures            // nil where known groups judge
	Judged         *judgement `json:"judged,omitempty"`
	Stability      *float64   `json:"stability,omitempty"` // mean ARI of two seeds; nil for one partition
	Largest        int        `json:"largest"`             // rows of the largest cluster of the first seed
	Alone          int        `json:"alone"`               // its clusters of one row
}

// shapeMeasures judge a partition by the vectors alone.
type shapeMeasures struct {
	Silhouette       estimate `json:"silhouette"`
	SilhouetteCosine estimate `json:"silhouette_cosine"`
	CalinskiHarabasz estimate `json:"calinski_harabasz"`
	DaviesBouldin    estimate `json:"davies_bouldin"`
}

// sweep is a run of `hgld cluster sweep`.
type sweep struct {
	*job
	seeds  int
	drop   float64 // share of the tags that each seed leaves out
	varied []variation
	truth  *truth // nil: not judged
	plan   *clusterPlan
	made   string         // settings that plan was made with
	thin   []*clusterPlan // plan without the tags that each seed leaves out
}

func runClusterSweep(c *cli.Context) error {
	j, err := newJob(c)
	if err != nil {
		return err
	}
	stage := clusterStage()
	s := stage.settings().(*clusterSettings)
	if err := j.project.load(c, "cluster", s); err != nil {
		return err
	}
	if err := stage.missingInput(j, s); err != nil {
		return err
	}
	w := &sweep{job: j, seeds: c.Int("seeds"), drop: c.Float64("drop")}
	if w.seeds < 1 || !(w.drop >= 0 && w.drop < 1) {
		return usagef("--seeds is %d and --drop %v; want 1 or more, and a share below 1", w.seeds, w.drop)
	}
	if w.varied, err = variations(c.StringSlice("vary")); err != nil {
		return err
	}
	if w.truth, err = readTruth(c.String("truth"), c.String("judge")); err != nil {
		return err
	}
	points, err := w.run(s, c.String("ks"), c.IsSet("ks"))
	if err = errors.Join(err, j.closeDevices()); err != nil {
		return err
	}
	if folder := c.String("plots"); folder != "" {
		if err := plotSweep(j, folder, points); err != nil {
			return err
		}
	}
	if j.json {
		return writeJSON(j, points)
	}
	w.printTable(points)
	return nil
}

// run measures every combination, the numbers of clusters varying fastest.
func (w *sweep) run(s *clusterSettings, list string, asked bool) ([]sweepPoint, error) {
	var points []sweepPoint
	for _, values := range combinations(w.varied) {
		own, settings := *s, map[string]string{}
		fields := fieldsOf(&own)
		for i, v := range w.varied {
			settings[v.key] = values[i]
			at, _ := findKey(fields, v.key)
			if err := fields[at].set(values[i]); err != nil {
				return nil, withCode(exitUsage, fmt.Errorf("--vary %s: %w", v.key, err))
			}
		}
		if err := w.choose(&own); err != nil {
			return nil, err
		}
		ks, err := sweepSizes(list, asked, w.plan)
		if err != nil {
			return nil, err
		}
		for _, k := range ks {
			p, err := w.measure(&own, k)
			if err != nil {
				return nil, err
			}
			p.Settings = settings
			points = append(points, p)
		}
	}
	return points, nil
}

// choose makes a plan, or changes how the last one clusters if its vectors are
// the same: smoothed ones and trees are kept.
func (w *sweep) choose(s *clusterSettings) error {
	same := *s
	same.Algorithm, same.Init, same.NInit, same.MaxIter, same.Tol, same.Spherical, same.Smooth, same.Seed = "", "", 0, 0, 0, false, 0, 0
	if made := fmt.Sprintf("%+v", same); made == w.made {
		return errors.Join(w.plan.choose(s), w.plan.checkTree(s))
	} else {
		w.made, w.thin = made, nil
	}
	var err error
	w.plan, err = planCluster(w.job, s, 0, false)
	return err
}

// planOf is the plan of seed i.
func (w *sweep) planOf(s *clusterSettings, i int) (*clusterPlan, error) {
	if w.drop == 0 {
		return w.plan, nil
	}
	if i == len(w.thin) {
		random := rand.New(rand.NewPCG(s.Seed+uint64(i), uint64(len(w.plan.tags))))
		w.thin = append(w.thin, w.plan.keep(func(row int) bool {
			dropped := random.Float64() < w.drop
			return !dropped || w.truth.has(w.plan.tags[row].Name)
		}))
	}
	return w.thin[i], w.thin[i].choose(s)
}

// measure clusters into k from several seeds, or once where nothing is drawn.
func (w *sweep) measure(s *clusterSettings, k int) (sweepPoint, error) {
	point := sweepPoint{K: k, Seeds: w.seeds}
	if _, tree := w.plan.linkage(s); tree && s.Algorithm != "mini-batch" && w.drop == 0 { // which draws its batches whatever the start
		point.Seeds = 1
	}
	var partitions [][]int32
	values := map[*estimate][]float64{}
	for i := range point.Seeds {
		plan, err := w.planOf(s, i)
		if err != nil {
			return point, err
		}
		r, err := plan.run(w.job, s, k, s.Seed+uint64(i), "k "+strconv.Itoa(k))
		if err != nil {
			return point, err
		}
		if i == 0 {
			point.shape(r)
		}
		partitions = append(partitions, r.Labels)
		if err := w.take(&point, values, plan, r); err != nil {
			return point, err
		}
	}
	for f, v := range values {
		*f = estimateOf(v)
	}
	if len(partitions) < 2 || w.drop > 0 { // partitions of different tags cannot be compared
		return point, nil
	}
	stability, err := cluster.Stability(partitions)
	point.Stability = &stability
	return point, err
}

// shape notes the sizes of the clusters.
func (p *sweepPoint) shape(r *cluster.Result) {
	for _, size := range r.Sizes {
		p.Largest = max(p.Largest, size)
		if size == 1 {
			p.Alone++
		}
	}
}

// take adds the measures of one partition: those by known groups if there are any,
// else those by the vectors, as they were before smoothing.
func (w *sweep) take(point *sweepPoint, values map[*estimate][]float64, plan *clusterPlan, r *cluster.Result) error {
	add := func(f *estimate, v float64) { values[f] = append(values[f], v) }
	add(&point.Inertia, r.Inertia)
	if w.truth != nil {
		if point.Judged == nil {
			point.Judged = &judgement{}
		}
		return w.truth.judge(point.Judged, add, plan.tags, r.Labels)
	}
	if point.shapeMeasures == nil {
		point.shapeMeasures = &shapeMeasures{}
	}
	m, err := cluster.Measure(plan.x, r.Labels, plan.base.BLAS)
	add(&point.Silhouette, m.Silhouette)
	add(&point.SilhouetteCosine, m.SilhouetteCosine)
	add(&point.CalinskiHarabasz, m.CalinskiHarabasz)
	add(&point.DaviesBouldin, m.DaviesBouldin)
	return err
}

func estimateOf(values []float64) estimate {
	var f estimate
	for _, v := range values {
		f.Mean += v / float64(len(values))
	}
	if len(values) > 1 {
		for _, v := range values {
			f.Deviation += (v - f.Mean) * (v - f.Mean) / float64(len(values)-1)
		}
		f.Deviation = math.Sqrt(f.Deviation)
	}
	return f
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
			return nil, usagef("--ks: %.80q is no whole number", text)
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

// variation is a setting and the values it takes.
type variation struct {
	key    string
	values []string
}

// variations reads what --vary names: KEY=A,B, or KEY=A;B where values have commas.
func variations(list []string) ([]variation, error) {
	var known []string
	for _, f := range fieldsOf(clusterStage().settings()) {
		if key := f.key(); key != "k" && key != "out" && key != "tags" && key != "seed" {
			known = append(known, key)
		}
	}
	var out []variation
	for _, text := range list {
		key, values, ok := strings.Cut(text, "=")
		if !ok {
			return nil, usagef("--vary %s: expected key=value,value", text)
		}
		key = strings.ReplaceAll(key, "-", "_")
		if !slices.Contains(known, key) {
			return nil, withCode(exitUsage, fmt.Errorf("--vary %s: %w", text, registry.Unknown("key", key, known)))
		}
		separator := ","
		if strings.Contains(values, ";") {
			separator = ";"
		}
		out = append(out, variation{key, strings.Split(values, separator)})
	}
	return out, nil
}

// combinations lists every choice of one value for each, the last varying fastest.
func combinations(varied []variation) [][]string {
	all := [][]string{nil}
	for _, v := range varied {
		var longer [][]string
		for _, values := range all {
			for _, value := range v.values {
				longer = append(longer, append(values[:len(values):len(values)], value))
			}
		}
		all = longer
	}
	return all
}
