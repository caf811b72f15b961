package scrape

import "hgld/labels"

// Stats counts the outcomes of a scrape and what each policy would keep.
type Stats struct {
	Splits []SplitStats `json:"splits"` // in the order of the records
}

// SplitStats are the counts of one split.
type SplitStats struct {
	Split       labels.Split `json:"split"`       // whose landmarks are counted
	Populations []Population `json:"populations"` // AllLandmarks, WithInfobox

	PaperCounts
}

// Population is a set of landmarks: all of them, or those whose page shows an infobox. The
// paper's scraper could only see the latter.
type Population struct {
	Name      string                 `json:"name"`      // AllLandmarks or WithInfobox
	Landmarks int                    `json:"landmarks"` // in the population
	Outcomes  map[labels.Outcome]int `json:"outcomes"`  // landmarks by outcome, under the policy of the scrape
	Several   int                    `json:"several"`   // landmarks with several distinct values
	Kept      []PolicyKept           `json:"kept"`      // in the order of Policies
}

// PolicyKept counts the landmarks that would get a tag under a policy.
type PolicyKept struct {
	Policy string `json:"policy"` // a name from Policies
	Kept   int    `json:"kept"`   // landmarks
}

// The populations.
const (
	AllLandmarks = "all"
	WithInfobox  = "with an infobox"
)

// Add counts a record of a tags.jsonl. It includes the population WithInfobox if the record says that its page has an
// infobox.
func (s *Stats) Add(rec *labels.Record) {
	split := s.split(rec.Split)
	split.population(AllLandmarks).count(rec)
	if rec.Infobox != nil && *rec.Infobox {
		split.population(WithInfobox).count(rec)
	}
}

func (s *Stats) split(name labels.Split) *SplitStats {
	return find(&s.Splits, func(s SplitStats) bool { return s.Split == name },
		SplitStats{Split: name, PaperCounts: paper[name]})
}

func (s *SplitStats) population(name string) *Population {
	p := Population{Name: name, Outcomes: map[labels.Outcome]int{}}
	for _, policy := range Policies {
		p.Kept = append(p.Kept, PolicyKept{Policy: policy.Name})
	}
	return find(&s.Populations, func(p Population) bool { return p.Name == name }, p)
}

// count adds a record. It applies every policy to the record's values, whatever the policy
// of the scrape chose.
func (p *Population) count(rec *labels.Record) {
	p.Landmarks++
	p.Outcomes[rec.Outcome]++
	values := different(rec.Values)
	if len(values) > 1 {
		p.Several++
	}
	if len(values) == 0 || rec.Outcome != labels.OK && rec.Outcome != labels.Several {
		return
	}
	for i, policy := range Policies {
		if taken, _, _ := policy.Value(values); len(taken) > 0 {
			p.Kept[i].Kept++
		}
	}
}
