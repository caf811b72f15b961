package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"hgld/labels"
	"hgld/train/device"
	"hgld/train/landmarks"
	"hgld/train/metric"
	"hgld/train/qrels"
	"hgld/train/retrieval"
)

func evalRevisitedCommand() *cli.Command {
	return &cli.Command{
		Name: "revisited", Usage: "Revisited Oxford and Paris: easy, medium and hard",
		Description: "  hgld eval revisited --embeddings q.npy --gallery-embeddings g.npy --truth gnd_roxford5k.pkl\n" +
			"\nThe truth is the published pickle, of which no code is run, or its \"gnd\" as JSON: for\n" +
			"each query, the rows of the gallery that are easy, hard and junk.",
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "embeddings", Usage: "vectors of the queries (.npy, .npz, .safetensors, .parquet, .pt, .pkl)"},
			&cli.StringFlag{Name: "gallery-embeddings", Usage: "vectors of the gallery"},
			&cli.StringFlag{Name: "truth", Usage: "`FILE` with easy, hard and junk rows of each query"},
			&cli.BoolFlag{Name: "unit", Usage: "scale the vectors to length 1 first", Value: true},
			threadsFlag(), deviceFlag(),
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

// revisitedRow holds the means of a protocol in percent, over the queries that have a
// positive in it.
type revisitedRow struct {
	Protocol string           `json:"protocol"`
	MAP      retrieval.Number `json:"mAP"`
	MP1      retrieval.Number `json:"mP@1"`
	MP5      retrieval.Number `json:"mP@5"`
	MP10     retrieval.Number `json:"mP@10"`
	Skipped  int              `json:"skipped"`
}

func runEvalRevisited(c *cli.Context, j *job) error {
	b, err := j.openDevice(c.Int("threads"))
	if err != nil {
		return err
	}
	var e retrieval.Evaluation
	for _, side := range []struct {
		file string
		to   *retrieval.Side
	}{{c.String("embeddings"), &e.Query}, {c.String("gallery-embeddings"), &e.Gallery}} {
		v, err := openVectors(side.file)
		if err != nil {
			return err
		}
		if err := verifyVectors(j.ctx)(side.file); err != nil {
			return errors.Join(err, v.Close())
		}
		defer v.Close() // ranking reads the gallery
		if *side.to, err = revisitedSide(b, v, c.Bool("unit")); err != nil {
			return fmt.Errorf("%s: %w", side.file, err)
		}
	}
	data, err := qrels.ReadRevisited(c.String("truth"))
	if err != nil {
		return withCode(exitUsage, err)
	}
	truth, err := metric.ParseTruths(data, len(e.Query.Labels), len(e.Gallery.Labels))
	if err != nil {
		return withCode(exitUsage, fmt.Errorf("%s: %w", c.String("truth"), err))
	}
	rows, err := j.rankRevisited(b, &e, truth, c.Int("threads"))
	if err != nil {
		return err
	}
	return j.printRevisited(rows)
}

// revisitedSide returns vectors as a side.
func revisitedSide(b device.Backend, v retrieval.Vectors, unit bool) (retrieval.Side, error) {
	rows, _ := v.Rows()
	s, err := retrieval.SideOf(b, v, unit)
	s.Labels = make([]labels.Path, rows)
	return s, err
}

// rankRevisited ranks the gallery of e for its queries.
func (j *job) rankRevisited(b device.Backend, e *retrieval.Evaluation, truth []metric.Truth,
	threads int) (rows []revisitedRow, err error) {
	j.say("ranking %d gallery items for %d queries", len(e.Gallery.Labels), len(truth))
	e.Threads = threads
	thread := device.NewThread(b)
	means, err := landmarks.Rank(j.ctx, b, thread, *e, truth)
	if err := errors.Join(err, thread.Close()); err != nil {
		return nil, err
	}
	for _, m := range means {
		percent := func(v float64) retrieval.Number { return retrieval.Number(100 * v) }
		rows = append(rows, revisitedRow{m.Protocol.String(), percent(m.AP), percent(m.Precision[0]),
			percent(m.Precision[1]), percent(m.Precision[2]), m.Skipped})
	}
	return rows, nil
}

// printRevisited prints the table of the protocols.
func (j *job) printRevisited(rows []revisitedRow) error {
	if j.json {
		return writeJSON(j, rows)
	}
	j.print("%-8s %8s %8s %8s %8s %8s\n", "%", "mAP", "mP@1", "mP@5", "mP@10", "skipped")
	for _, r := range rows {
		j.print("%-8s", r.Protocol)
		for _, v := range []retrieval.Number{r.MAP, r.MP1, r.MP5, r.MP10} {
			j.print(" %8s", v.Decimals(2, "–"))
		}
		j.print(" %8d\n", r.Skipped)
	}
	return nil
}
