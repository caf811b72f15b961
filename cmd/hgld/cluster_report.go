package main

import (
	"cmp"
	"errors"

	"github.com/urfave/cli/v2"

	"hgld/cluster"
	pages "hgld/cluster/report"
	"hgld/internal/atomicfile"
	"hgld/internal/blas"
	"hgld/internal/pipeline"
	"hgld/internal/regular"
	"hgld/labels"
)

func clusterReportCommand() *cli.Command {
	return &cli.Command{
		Name: "report", Usage: "draw a draft as one HTML page: a map of the tags, the clusters and their sizes",
		Description: "  hgld cluster report                              clusters.html, with a map by t-SNE\n" +
			"  hgld cluster report --map pca                    faster: the first two principal components\n" +
			"  hgld cluster report --sweep sweep.json           with the measures that `hgld cluster sweep --json` printed",
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "draft", Usage: "draft to draw (default: the project's)"},
			&cli.StringFlag{Name: "vectors", Usage: "vectors of its tags (default: the project's)"},
			&cli.StringFlag{Name: "out", Usage: "page to write", Value: "clusters.html"},
			&cli.StringFlag{Name: "map", Usage: "how to place the tags: t-sne or pca", Value: pages.Methods[0].Name},
			&cli.Uint64Flag{Name: "seed", Usage: "seed of the map", Value: 1},
			&cli.Float64Flag{Name: "perplexity", Usage: "effective number of neighbours in t-SNE (default: 30, or fewer for " +
				"few tags)"},
			&cli.IntFlag{Name: "iterations", Usage: "iterations of t-SNE", Value: 1000},
			&cli.StringFlag{Name: "sweep", Usage: "what `hgld cluster sweep --json` printed"},
			replaceFlag(),
		),
		Action: action(runClusterReport),
	}
}

func runClusterReport(c *cli.Context, j *job) error {
	place, err := pages.Methods.Get("map", c.String("map"))
	if err != nil {
		return withCode(exitUsage, err)
	}
	p := &pages.Page{Method: c.String("map"), Seed: c.Uint64("seed")}
	if path := c.String("sweep"); path != "" {
		text, err := regular.ReadFile(path)
		if err != nil {
			return err
		}
		if p.Sweep, err = pages.ReadSweep(text, path); err != nil {
			return err
		}
	}
	out := c.String("out")
	draft, vectors, err := drawnFiles(c, j)
	if err != nil {
		return err
	}
	err = j.checkOutputs("cluster report", []string{draft, vectors, c.String("sweep")},
		pipeline.Output{Path: out, Kind: kindPage})
	if err != nil {
		return err
	}
	var x cluster.Matrix
	if p.Draft, x, err = draftAndVectors(c, j); err != nil {
		return err
	}
	lib, err := blas.Default()
	if err != nil {
		return withCode(exitUsage, err)
	}
	o := pages.PlaceOptions{Seed: p.Seed, Perplexity: c.Float64("perplexity"), Iterations: c.Int("iterations"), BLAS: lib}
	bar := j.progress("map", o.Iterations)
	defer bar.End()
	o.Watch = func(iteration int) { bar.Set(iteration, "") }
	if p.Positions, err = place(j.ctx, x, o); err != nil {
		return err
	}
	if k := pages.TrustNeighbours; 2*k < x.Rows {
		trust, err := cluster.Trustworthiness(x, p.Positions, k, lib)
		if err != nil {
			return err
		}
		p.Trust = &trust
	}
	if err := atomicfile.Write(out, p.Write); err != nil {
		return err
	}
	if j.json {
		return writeJSON(j, map[string]any{"page": out, "tags": len(p.Draft.Tags), "clusters": len(p.Draft.Clusters),
			"map": p.Method, "trustworthiness": p.Trust})
	}
	j.print("%s written: %s in %s\n", out, count(len(p.Draft.Tags), "tag"), count(len(p.Draft.Clusters), "cluster"))
	return nil
}

// drawnFiles returns the draft and the vectors that the command line or the project names.
func drawnFiles(c *cli.Context, j *job) (draft, vectors string, err error) {
	s, err := clusterStage().Load(j.project, nil)
	if err != nil {
		return "", "", err
	}
	return cmp.Or(c.String("draft"), s.Out), cmp.Or(c.String("vectors"), s.Vectors), nil
}

// draftAndVectors reads a draft and its vectors, and checks that they belong together.
func draftAndVectors(c *cli.Context, j *job) (*labels.Draft, cluster.Matrix, error) {
	draft, vectors, err := drawnFiles(c, j)
	if err != nil {
		return nil, cluster.Matrix{}, err
	}
	j.say("reading %s and %s", draft, vectors)
	d, err := labels.OpenDraft(draft)
	if err != nil {
		return nil, cluster.Matrix{}, withHint(err, "`hgld cluster run` makes a draft")
	}
	x, have, err := cluster.ReadVectors(vectors)
	if err != nil {
		return nil, x, withHint(err, "`hgld cluster run` writes the vectors next to its draft; name others with --vectors")
	}
	return d, x, vectorsHint(cluster.CheckTags(vectors, x.Rows, have.Tags, draft, d))
}

// vectorsHint names the vectors that a draft was made from, if other ones were given.
func vectorsHint(err error) error {
	var other *cluster.OtherTagsError
	if errors.As(err, &other) {
		return withHint(err, "name the file that the draft was made from with --vectors: %s", word(other.Made))
	}
	return err
}
