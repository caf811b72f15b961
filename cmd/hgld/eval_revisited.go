package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"hgld/labels"
	"hgld/train"
	"hgld/train/metric"
)

func evalRevisitedCommand() *cli.Command {
	return &cli.Command{
		Name: "revisited", Usage: "Revisited Oxford and Paris: easy, medium and hard",
		Description: "  hgld eval revisited --embeddings q.npy --gallery-embeddings g.npy --truth gnd_roxford5k.json\n" +
			"\nThe truth is \"gnd\" of gnd_roxford5k.pkl as JSON: for each query, the rows of the\n" +
			"gallery that are easy, hard and junk.",
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "embeddings", Usage: "vectors of the queries (.npy, .safetensors, .parquet)"},
			&cli.StringFlag{Name: "gallery-embeddings", Usage: "vectors of the gallery"},
			&cli.StringFlag{Name: "truth", Usage: "`FILE` with easy, hard and junk rows of each query"},
			&cli.BoolFlag{Name: "unit", Usage: "scale the vectors to length 1 first", Value: true},
			&cli.IntFlag{Name: "threads", Usage: "0: all processors"}, deviceFlag(),
		),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			for _, name := range []string{"embeddings", "gallery-embeddings", "truth"} {
				if c.String(name) == "" {
					return withHint(usagef("eval revisited needs --%s", name), "hgld eval revisited --help has an example")
				}
			}
			return errors.Join(runEvalRevisited(c, j), j.Close())
		},
	}
}

// revisitedRow is a protocol's means in percent, over the queries that have a
// positive there.
type revisitedRow struct {
	Protocol string       `json:"protocol"`
	MAP      train.Number `json:"mAP"`
	MP1      train.Number `json:"mP@1"`
	MP5      train.Number `json:"mP@5"`
	MP10     train.Number `json:"mP@10"`
	Skipped  int          `json:"skipped"`
}

var revisitedProtocols = []struct {
	name     string
	protocol metric.Protocol
}{{"easy", metric.EasyOnly}, {"medium", metric.Medium}, {"hard", metric.HardOnly}}

func runEvalRevisited(c *cli.Context, j *job) error {
	b, err := j.openDevice(c.Int("threads"))
	if err != nil {
		return err
	}
	var e train.Evaluation
	for _, side := range []struct {
		file string
		to   *train.Side
		of   labels.Path
	}{{c.String("embeddings"), &e.Query, labels.Path{0}}, {c.String("gallery-embeddings"), &e.Gallery, labels.Path{-1}}} {
		v, err := openVectors(side.file)
		if err != nil {
			return err
		}
		rows, _ := v.Rows()
		side.to.Labels = slices.Repeat([]labels.Path{side.of}, rows)
		side.to.Vectors, err = train.Upload(b, v, c.Bool("unit"))
		if err := errors.Join(err, v.Close()); err != nil {
			return fmt.Errorf("%s: %w", side.file, err)
		}
	}
	gallery := len(e.Gallery.Labels)
	truth, err := readRevisited(c.String("truth"), len(e.Query.Labels), gallery)
	if err != nil {
		return withCode(exitUsage, err)
	}
	j.say("ranking %d gallery items for %d queries", gallery, len(truth))
	values := make([][4][]float64, len(revisitedProtocols))
	e.Levels, e.Threads = []string{"query"}, c.Int("threads")
	e.Look = &train.Look{Places: gallery, Ranking: func(q int, rows []int32, _ []float32) error {
		for i, p := range revisitedProtocols {
			at := p.protocol.Positions(rows, truth[q])
			ap, ok := metric.TrapezoidAP(at)
			if !ok {
				continue
			}
			values[i][0] = append(values[i][0], ap)
			for k, cut := range []int{1, 5, 10} {
				share, _ := metric.PrecisionWithin(at, cut)
				values[i][k+1] = append(values[i][k+1], share)
			}
		}
		return nil
	}}
	if _, err := train.Evaluate(j.ctx, b, &e); err != nil {
		return err
	}
	var rows []revisitedRow
	for i, p := range revisitedProtocols {
		var mean [4]train.Number
		for k, list := range values[i] {
			m, _ := metric.Mean(list)
			mean[k] = train.Number(100 * m)
		}
		rows = append(rows, revisitedRow{p.name, mean[0], mean[1], mean[2], mean[3], len(truth) - len(values[i][0])})
	}
	if j.json {
		return writeJSON(j, rows)
	}
	j.print("%-8s %8s %8s %8s %8s %8s\n", "%", "mAP", "mP@1", "mP@5", "mP@10", "skipped")
	for _, r := range rows {
		j.print("%-8s", r.Protocol)
		for _, v := range []train.Number{r.MAP, r.MP1, r.MP5, r.MP10} {
			j.print(" %8s", decimals(v, 2, "–"))
		}
		j.print(" %8d\n", r.Skipped)
	}
	return nil
}

// readRevisited reads a list of truths, or an object whose "gnd" it is, and checks
// its rows.
func readRevisited(path string, queries, gallery int) ([]metric.Truth, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []metric.Truth
	if err := json.Unmarshal(data, &list); err != nil {
		var file struct {
			GND []metric.Truth `json:"gnd"`
		}
		if err := json.Unmarshal(data, &file); err != nil || file.GND == nil {
			return nil, fmt.Errorf(`%s: want [{"easy": [3], "hard": [], "junk": [5]}, …], or that as "gnd" (%v)`, path, err)
		}
		list = file.GND
	}
	if len(list) != queries {
		return nil, fmt.Errorf("%s has the truth of %d queries, and there are %d vectors", path, len(list), queries)
	}
	for q, t := range list {
		kind := map[int32]string{}
		for _, rows := range []struct {
			name string
			list []int32
		}{{"easy", t.Easy}, {"hard", t.Hard}, {"junk", t.Junk}} {
			for _, r := range rows.list {
				if r < 0 || int(r) >= gallery {
					return nil, fmt.Errorf("%s: query %d has %s row %d; want 0 to %d", path, q, rows.name, r, gallery-1)
				}
				if kind[r] != "" {
					return nil, fmt.Errorf("%s: query %d has row %d as %s and as %s", path, q, r, kind[r], rows.name)
				}
				kind[r] = rows.name
			}
		}
	}
	return list, nil
}
