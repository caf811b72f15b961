package scrape

import (
	"fmt"
	"time"

	"hgld/labels"
)

// Plan says what a crawl has still to do.
type Plan struct {
	Landmarks int     `json:"landmarks"`
	Titles    int     `json:"titles"`   // different ones
	Unusable  int     `json:"unusable"` // landmarks whose category names no title
	Done      int     `json:"done"`     // titles
	Retry     int     `json:"retry"`    // titles that failed and are asked for again
	Requests  int     `json:"requests"` // that are left, without repeats
	Stages    []Stage `json:"stages"`   // the same by step
}

// Stage is the number of requests that one step is expected to take.
type Stage struct {
	Step     string `json:"step"`
	Requests int    `json:"requests"`
	About    string `json:"about"` // what is asked
}

// Forecaster is a Source that knows how many requests so many titles take.
type Forecaster interface {
	// Forecast lists the requests by step for titles of which nothing is known.
	Forecast(titles int) []Stage
}

// Duration is how long the requests take at a rate of so many a second; 0 where
// there is no limit.
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
	done := map[string]labels.Outcome{}
	if s != nil {
		defer s.close()
		if done, err = s.outcomes(); err != nil {
			return p, fmt.Errorf("scrape: %w", err)
		}
	}
	for _, title := range f.titles {
		switch done[title] {
		case "":
		case labels.Retryable:
			p.Retry++
		default:
			p.Done++
		}
	}
	again := 0
	if s != nil {
		if again, err = s.marked(); err != nil {
			return p, fmt.Errorf("scrape: %w", err)
		}
	}
	p.Stages = []Stage{{Step: cfg.Source.Steps()[0], Requests: p.Titles - p.Done, About: "titles"}}
	if source, ok := cfg.Source.(Forecaster); ok {
		p.Stages = source.Forecast(p.Titles - p.Done)
	}
	if again > 0 {
		p.Stages = append(p.Stages, Stage{Step: "again", Requests: again,
			About: "at most, for what was damaged or is wanted again"})
	}
	for _, stage := range p.Stages {
		p.Requests += stage.Requests
	}
	return p, nil
}
