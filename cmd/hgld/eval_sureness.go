package main

import "hgld/train"

// units names what a bootstrap draws again and what a mean counts once.
var units = map[string]train.Unit{"query": train.ByQuery, "class": train.ByClass}

// sureness reads over what the figures are means, and how their intervals are computed;
// nil without intervals.
func (s *evalSettings) sureness() (mean train.Unit, intervals *train.Intervals, err error) {
	for _, of := range []struct{ flag, value string }{{"mean", s.Mean}, {"resample", s.Resample}} {
		if _, known := units[of.value]; !known {
			return "", nil, usagef("%s is %.80q, want query or class", of.flag, of.value)
		}
	}
	if s.Levels != "tree" && s.Levels != "independent" {
		return "", nil, usagef("levels is %.80q, want tree or independent", s.Levels)
	}
	if s.Levels == "independent" && (s.Report != "" || s.TREC != "") {
		return "", nil, usagef("--report and --trec need levels that are a tree; leave them out with --levels independent")
	}
	if s.Ranking != "" {
		for _, of := range []struct {
			flag string
			set  bool
		}{{"embeddings", s.Embeddings != ""}, {"gallery-embeddings", s.GalleryEmbeddings != ""}, {"gap", s.Gap > 0},
			{"levels independent", s.Levels == "independent"}, {"report", s.Report != ""}, {"trec", s.TREC != ""}} {
			if of.set {
				return "", nil, usagef("--%s needs vectors, and --ranking has none", of.flag)
			}
		}
		if s.Labels == "" {
			return "", nil, usagef("--ranking needs --labels, a row for each query")
		}
	}
	if s.Embeddings == "" && s.Ranking == "" && (s.Levels != "tree" || s.Ignore != "" || s.Qrels != "") {
		return "", nil, usagef("--levels, --ignore and --qrels are of vectors from files, by --embeddings")
	}
	if s.Qrels != "" {
		for _, of := range []struct {
			flag string
			set  bool
		}{{"levels independent", s.Levels == "independent"}, {"ignore", s.Ignore != ""}, {"mean class", s.Mean == "class"},
			{"resample class", s.Resample == "class"}, {"report", s.Report != ""}, {"trec", s.TREC != ""}} {
			if of.set {
				return "", nil, usagef("--%s needs labels, which --qrels replaces", of.flag)
			}
		}
	}
	if s.Gap == 1 {
		return "", nil, usagef("gap is 1, want a batch size of 2 or more")
	}
	if s.Mean == "class" {
		mean = train.ByClass
	}
	if s.Intervals {
		intervals = train.NewIntervals(units[s.Resample], s.Seed)
	}
	return mean, intervals, nil
}
