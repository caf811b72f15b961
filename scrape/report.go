package scrape

import (
	"slices"

	"hgld/labels"
)

// Report counts what a finished crawl has found.
type Report struct {
	Tool        string        `json:"tool"`         // name and version of the program
	Source      string        `json:"source"`       // Source.Name
	Input       string        `json:"input"`        // Input.Name
	InputSHA256 string        `json:"input_sha256"` // Input.SHA256
	Policy      string        `json:"policy"`       // Output.Policy
	Titles      int           `json:"titles"`       // distinct categories
	Tags        int           `json:"tags"`         // distinct tags
	Splits      []SplitReport `json:"splits"`       // in the order of the input

	Several  int           `json:"several_values"` // landmarks with more than one distinct value
	Policies []PolicyCount `json:"policies"`       // how many of them each policy would drop

	Items        int `json:"items,omitempty"`         // classes and places in items.jsonl
	ItemsUnasked int `json:"items_unasked,omitempty"` // items that are linked to and were not fetched

	// Failed lists the landmarks whose category could not be fetched or read.
	Failed []Failure `json:"failed"`

	// Stale lists the titles that could not be fetched again. They are reported with their
	// earlier finding. report.json does not contain the list.
	Stale []string `json:"stale,omitempty"`

	// Changes is the number of lines in Output.Changes. report.json does not contain it.
	Changes int `json:"changes,omitempty"`

	tags map[string]bool
}

// SplitReport counts the landmarks of one split.
type SplitReport struct {
	Split     labels.Split           `json:"split"`     // whose landmarks are counted
	Landmarks int                    `json:"landmarks"` // of the input
	Tagged    int                    `json:"tagged"`    // landmarks with a tag
	Coverage  float64                `json:"coverage"`  // Tagged / Landmarks
	Outcomes  map[labels.Outcome]int `json:"outcomes"`  // landmarks by outcome

	PaperCounts
}

// PaperCounts are the paper's counts for a split, 0 where it reports none.
type PaperCounts struct {
	PaperLandmarks int `json:"paper_landmarks,omitempty"` // all landmarks
	PaperTagged    int `json:"paper_tagged,omitempty"`    // those with a tag, before its cleaning
	PaperSelected  int `json:"paper_selected,omitempty"`  // those with a tag, after its cleaning
}

// cleaned lists the outcomes of the landmarks that the paper's cleaning removed: "landmarks assigned
// to more than one supercategory and those with irrelevant supercategories".
var cleaned = []labels.Outcome{labels.Several, labels.CategoryItem, labels.Disambiguation}

// Removed counts the landmarks that have a value but were cleaned away.
func (s *SplitReport) Removed() (n int) {
	for _, o := range cleaned {
		n += s.Outcomes[o]
	}
	return n
}

// comparable reports whether the split has the landmarks of the paper's.
func (s *SplitReport) comparable() bool {
	return s.PaperTagged > 0 && s.Landmarks == s.PaperLandmarks
}

// PolicyCount counts the landmarks that have a usable value and would get no tag under a
// policy.
type PolicyCount struct {
	Policy  string `json:"policy"`  // a name from Policies
	Dropped int    `json:"dropped"` // landmarks
}

// Failure is a landmark whose outcome is error_retryable, error_final or
// malformed.
type Failure struct {
	Landmark labels.LandmarkID `json:"landmark_id"` // within Split
	Split    labels.Split      `json:"split"`       // of the landmark
	Category string            `json:"category"`    // URL as in the input
	Outcome  labels.Outcome    `json:"outcome"`     // one of the three
	Error    string            `json:"error"`       // why it failed
}

// paperTags is the paper's number of distinct tags of train and index: "5.7k".
const paperTags = 5_700

// paper has the paper's counts: "Out of the original 203k landmarks in GLDv2-train, we were able to
// scrape supercategories for 129.1k. For the 101k landmarks in GLDv2-index […] 68.1k […] selected
// landmarks of 128.8k and 67.9k" (Optimization of Rank Losses for Image Retrieval, section VI-A). The
// pages have changed since, so a scrape finds more today.
var paper = map[labels.Split]PaperCounts{
	labels.Train: {203_094, 129_100, 128_800},
	labels.Index: {101_297, 68_100, 67_900},
}

func newReport(cfg Config, f *frontier) *Report {
	r := &Report{Tool: cfg.Out.Tool, Source: cfg.Source.Name(), Input: cfg.Input.Name, InputSHA256: cfg.Input.SHA256,
		Policy: cfg.Out.Policy, Titles: len(f.titles), Failed: []Failure{}, tags: map[string]bool{}}
	for _, p := range Policies {
		r.Policies = append(r.Policies, PolicyCount{Policy: p.Name})
	}
	return r
}

// countPolicies tries every policy on a record whose tag is not chosen yet.
func (r *Report) countPolicies(rec labels.Record) {
	values := different(rec.Values)
	if rec.Outcome != labels.OK || len(values) == 0 {
		return
	}
	if len(values) > 1 {
		r.Several++
	}
	for i, p := range Policies {
		with := rec
		choose(&with, p.Value, false)
		if with.Tag == "" {
			r.Policies[i].Dropped++
		}
	}
}

// count adds a finished record.
func (r *Report) count(rec labels.Record) {
	s := r.split(rec.Split)
	s.Landmarks++
	s.Outcomes[rec.Outcome]++
	switch rec.Outcome {
	case labels.OK:
		s.Tagged++
		r.tags[rec.Tag] = true
	case labels.Retryable, labels.Failed, labels.Malformed:
		r.Failed = append(r.Failed, Failure{rec.Landmark, rec.Split, rec.Category, rec.Outcome, rec.Error})
	}
	s.Coverage = float64(s.Tagged) / float64(s.Landmarks)
	r.Tags = len(r.tags)
}

func (r *Report) split(name labels.Split) *SplitReport {
	return find(&r.Splits, func(s SplitReport) bool { return s.Split == name },
		SplitReport{Split: name, Outcomes: map[labels.Outcome]int{}, PaperCounts: paper[name]})
}

// find returns the element of a list for which is is true. If there is none, it adds one.
func find[T any](list *[]T, is func(T) bool, added T) *T {
	at := slices.IndexFunc(*list, is)
	if at < 0 {
		at, *list = len(*list), append(*list, added)
	}
	return &(*list)[at]
}
