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

// mapIterations is the number of iterations of t-SNE.
const mapIterations = 1000

func clusterShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "print a draft or one of its clusters, or draw the draft as a page", ArgsUsage: "[CLUSTER]",
		Description: "  hgld cluster show                          all clusters, the largest first\n" +
			"  hgld cluster show church                   the cluster named church, members nearest first\n" +
			"  hgld cluster show 12                       the cluster with the id 12\n" +
			"  hgld cluster show --draft other.json --json\n" +
			"  hgld cluster show --report clusters.html   an HTML page: a map of the tags, the clusters and their sizes\n" +
			"  hgld cluster show --report clusters.html --map pca --sweep sweep.json\n" +
			"                                             a faster map, and what `hgld cluster sweep --json` measured",
		Flags: append(commonFlags(), &cli.StringFlag{Name: "draft", Usage: "draft to read (default: the project's)"},
			&cli.StringFlag{Name: "report", Usage: "HTML page to write"},
			&cli.StringFlag{Name: "map", Usage: "with --report: how to place the tags, t-sne or pca",
				Value: pages.Methods[0].Name},
			&cli.StringFlag{Name: "sweep", Usage: "with --report: the output of `hgld cluster sweep --json`"},
			replaceFlag()),
		Action: actionWithArgs(0, 1, "the name or id of one cluster", runClusterShow),
	}
}

// runClusterShow is `hgld cluster show`.
func runClusterShow(c *cli.Context, j *job) error {
	s, err := clusterStage().Load(j.project, nil)
	if err != nil {
		return err
	}
	s.Out = cmp.Or(c.String("draft"), s.Out)
	switch {
	case c.String("report") != "" && len(j.args) > 0:
		return usagef("--report draws the whole draft: leave out the cluster, or --report")
	case c.String("report") != "":
		return reportClusters(c, j, s)
	case c.IsSet("map") || c.IsSet("sweep"):
		return usagef("--map and --sweep are for a page: name it with --report clusters.html")
	}
	d, err := drawnDraft(s.Out)
	if err != nil {
		return err
	}
	if len(j.args) == 0 {
		return j.show(d.Clusters, cluster.TableText(d))
	}
	at, err := cluster.Find(d, j.args[0])
	if err != nil {
		return withHint(withCode(exitUsage, err), "`hgld cluster show` lists them")
	}
	return j.show(d.Clusters[at], cluster.MembersText(d, at))
}

// reportClusters is `hgld cluster show --report`.
func reportClusters(c *cli.Context, j *job, s *clusterSettings) error {
	place, err := pages.Methods.Get("map", c.String("map"))
	if err != nil {
		return withCode(exitUsage, err)
	}
	out, measured := c.String("report"), c.String("sweep")
	p := &pages.Page{Method: c.String("map"), Seed: 1}
	if measured != "" {
		text, err := regular.ReadFile(measured)
		if err != nil {
			return err
		}
		if p.Sweep, err = pages.ReadSweep(text, measured); err != nil {
			return err
		}
	}
	err = j.checkOutputs("cluster show", []string{s.Out, s.Vectors, measured}, pipeline.Output{Path: out, Kind: kindPage})
	if err != nil {
		return err
	}
	var x cluster.Matrix
	if p.Draft, x, err = s.draftAndVectors(j); err != nil {
		return err
	}
	lib, err := blas.Default()
	if err != nil {
		return withCode(exitUsage, err)
	}
	bar := j.progress("map", mapIterations)
	defer bar.End()
	o := cluster.TSNE{Seed: p.Seed, MaxIter: mapIterations, BLAS: lib,
		Watch: func(iteration int) { bar.Set(iteration, "") }}
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

// drawnDraft reads a draft.
func drawnDraft(path string) (*labels.Draft, error) {
	d, err := labels.OpenDraft(path)
	return d, withHint(err, "`hgld cluster run` makes a draft")
}

// draftAndVectors reads the draft and its vectors, and checks that they belong together.
func (s *clusterSettings) draftAndVectors(j *job) (*labels.Draft, cluster.Matrix, error) {
	j.log("reading %s and %s", s.Out, s.Vectors)
	d, err := drawnDraft(s.Out)
	if err != nil {
		return nil, cluster.Matrix{}, err
	}
	x, have, err := cluster.ReadVectors(s.Vectors)
	if err != nil {
		return nil, x, withHint(err, "`hgld cluster run` writes the vectors next to its draft; cluster.vectors in hgld.yaml "+
			"names them")
	}
	return d, x, vectorsHint(cluster.CheckTags(s.Vectors, x.Rows, have.Tags, s.Out, d), "name with HGLD_CLUSTER_VECTORS")
}

// vectorsHint names the vectors that a draft was made from, if other ones were given. how says what to do with them.
func vectorsHint(err error, how string) error {
	var other *cluster.OtherTagsError
	if errors.As(err, &other) {
		return withHint(err, "%s the file that the draft was made from: %s", how, word(other.Made))
	}
	return err
}
