package scrape

import (
	"fmt"
	"time"

	"hgld/labels"
)

// Plan says what a crawl has still to do.
type Plan struct {
	Landmarks int `json:"landmarks"`
	Titles    int `json:"titles"`   // different ones
	Unusable  int `json:"unusable"` // landmarks whose category names no title
	Done      int `json:"done"`     // titles
	Retry     int `json:"retry"`    // titles that are asked for again: they failed, or were marked
	Requests  int `json:"requests"` // calls that are left, without redirects and repeats
}

// Duration is how long the calls take at a rate of so many a second; 0 where there
// is no limit.
func (p Plan) Duration(rate float64) time.Duration {
	if rate == 0 {
		return 0
	}
	return time.Duration(float64(p.Requests) / rate * float64(time.Second)).Round(time.Second)
}

// NewPlan compares the input with the state. It changes nothing, and does not
// mind a crawl that is running. The error may be a *MismatchError.
func NewPlan(cfg Config) (Plan, error) {
	landmarks := cfg.landmarks()
	f := newFrontier(landmarks)
	p := Plan{Landmarks: len(landmarks), Titles: len(f.titles)}
	for _, err := range f.errs {
		if err != nil {
			p.Unusable++
		}
	}
	s, err := readState(cfg.State, cfg.settings())
	if err != nil {
		return p, fmt.Errorf("scrape: %w", err)
	}
	done, again := map[string]labels.Outcome{}, map[string]why{}
	if s != nil {
		defer s.close()
		if done, err = s.outcomes(); err != nil {
			return p, fmt.Errorf("scrape: %w", err)
		}
		if again, err = s.marked(); err != nil {
			return p, fmt.Errorf("scrape: %w", err)
		}
	}
	for _, title := range f.titles {
		switch outcome := done[title]; {
		case outcome == "":
		case open(outcome, again[title]):
			p.Retry++
		default:
			p.Done++
		}
	}
	size := 1
	if b, ok := cfg.Source.(Batcher); ok {
		size = max(1, b.BatchSize())
	}
	p.Requests = (p.Titles - p.Done + size - 1) / size
	return p, nil
}
