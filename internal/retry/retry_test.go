package retry

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// noted is a Sleep that notes the pauses and takes no time.
func noted(pauses *[]time.Duration) func(context.Context, time.Duration) error {
	return func(ctx context.Context, d time.Duration) error {
		*pauses = append(*pauses, d)
		return ctx.Err()
	}
}

func TestPausesDoubleUpToTheLongest(t *testing.T) {
	again := Next{Again: true}
	for name, c := range map[string]struct {
		rule  Rule
		tries []Next // then it succeeds
		want  []time.Duration
		calls int
		fails bool
	}{
		"success":             {Rule{Tries: 3, First: 1}, nil, nil, 1, false},
		"for good":            {Rule{Tries: 3, First: 1}, []Next{{}}, nil, 1, true},
		"twice":               {Rule{Tries: 3, First: 1}, []Next{again, again}, []time.Duration{1, 2}, 3, false},
		"as often as allowed": {Rule{Tries: 3, First: 1}, []Next{again, again, again}, []time.Duration{1, 2}, 3, true},
		"longest": {Rule{Tries: 9, First: 2, Longest: 5}, []Next{again, again, again, again},
			[]time.Duration{2, 4, 5, 5}, 5, false},
		"drawn": {Rule{Tries: 9, First: 8, Draw: func(try int) float64 { return float64(try) / 2 }}, []Next{again, again},
			[]time.Duration{4, 12}, 3, false},
		"at least": {Rule{Tries: 9, First: 2, Longest: 5}, []Next{{Again: true, Least: 7}, again},
			[]time.Duration{7, 4}, 3, false},
		"progress": {Rule{Tries: 2, First: 1}, []Next{again, {Again: true, Fresh: true}, again},
			[]time.Duration{1, 1, 2}, 4, false},
		"free": {Rule{Tries: 2, First: 1}, []Next{{Free: true}, {Free: true}, again}, []time.Duration{1}, 4, false},
	} {
		var got []time.Duration
		calls := 0
		c.rule.Sleep = noted(&got)
		err := c.rule.Do(t.Context(), func(time.Duration) (Next, error) {
			if calls++; calls <= len(c.tries) {
				return c.tries[calls-1], errors.New("failed")
			}
			return Next{}, nil
		})
		if !slices.Equal(got, c.want) || calls != c.calls || (err != nil) != c.fails {
			t.Errorf("%s: pauses %v after %d tries, %v; want %v after %d", name, got, calls, err, c.want, c.calls)
		}
	}
}

func TestPauseEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := Rule{Tries: 9, First: time.Hour}.Do(ctx, func(time.Duration) (Next, error) {
		cancel()
		return Next{Again: true}, errors.New("failed")
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestRetryAfterParsesSecondsAndDates(t *testing.T) {
	now := time.Date(2026, 10, 21, 7, 28, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"19":                            19 * time.Second,
		" 5 ":                           5 * time.Second,
		"2.5":                           2500 * time.Millisecond,
		"1e1":                           10 * time.Second,
		"0":                             0,
		"-3":                            0,
		"NaN":                           0,
		"+Inf":                          24 * time.Hour,
		"99999999999999999999":          24 * time.Hour,
		"soon":                          0,
		"Wed, 21 Oct 2026 07:29:30 GMT": 90 * time.Second,
		"Wed, 21 Oct 2026 07:00:00 GMT": 0,
		"Fri, 21 Oct 2033 07:00:00 GMT": 24 * time.Hour,
	} {
		if got := After(value, now); got != want {
			t.Errorf("After(%q) = %v, want %v", value, got, want)
		}
	}
}
