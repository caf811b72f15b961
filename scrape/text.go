package scrape

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"hgld/internal/terminal"
	"hgld/labels"
)

// Line returns the plan in one line: the landmarks and pages, and how many are done, failed
// or unusable.
func (p Plan) Line() string {
	line := fmt.Sprintf("%s, %s", terminal.Count(p.Landmarks, "landmark"), terminal.Count(p.Titles, "category page"))
	if p.Done > 0 {
		line += fmt.Sprintf(", %d done", p.Done)
	}
	if p.Retry > 0 {
		line += fmt.Sprintf(", %d failed last time", p.Retry)
	}
	if p.Unusable > 0 {
		line += fmt.Sprintf(", %s without a usable URL", terminal.Count(p.Unusable, "landmark"))
	}
	return line
}

// Pace says how long the requests take at a rate in requests a second, after a colon. It
// returns "" for a rate of 0, which means no limit.
func (p Plan) Pace(rate float64) string {
	if rate == 0 {
		return ""
	}
	return fmt.Sprintf(": %v at %g a second", p.Duration(rate), rate)
}

// Text lists the requests that are left by step, and how long they take. address is the URL
// of the site, rate the configured requests a second, and rates the values that the site
// allows.
func (p Plan) Text(address string, rate float64, rates []float64) string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "%s\n%d requests to %s are left, not counting redirects and retries%s\n", p.Line(), p.Requests,
		address, p.Pace(rate))
	if len(p.Stages) > 1 {
		for _, stage := range p.Stages {
			fmt.Fprintf(w, "  %7d  %-6s %s\n", stage.Requests, stage.Step, stage.About)
		}
	}
	if p.Requests == 0 {
		return w.String()
	}
	var times []string
	for _, r := range rates {
		times = append(times, fmt.Sprintf("%v at %.2g a second", p.Duration(r), r))
	}
	fmt.Fprintf(w, "at other rates that the site allows: %s\n", strings.Join(times, ", "))
	return w.String()
}

// Tally counts the outcomes of a running crawl for a progress line.
type Tally struct {
	began  time.Time
	tagged int
	failed map[labels.Outcome]int
}

// NewTally returns the tally of a crawl that began at the given time.
func NewTally(began time.Time) *Tally { return &Tally{began: began, failed: map[labels.Outcome]int{}} }

// failures are the outcomes of titles that could not be fetched or read.
var failures = []labels.Outcome{labels.Retryable, labels.Failed, labels.Malformed}

// Note adds the titles of a commit and returns the summary at the time now: tags,
// failures, requests and their rate.
func (t *Tally) Note(p Progress, now time.Time) string {
	for _, o := range p.Outcomes {
		switch {
		case o == labels.OK:
			t.tagged++
		case slices.Contains(failures, o):
			t.failed[o]++
		}
	}
	note := fmt.Sprintf("%d with a tag", t.tagged)
	for _, o := range failures {
		if t.failed[o] > 0 {
			note += fmt.Sprintf(", %d %s", t.failed[o], o)
		}
	}
	if passed := now.Sub(t.began).Seconds(); p.Asked > 0 && passed > 0 {
		note += fmt.Sprintf(", %s, %.2g a second", terminal.Count(p.Asked, "request"), float64(p.Asked)/passed)
	}
	return note
}

// Text lists the coverage of each split next to the paper's, its outcomes, and how many
// landmarks each policy would drop.
func (r *Report) Text() string {
	w := &strings.Builder{}
	for _, split := range r.Splits {
		fmt.Fprintf(w, "%s: %d of %s have a tag (%.1f %%)", split.Split, split.Tagged,
			terminal.Count(split.Landmarks, "landmark"), 100*split.Coverage)
		if split.comparable() {
			fmt.Fprintf(w, "; the paper: %d of %d (%.1f %%)", split.PaperTagged, split.PaperLandmarks,
				percent(split.PaperTagged, split.PaperLandmarks))
		}
		fmt.Fprintf(w, "\n")
		writeOutcomes(w, split.Outcomes)
		if found := split.Tagged + split.Removed(); split.comparable() {
			lost := split.PaperTagged - split.PaperSelected
			fmt.Fprintf(w, "  cleaning removed %d of %d (%.2f %%); in the paper %d of %d (%.2f %%), which left %d\n",
				split.Removed(), found, percent(split.Removed(), found), lost, split.PaperTagged,
				percent(lost, split.PaperTagged), split.PaperSelected)
		}
	}
	if r.whole() {
		fmt.Fprintf(w, "%s; in the paper %d\n", terminal.Count(r.Tags, "distinct tag"), paperTags)
	}
	var dropped []string
	for _, p := range r.Policies {
		dropped = append(dropped, fmt.Sprintf(" %s %d", p.Policy, p.Dropped))
	}
	fmt.Fprintf(w, "%s with several values; policies would drop:%s (policy: %s)\n",
		terminal.Count(r.Several, "landmark"), strings.Join(dropped, ","), r.Policy)
	return w.String()
}

// whole reports whether the report is of the paper's landmarks: train and index.
func (r *Report) whole() bool {
	n := 0
	for _, s := range r.Splits {
		if s.comparable() {
			n++
		}
	}
	return n == 2
}

// FailedText lists the first landmarks that failed, at most n, and how many more there
// are.
func (r *Report) FailedText(n int) string {
	w := &strings.Builder{}
	for _, f := range r.Failed[:min(n, len(r.Failed))] {
		fmt.Fprintf(w, "  %s/%d %s: %s\n", f.Split, f.Landmark, f.Outcome, f.Error)
	}
	if more := len(r.Failed) - n; more > 0 {
		fmt.Fprintf(w, "  … and %d more\n", more)
	}
	return w.String()
}

// Text lists the outcomes of each population, and how many tags each policy and the paper
// keep.
func (s Stats) Text() string {
	w := &strings.Builder{}
	for _, split := range s.Splits {
		for _, p := range split.Populations {
			fmt.Fprintf(w, "%s, %s: %s, %d with several values\n", split.Split, p.Name,
				terminal.Count(p.Landmarks, "landmark"), p.Several)
			writeOutcomes(w, p.Outcomes)
			for _, kept := range p.Kept {
				fmt.Fprintf(w, "  %7d  kept by the policy %s (%.1f %%)\n", kept.Kept, kept.Policy,
					percent(kept.Kept, p.Landmarks))
			}
		}
		if split.PaperTagged > 0 {
			fmt.Fprintf(w, "  %7d  kept by the paper, of %d (%.1f %%)\n", split.PaperTagged, split.PaperLandmarks,
				percent(split.PaperTagged, split.PaperLandmarks))
			fmt.Fprintf(w, "  %7d  of them selected by the paper after its cleaning (%.2f %% removed)\n", split.PaperSelected,
				percent(split.PaperTagged-split.PaperSelected, split.PaperTagged))
		}
	}
	return w.String()
}

// Text says what was compared and lists the first problems, at most n; more says how to list the
// rest.
func (v *Verification) Text(n int, more string) string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "%s, %s and %s compared", terminal.Count(v.Responses, "response"), terminal.Count(v.Facts, "fact"),
		terminal.Count(v.Titles, "finding"))
	if v.Again > 0 {
		fmt.Fprintf(w, "; %d to be fetched again", v.Again)
	}
	fmt.Fprintf(w, "\n")
	for _, problem := range v.Problems[:min(n, len(v.Problems))] {
		fmt.Fprintf(w, "  %s\n", problem)
	}
	if left := len(v.Problems) - n; left > 0 {
		fmt.Fprintf(w, "  … and %d more; %s\n", left, more)
	}
	return w.String()
}

// writeOutcomes writes counts in the order of labels.Outcomes.
func writeOutcomes(w io.Writer, outcomes map[labels.Outcome]int) {
	for _, o := range slices.SortedFunc(maps.Keys(outcomes), func(a, b labels.Outcome) int {
		return slices.Index(labels.Outcomes, a) - slices.Index(labels.Outcomes, b)
	}) {
		fmt.Fprintf(w, "  %7d  %s\n", outcomes[o], o)
	}
}

// percent returns n of total in percent.
func percent(n, total int) float64 { return 100 * float64(n) / float64(total) }
