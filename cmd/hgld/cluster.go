package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/cluster"
	pages "hgld/cluster/report"
	"hgld/internal/atomicfile"
	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/internal/regular"
	"hgld/labels"
	"hgld/shards/provenance"
)

// clusterSettings are the settings of the stage cluster.
type clusterSettings struct {
	Tags    string `yaml:"tags" flag:"-" path:"in" usage:"tags.jsonl of stage 1"`
	Vectors string `yaml:"vectors" flag:"-" path:"out" usage:"vectors of the tags; computed if missing"`
	Out     string `yaml:"out" path:"out" kind:"a draft" usage:"draft to write"`
	K       int    `yaml:"k" range:"1 1e6" usage:"number of clusters"`
	Seed    uint64 `yaml:"seed" usage:"seed of the random starts"`
	NInit   int    `yaml:"n_init" range:"1 1e5" usage:"number of starts; the best result is kept"`
	MaxIter int    `yaml:"max_iter" flag:"-" range:"1 1e6" usage:"maximum number of iterations per start"`

	Algorithm  string   `yaml:"algorithm" usage:"lloyd, elkan, spherical, mini-batch, ward, average or taxonomy (by Wikidata's classes)"`
	Init       string   `yaml:"init" usage:"first centroids of k-means: ward (the means of Ward's clusters, not random), greedy-k-means++, k-means++, random or taxonomy"`
	Center     bool     `yaml:"center" usage:"subtract the mean of the vectors first"`
	PCA        int      `yaml:"pca" range:"0 65536" usage:"keep this many principal components; 0: all"`
	Whiten     bool     `yaml:"whiten" usage:"divide each principal component by its standard deviation"`
	Join       string   `yaml:"join" usage:"head: join each vector with the mean vector of the tags that have the same last word; or none"`
	Smooth     int      `yaml:"smooth" range:"0 1e6" usage:"average each vector with this many neighbours, at most half the mean size of a cluster; 0: none"`
	KeepGroups string   `yaml:"keep_groups" path:"in" usage:"hierarchy.json of an earlier curation: its tags keep their groups, new ones join or open clusters"`
	Groups     string   `yaml:"groups" path:"in" usage:"list of group names: tags clearly nearest to one name join its group, the others form open clusters"`
	MinMargin  float64  `yaml:"min_margin" range:"0 2" usage:"with groups: minimum lead of the nearest name over the second nearest, in cosine similarity"`
	Counts     []string `yaml:"counts" path:"in" usage:"image lists of GLDv2 (train.csv, …), to count the images of each tag"`
	Weigh      string   `yaml:"weigh" usage:"weight of a tag in k-means: tags (1 each), landmarks or images"`

	items string // items.jsonl of stage 1, for the taxonomy
	keep  bool   // the existing draft was curated and is not overwritten
}

func clusterStage() pipeline.StageOf[clusterSettings] {
	return pipeline.New(pipeline.Spec[clusterSettings]{
		Name: "cluster", Command: "cluster run",
		Defaults: clusterSettings{Tags: "tags.jsonl", Vectors: cluster.VectorsFile, Out: "draft.json", K: 150, Seed: 1,
			NInit: 10, MaxIter: 300, Algorithm: "elkan", Init: "ward", Join: "none", Smooth: 10, MinMargin: 0.05,
			Weigh: "tags"},
		Complete: func(p *pipeline.Project, s *clusterSettings) error {
			scraped, err := scrapeStage().Load(p, nil)
			s.items = scraped.Items
			return err
		},
		Files: func(s *clusterSettings) (in, out []string) {
			in = append([]string{s.Tags}, s.Counts...)
			for _, path := range []string{s.KeepGroups, s.Groups, s.usedItems()} {
				if path != "" {
					in = append(in, path)
				}
			}
			return in, []string{s.Out, s.Vectors}
		},
		Run:     onJob(runCluster),
		Check:   (*clusterSettings).check,
		Rereads: func(s *clusterSettings) []string { return []string{s.Vectors} }, // computed if missing
		Doubt: func(p *pipeline.Project, s *clusterSettings, before []pipeline.State) (string, error) {
			return s.otherVectors(p, before)
		},
		Note: func(p *pipeline.Project, s *clusterSettings, st pipeline.State) (string, error) {
			return s.curatedNote(p, st.State == pipeline.Stale)
		},
	})
}

// check finds unknown names and contradictions in the settings.
func (s *clusterSettings) check() error {
	if !slices.Contains(cluster.Weights, s.Weigh) {
		return registry.Unknown("weight", s.Weigh, cluster.Weights)
	}
	return s.options().Check()
}

func clusterCommand() *cli.Command {
	return group("cluster", "stage 2: tags -> draft supercategories",
		"  hgld cluster run                  150 clusters: draft.json from the vectors of hgld embed\n"+
			"  hgld cluster run --k 200          more clusters: fewer tags to move, more clusters to accept\n"+
			"  hgld cluster sweep --ks 50,100    measures of drafts with 50 and with 100 clusters\n"+
			"  hgld cluster show church          the cluster named church\n"+
			"  hgld cluster show --report clusters.html\n"+
			"                                    the draft as a page, with a map of the tags",
		withDeviceFlag(clusterRunCommand()), clusterSweepCommand(), clusterShowCommand(),
	)
}

func clusterRunCommand() *cli.Command {
	return stageCommand(clusterStage().Stage, "run", "cluster the tags into a draft",
		"  hgld cluster run --k 150                        150 clusters of the existing vectors\n"+
			"  hgld cluster run --init greedy-k-means++ --n-init 20\n"+
			"                                                  the best of 20 random starts\n"+
			"  hgld cluster run --algorithm spherical          by cosine\n"+
			"  hgld cluster run --algorithm ward               agglomerative, without random starts\n"+
			"  hgld cluster run --algorithm taxonomy           groups of Wikidata's classes, from items.jsonl\n"+
			"  hgld cluster run --keep-groups hierarchy.json --k 90\n"+
			"                                                  tags with a group keep it; 90 clusters in all\n"+
			"  hgld cluster run --groups names.txt --k 150     groups with these names, open clusters for the rest\n"+
			"  hgld cluster run --limit 300 --k 20             a trial on the 300 most used tags\n"+
			"  hgld cluster run --k 200 --replace              overwrite a curated draft; without it the new one\n"+
			"                                                  is written as draft.new.json")
}

// runCluster is `hgld cluster run`. It keeps a curated draft and writes the new one
// next to it.
func runCluster(j *job, s *clusterSettings) error {
	curated, err := logsOfDraft(j.project, s.Out)
	if err != nil {
		return err
	}
	s.keep = len(curated) > 0 && !j.replace
	draft, r, err := makeDraft(j, s)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := labels.WriteDraft(&text, draft); err != nil {
		return err
	}
	kept := s.Out
	if s.keep {
		was, err := regular.ReadFile(s.Out)
		if err != nil {
			return err
		}
		s.keep = !bytes.Equal(was, text.Bytes())
	}
	if s.keep {
		s.Out = newFileName(s.Out)
		err := j.project.CheckOutputs(pipeline.Writing{Command: "cluster run", Stage: "cluster",
			Out: []pipeline.Output{{Path: s.Out, Kind: kindDraft}}})
		if err != nil {
			return err
		}
		if others, err := logsOfDraft(j.project, s.Out); err != nil || len(others) > 0 {
			return errors.Join(err, bothCuratedError(kept, s.Out, append(curated, others...)))
		}
	}
	if err := atomicfile.WriteFile(s.Out, text.Bytes()); err != nil {
		return err
	}
	if err := reportDraft(j, s, draft, r); err != nil || !s.keep {
		return err
	}
	return keptDraftError(kept, s.Out, curated)
}

// makeDraft makes the draft that the settings describe.
func makeDraft(j *job, s *clusterSettings) (*labels.Draft, *cluster.Result, error) {
	input, err := sha256File(s.Tags)
	if err != nil {
		return nil, nil, err
	}
	p, made, err := planCluster(j, s, s.K, true)
	if err != nil {
		return nil, nil, err
	}
	watch, end := clusterProgress(j, "clustering", s.NInit)
	defer end()
	r, err := p.Run(j.ctx, s.K, s.Seed, watch)
	if err != nil {
		return nil, nil, err
	}
	sum, err := sha256File(s.Vectors)
	if err != nil {
		return nil, nil, err
	}
	origin := labels.Origin{
		Tool: "hgld " + version, Encoder: made.Encoder, Weights: provenance.Weights(made.Encoder),
		Prompt: string(made.Prompt), Seed: s.Seed,
		Input: filepath.Base(s.Tags), InputSHA256: input, Vectors: filepath.Base(s.Vectors), VectorsSHA256: sum,
	}
	if s.Weigh != "tags" {
		origin.WeightedBy = s.Weigh
	}
	if s.KeepGroups != "" {
		origin.Given = filepath.Base(s.KeepGroups)
		if origin.GivenSHA256, err = sha256File(s.KeepGroups); err != nil {
			return nil, nil, err
		}
	}
	if s.Groups != "" {
		origin.Groups = filepath.Base(s.Groups)
		if origin.GroupsSHA256, err = sha256File(s.Groups); err != nil {
			return nil, nil, err
		}
	}
	if path := s.usedItems(); path != "" {
		origin.Items, origin.Chained = filepath.Base(path), p.Chained()
		if origin.ItemsSHA256, err = sha256File(path); err != nil {
			return nil, nil, err
		}
	}
	draft, err := p.Draft(r, origin)
	return draft, r, err
}

// tagVectors returns the vectors of the tags. It reads the existing file if that file was made for these tags.
// Otherwise it computes the vectors with the settings of the stage embed, and writes them if keep is set.
func tagVectors(j *job, s *clusterSettings, tags []labels.DraftTag, keep bool) (cluster.Matrix, cluster.VectorsOrigin,
	error) {
	want := cluster.VectorsOrigin{Tags: cluster.Fingerprint(tags)}
	x, have, err := cluster.ReadVectors(s.Vectors)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return x, want, withHint(err, "remove the file, or name another with -o vectors=FILE")
	}
	exists := err == nil
	if exists && have.Suits(want) && x.Rows == len(tags) {
		j.log("%s has the vectors of these tags: %s of %q", s.Vectors, have.Encoder, string(have.Prompt))
		return x, have, nil
	}
	e, err := embedStage().Load(j.project, nil)
	if err != nil {
		return x, want, err
	}
	if e.Prompt == "" && strings.Contains(string(have.Prompt), "{}") {
		e.Prompt = string(have.Prompt)
	}
	encoder, err := openEncoder(e, j.openDevice)
	if err != nil {
		return x, want, err
	}
	if want.Encoder = encoder.Name(); exists && have.Encoder != want.Encoder {
		return x, want, withHint(fmt.Errorf("%s has vectors of other tags or of another prompt, made by %s",
			s.Vectors, have.Encoder), "`hgld embed` makes the file again, with the encoder %s", e.Encoder)
	}
	if want.Prompt, err = e.prompt(); err != nil {
		return x, want, err
	}
	if encoder, err = withCache(j, encoder, e.Cache); err != nil {
		return x, want, err
	}
	adviseEncoder(j, e)
	if !keep {
		x, err = cluster.Embed(j.ctx, encoder, want.Prompt, cluster.Names(tags))
		return x, want, err
	}
	if s.keep && exists { // the existing vectors belong to the draft that is kept
		s.Vectors = newFileName(s.Vectors)
	}
	x, err = encodeTags(j, encoder, want.Prompt, tags, s.Vectors)
	return x, want, err
}

// reportDraft prints what was written.
func reportDraft(j *job, s *clusterSettings, d *labels.Draft, r *cluster.Result) error {
	outliers := 0
	for _, c := range d.Clusters {
		for _, m := range c.Members {
			if m.Outlier {
				outliers++
			}
		}
	}
	if j.json {
		return writeJSON(j, map[string]any{"draft": s.Out, "tags": len(d.Tags), "clusters": len(d.Clusters),
			"outliers": outliers,
			"inertia":  r.Inertia, "iterations": r.Iterations, "start": r.Restart, "inertia_of_starts": r.Restarts,
			"history": r.History})
	}
	j.print("%s written: %s in %s, %s\n", s.Out, count(len(d.Tags), "tag"), count(len(d.Clusters), "cluster"),
		count(outliers, "outlier"))
	if len(r.Restarts) > 0 {
		j.print("inertia %.6g after %s, start %d of %d\n", r.Inertia, count(r.Iterations, "iteration"), r.Restart+1,
			len(r.Restarts))
	} else {
		j.print("inertia %.6g by %s\n", r.Inertia, r.Algorithm)
	}
	if d.Origin.Chained > 0 {
		others := ""
		if d.Origin.Chained < len(d.Tags) {
			others = "; the others are placed by their vectors"
		}
		j.print("%d of %s have a chain of classes%s\n", d.Origin.Chained, count(len(d.Tags), "tag"), others)
	}
	n := len(r.Sizes) - len(d.Clusters)
	if n > 0 && s.Groups != "" {
		j.log("%s: %s without a tag; `hgld curate import %s` declares them too", s.Groups, count(n, "group"), word(s.Groups))
	} else if n > 0 {
		j.log("%s stayed empty: there are fewer than k different tags", count(n, "cluster"))
	}
	return nil
}

// clusterAdvice has the exit codes and next steps for errors of clustering.
var clusterAdvice = []advice{
	sentinel(cluster.ErrNoImages, exitUsage, "name lists of images with --counts train.csv"),
	kind(exitOK, func(*pages.SweepError) string { return "want the output of `hgld cluster sweep --json`" }),
}
