package scrape

import (
	"hgld/labels"
)

// Stats counts what a scrape has found, and what each policy would keep of it.
type Stats struct {
	Splits []SplitStats `json:"splits"`
}

// SplitStats are those of one split, for its populations.
type SplitStats struct {
	Split       labels.Split `json:"split"`
	Populations []Population `json:"populations"`

	// What the paper reports for this split of GLDv2, 0 where it reports nothing.
	PaperLandmarks int `json:"paper_landmarks,omitempty"`
	PaperTagged    int `json:"paper_tagged,omitempty"`
}

// Population is a set of landmarks: all of them, or those whose page shows an infobox,
// which are the ones that the paper's scraper could see.
type Population struct {
	Name      string                 `json:"name"`
	Landmarks int                    `json:"landmarks"`
	Outcomes  map[labels.Outcome]int `json:"outcomes"` // under the policy of the scrape
	Several   int                    `json:"several"`  // landmarks with several different values
	Kept      []PolicyKept           `json:"kept"`
}

// PolicyKept is the number of landmarks that a policy gives a tag.
type PolicyKept struct {
	Policy string `json:"policy"`
	Kept   int    `json:"kept"`
}

// The populations.
const (
	AllLandmarks = "all"
	WithInfobox  = "with an infobox"
)

// NewStats counts the records of a tags.jsonl. The population WithInfobox is there
// where a record says whether its page has one.
func NewStats(records []labels.Record) Stats {
	var s Stats
	for _, rec := range records {
		split := s.split(rec.Split)
		split.population(AllLandmarks).count(rec)
		if rec.Infobox != nil && *rec.Infobox {
			split.population(WithInfobox).count(rec)
		}
	}
	return s
}

func (s *Stats) split(name labels.Split) *SplitStats {
	for i := range s.Splits {
		if s.Splits[i].Split == name {
			return &s.Splits[i]
		}
	}
	split := SplitStats{Split: name}
	split.PaperLandmarks, split.PaperTagged = paper(name)
	s.Splits = append(s.Splits, split)
	return &s.Splits[len(s.Splits)-1]
}

func (s *SplitStats) population(name string) *Population {
	for i := range s.Populations {
		if s.Populations[i].Name == name {
			return &s.Populations[i]
		}
	}
	p := Population{Name: name, Outcomes: map[labels.Outcome]int{}}
	for _, policy := range Policies {
		p.Kept = append(p.Kept, PolicyKept{Policy: policy.Name})
	}
	s.Populations = append(s.Populations, p)
	return &s.Populations[len(s.Populations)-1]
}

// count adds a record. What the policy of the scrape has made of it is undone to try
// the others.
func (p *Population) count(rec labels.Record) {
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
