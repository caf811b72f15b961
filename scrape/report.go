package scrape

import (
	"hgld/labels"
)

// Report counts what a finished crawl has found.
type Report struct {
	Tool        string        `json:"tool"`
	Source      string        `json:"source"`
	Input       string        `json:"input"`
	InputSHA256 string        `json:"input_sha256"`
	Policy      string        `json:"policy"`
	Titles      int           `json:"titles"` // different categories
	Tags        int           `json:"tags"`   // different tags
	Splits      []SplitReport `json:"splits"`

	// Several counts the landmarks with more than one different value, and
	// Policies what each policy would do with them.
	Several  int           `json:"several_values"`
	Policies []PolicyCount `json:"policies"`

	// Failed lists the landmarks about which nothing could be found out.
	Failed []Failure `json:"failed"`

	// Stale lists the titles that were asked for again without an answer: what is
	// reported of them is their earlier finding. It is not kept in report.json.
	Stale []string `json:"stale,omitempty"`

	// Changes counts the lines of Output.Changes. It is not kept in report.json.
	Changes int `json:"changes,omitempty"`

	tags map[string]bool
}

// SplitReport counts the landmarks of one split.
type SplitReport struct {
	Split     labels.Split           `json:"split"`
	Landmarks int                    `json:"landmarks"`
	Tagged    int                    `json:"tagged"`
	Coverage  float64                `json:"coverage"` // Tagged / Landmarks
	Outcomes  map[labels.Outcome]int `json:"outcomes"`

	// What the paper reports for this split of GLDv2, 0 where it reports nothing.
	PaperLandmarks int `json:"paper_landmarks,omitempty"`
	PaperTagged    int `json:"paper_tagged,omitempty"`
}

// PolicyCount is the number of landmarks with a usable value that a policy gives
// no tag.
type PolicyCount struct {
	Policy  string `json:"policy"`
	Dropped int    `json:"dropped"`
}

// Failure is a landmark whose outcome is error_retryable, error_final or
// malformed.
type Failure struct {
	Landmark labels.LandmarkID `json:"landmark_id"`
	Split    labels.Split      `json:"split"`
	Category string            `json:"category"`
	Outcome  labels.Outcome    `json:"outcome"`
	Error    string            `json:"error"`
}

// The paper: "Out of the original 203k landmarks in GLDv2-train, we were able to
// scrape supercategories for 129.1k. For the 101k landmarks in GLDv2-index […]
// 68.1k" (Optimization of Rank Losses for Image Retrieval, H-GLDv2). The pages
// have changed since, so a scrape of today finds more.
func paper(split labels.Split) (landmarks, tagged int) {
	switch split {
	case labels.Train:
		return 203_094, 129_100
	case labels.Index:
		return 101_297, 68_100
	}
	return 0, 0
}

func newReport(cfg Config, f *frontier) *Report {
	r := &Report{Tool: cfg.Out.Tool, Source: cfg.Source.Name(), Input: cfg.Input.Name, InputSHA256: cfg.Input.SHA256,
		Policy: cfg.Out.Policy, Titles: len(f.titles), Failed: []Failure{}, tags: map[string]bool{}}
	for _, p := range Policies {
		r.Policies = append(r.Policies, PolicyCount{Policy: p.Name})
	}
	return r
}

// countPolicies tries every policy on a record that has no tag chosen yet.
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
	for i := range r.Splits {
		if r.Splits[i].Split == name {
			return &r.Splits[i]
		}
	}
	s := SplitReport{Split: name, Outcomes: map[labels.Outcome]int{}}
	s.PaperLandmarks, s.PaperTagged = paper(name)
	r.Splits = append(r.Splits, s)
	return &r.Splits[len(r.Splits)-1]
}
