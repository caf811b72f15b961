package scrape

import (
	"fmt"
	"time"

	"hgld/labels"
)

// Plan describes what is left to do of a crawl.
type Plan struct {
	Landmarks int     `json:"landmarks"` // of the input
	Titles    int     `json:"titles"`    // distinct ones
	Unusable  int     `json:"unusable"`  // landmarks whose category is not a valid URL
	Done      int     `json:"done"`      // titles
	Retry     int     `json:"retry"`     // titles that failed and will be fetched again
	Requests  int     `json:"requests"`  // still to send, without repeats
	Stages    []Stage `json:"stages"`    // Requests by step
}

// Stage is the expected number of requests of one step.
type Stage struct {
	Step     string `json:"step"`     // as in Source.Steps
	Requests int    `json:"requests"` // still to send
	About    string `json:"about"`    // what the requests are for
}

// Forecaster is a Source that can estimate its requests.
type Forecaster interface {
	// Forecast estimates the requests, by step, for a number of unknown titles.
	Forecast(titles int) []Stage
}

// Duration returns how long the requests take at a rate in requests a second. A rate of 0
// means no limit and returns 0.
func (p Plan) Duration(rate float64) time.Duration {
	if rate == 0 {
		return 0
	}
	return time.Duration(float64(p.Requests) / rate * float64(time.Second)).Round(time.Second)
}

// NewPlan compares the input with the state. It changes nothing and works beside a running
// crawl. The error may be a *MismatchError.
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
		if again, err = s.countMarked(); err != nil {
			return p, fmt.Errorf("scrape: %w", err)
		}
	}
	p.Stages = []Stage{{Step: cfg.Source.Steps()[0], Requests: p.Titles - p.Done, About: "titles"}}
	if source, ok := cfg.Source.(Forecaster); ok {
		p.Stages = source.Forecast(p.Titles - p.Done)
	}
	if source, ok := cfg.Source.(Linker); ok && s != nil && cfg.Out.Items != "" && p.Done == p.Titles {
		walk := s.newItemWalk(source, nil)
		if err := walk.run(f.titles); err != nil {
			return p, fmt.Errorf("scrape: %w", err)
		}
		if n, size := len(walk.lacking), max(1, source.BatchSize(source.LinkStep())); n > 0 {
			p.Stages = append(p.Stages, Stage{Step: source.LinkStep(), Requests: (n + size - 1) / size,
				About: "at least, for classes and places"})
		}
	}
	if again > 0 {
		p.Stages = append(p.Stages, Stage{Step: "again", Requests: again,
			About: "at most, for damaged responses and retries"})
	}
	for _, stage := range p.Stages {
		p.Requests += stage.Requests
	}
	return p, nil
}
