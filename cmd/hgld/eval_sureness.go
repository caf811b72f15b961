package main

import "hgld/train/retrieval"

// units maps the settings mean and resample to what is averaged or resampled.
var units = map[string]retrieval.Unit{"query": retrieval.ByQuery, "class": retrieval.ByClass}

// sureness checks the settings of means and intervals. It returns the unit of the means
// and how to compute intervals, nil without intervals.
func (s *evalSettings) sureness() (mean retrieval.Unit, intervals *retrieval.Intervals, err error) {
	for _, of := range []struct{ flag, value string }{{"mean", s.Mean}, {"resample", s.Resample}} {
		if _, known := units[of.value]; !known {
			return "", nil, usagef("%s is %.80q, want query or class", of.flag, of.value)
		}
	}
	if s.Levels != "tree" && s.Levels != "independent" {
		return "", nil, usagef("levels is %.80q, want tree or independent", s.Levels)
	}
	independent, page := s.Levels == "independent", s.Report != "" || s.TREC != "" || s.export != nil
	for _, no := range []struct {
		wrong bool
		says  string
	}{
		{s.Ranking != "" && (s.Embeddings != "" || s.GalleryEmbeddings != "" || s.Gap > 0 || independent || page),
			"--embeddings, --gap, --levels independent, --report and --trec need vectors, which --ranking does not have"},
		{s.Ranking != "" && s.Labels == "", "--ranking needs --labels, with one row per query"},
		{s.Embeddings == "" && s.Ranking == "" && (independent || s.Ignore != "" || s.Qrels != ""),
			"--levels, --ignore and --qrels apply only to vectors from files: name them with --embeddings"},
		{s.Qrels != "" && (independent || s.Ignore != "" || s.Mean == "class" || s.Resample == "class" || page),
			"--levels, --ignore, --mean class, --resample class, --report and --trec need labels, which --qrels replaces"},
		{independent && page, "--report and --trec need levels that form a tree; leave them out with --levels independent"},
		{s.Gap == 1, "gap is 1, want a batch size of 2 or more"},
	} {
		if no.wrong {
			return "", nil, usagef("%s", no.says)
		}
	}
	if s.Mean == "class" {
		mean = retrieval.ByClass
	}
	if s.Intervals {
		intervals = retrieval.NewIntervals(units[s.Resample], s.Seed)
	}
	return mean, intervals, nil
}
