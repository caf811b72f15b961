package main

import (
	"slices"

	"hgld/internal/classes"
	"hgld/train/embeddings"
	"hgld/train/metric"
	"hgld/train/retrieval"
)

// evalMeasureSettings say what is measured and how it is averaged.
type evalMeasureSettings struct {
	Metrics   []string `yaml:"metrics" usage:"metrics: R@k P@k TR@k AP AP#l mAP@R mAP@k MRR Rprec H-AP H-AP:map H-R@k H-P@k ASI NDCG NDCG@k"`
	Ties      string   `yaml:"ties" flag:"-" usage:"rule for items of equal scores, such as row, or average over all orders"`
	PerQuery  bool     `yaml:"per_query" usage:"keep the values of every query"`
	Mean      string   `yaml:"mean" flag:"-" usage:"what a mean is taken over: query, class (first the mean of the queries of each finest class), or all (queries that --ranking lacks count 0 in every metric, as with trec_eval -c)"`
	Intervals bool     `yaml:"intervals" flag:"-" usage:"compute a 95 % bootstrap interval of every figure"`
	Gap       int      `yaml:"gap" flag:"-" range:"0 1e9" usage:"measure the decomposability gap for random batches of this size; 0: do not"`
	Resample  string   `yaml:"resample" flag:"-" usage:"what the bootstrap resamples: query, or class with all its queries"`
	Seed      uint64   `yaml:"seed" flag:"-" usage:"seed of the bootstrap, and of the batches of gap"`
}

// options resolves the settings of what is measured.
func (e *evalRun) options() (o retrieval.Evaluation, err error) {
	s := &e.Measures
	ties, err := metric.TieRules.Get("order of ties", s.Ties)
	if err != nil {
		return o, withCode(exitUsage, err)
	}
	set, err := metric.ParseSet(s.Metrics)
	if err != nil {
		return o, withCode(exitUsage, err)
	}
	for _, of := range []struct{ flag, value string }{{"mean", s.Mean}, {"resample", s.Resample}} {
		if of.flag == "mean" && of.value == allQueries {
			continue
		}
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

// allQueries is the value of mean that counts queries without a ranking.
const allQueries = "all"

// checkCombinations returns an error for settings that exclude each other.
func (e *evalRun) checkCombinations() error {
	f, s := &e.Files, &e.Measures
	if !slices.Contains([]string{"", embeddings.SameImages, embeddings.OtherImages}, f.EqualIDs) {
		return usagef("equal_ids is %.80q, want same or other", f.EqualIDs)
	}
	if _, err := classes.KeepsPartial(f.PartialLabels); err != nil {
		return withCode(exitUsage, err)
	}
	independent, classed := f.independent(), e.Outputs.TREC != "" || e.export != nil
	page := classed || e.Outputs.Report != ""
	for _, no := range []struct {
		wrong bool
		says  string
	}{
		{s.Mean == allQueries && f.Ranking == "", "mean: all counts queries that --ranking lacks: name its rankings"},
		{f.Ranking != "" && (f.Embeddings != "" || f.GalleryEmbeddings != "" || s.Gap > 0 || independent || page),
			"--embeddings, gap, --levels independent, --report, --trec and --export need vectors, which --ranking lacks"},
		{f.Ranking != "" && f.Labels == "", "--ranking needs --labels, with one row per query"},
		{f.Embeddings == "" && f.Ranking == "" && (independent || f.Ignore != "" || f.Qrels != ""),
			"--levels, ignore and --qrels apply only to vectors from files: name them with --embeddings"},
		{f.Qrels != "" && (independent || f.Ignore != "" || s.Mean == "class" || s.Resample == "class" || classed),
			"--levels, ignore, mean: class, resample: class, --trec and --export need labels, which --qrels replaces"},
		{f.parents() != "" && (independent || f.Ignore != "" || f.Qrels != ""),
			"extra_parents cannot be combined with --levels independent, ignore or --qrels"},
		{independent && page, "--report, --trec and --export need levels that form a tree; leave them out, or " +
			"--levels independent"},
		{e.Outputs.Report != "" && e.Outputs.TopK > 1000, "top_k is over 1000, more than a page of --report shows"},
		{s.Gap == 1, "gap is 1, want a batch size of 2 or more"},
	} {
		if no.wrong {
			return usagef("%s", no.says)
		}
	}
	return nil
}
