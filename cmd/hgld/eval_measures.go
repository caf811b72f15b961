package main

import (
	"slices"

	"hgld/shards/dataset"
	"hgld/train/embeddings"
	"hgld/train/metric"
	"hgld/train/retrieval"
)

// evalMeasureSettings say what is measured and how it is averaged.
type evalMeasureSettings struct {
	Metrics   []string `yaml:"metrics" usage:"metrics: R@k P@k TR@k AP AP#l mAP@R mAP@k MRR Rprec H-AP H-AP:map H-R@k H-P@k ASI NDCG NDCG@k"`
	Ties      string   `yaml:"ties" usage:"order of equal scores: row, or average over all orders"`
	PerQuery  bool     `yaml:"per_query" usage:"keep the values of every query"`
	Mean      string   `yaml:"mean" usage:"what a mean is taken over: query, or class (first the mean of the queries of each finest class)"`
	Intervals bool     `yaml:"intervals" usage:"compute a 95 % bootstrap interval of every figure"`
	Gap       int      `yaml:"gap" range:"0 1e9" usage:"measure the decomposability gap for random batches of this size; 0: do not"`
	Resample  string   `yaml:"resample" usage:"what the bootstrap resamples: query, or class with all its queries"`
	Seed      uint64   `yaml:"seed" usage:"seed of the bootstrap, and of the batches of gap"`
}

// options resolves the settings of what is measured.
func (e *evaluation) options() (o retrieval.Evaluation, err error) {
	s := &e.Measures
	ties, err := retrieval.TieRules.Get("order of ties", s.Ties)
	if err != nil {
		return o, withCode(exitUsage, err)
	}
	set, err := metric.ParseSet(s.Metrics)
	if err != nil {
		return o, withCode(exitUsage, err)
	}
	for _, of := range []struct{ flag, value string }{{"mean", s.Mean}, {"resample", s.Resample}} {
		if _, err := retrieval.Units.Get(of.flag, of.value); err != nil {
			return o, usagef("%s is %.80q, want query or class", of.flag, of.value)
		}
	}
	if err := e.checkCombinations(); err != nil {
		return o, err
	}
	o = retrieval.Evaluation{Metrics: set, Ties: ties, Gap: s.Gap, GapSeed: s.Seed,
		PerQuery: s.PerQuery || e.Outputs.Report != ""} // the report shows single queries
	if s.Mean == "class" {
		o.Mean = retrieval.ByClass
	}
	if s.Intervals {
		o.Intervals = retrieval.NewIntervals(retrieval.Unit(s.Resample), s.Seed)
	}
	return o, nil
}

// checkCombinations returns an error for settings that exclude each other.
func (e *evaluation) checkCombinations() error {
	f, s := &e.Files, &e.Measures
	if !slices.Contains([]string{"", embeddings.SameImages, embeddings.OtherImages}, f.EqualIDs) {
		return usagef("equal_ids is %.80q, want same or other", f.EqualIDs)
	}
	if !slices.Contains([]string{dataset.RefuseUneven, dataset.KeepUneven}, f.Uneven) {
		return usagef("uneven is %.80q, want refuse or keep", f.Uneven)
	}
	independent, page := f.independent(), e.Outputs.Report != "" || e.Outputs.TREC != "" || e.export != nil
	for _, no := range []struct {
		wrong bool
		says  string
	}{
		{f.Ranking != "" && (f.Embeddings != "" || f.GalleryEmbeddings != "" || s.Gap > 0 || independent || page),
			"--embeddings, --gap, --levels independent, --report and --trec need vectors, which --ranking does not have"},
		{f.Ranking != "" && f.Labels == "", "--ranking needs --labels, with one row per query"},
		{f.Embeddings == "" && f.Ranking == "" && (independent || f.Ignore != "" || f.Qrels != ""),
			"--levels, --ignore and --qrels apply only to vectors from files: name them with --embeddings"},
		{f.Qrels != "" && (independent || f.Ignore != "" || s.Mean == "class" || s.Resample == "class" || page),
			"--levels, --ignore, --mean class, --resample class, --report and --trec need labels, which --qrels replaces"},
		{f.Also != "" && (independent || f.Ignore != "" || f.Qrels != "" || f.Tree),
			"--also cannot be combined with --levels independent, --ignore, --qrels or --tree"},
		{independent && page, "--report and --trec need levels that form a tree; leave them out with --levels independent"},
		{s.Gap == 1, "gap is 1, want a batch size of 2 or more"},
	} {
		if no.wrong {
			return usagef("%s", no.says)
		}
	}
	return nil
}
