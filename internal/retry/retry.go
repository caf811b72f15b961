// Package retry repeats what failed for the moment: how often, and after which pauses. Its users say which failures
// pass.
package retry

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Rule says how often something is tried, and how long the pauses are.
type Rule struct {
	Tries   int           // that may fail in a row; at least 1
	First   time.Duration // pause after the first failure; it doubles with each
	Longest time.Duration // longest pause; 0: no bound

	// Draw shortens the pause after a try, counted from 0, to 0.5 + Draw/2 of it. It is in [0, 1). It may be nil.
	Draw func(try int) float64

	// Sleep waits until the time has passed or ctx ends. nil is [Sleep].
	Sleep func(ctx context.Context, d time.Duration) error
}

// Next says what follows a failed try. The zero value ends [Rule.Do].
type Next struct {
	Again bool          // the failure may pass
	Least time.Duration // the pause is at least that, beyond Longest, too
	Fresh bool          // there was progress: failures and pauses count anew
	Free  bool          // the caller has waited, or waits in the next try: neither a failure nor a pause
}

// Pause returns the pause after the try with this number, counted from 0.
func (r Rule) Pause(try int) time.Duration {
	longest := r.Longest
	if longest == 0 {
		longest = math.MaxInt64
	}
	pause := longest
	if doubled := r.First << min(try, 62); doubled>>min(try, 62) == r.First {
		pause = min(doubled, longest)
	}
	if r.Draw != nil {
		pause = time.Duration(float64(pause) * (0.5 + r.Draw(try)/2))
	}
	return pause
}

// Do calls try until it succeeds or fails for good. try gets the pause that is due if it fails. The error is the last
// of try, or that of ctx if ctx ends in a pause.
func (r Rule) Do(ctx context.Context, try func(pause time.Duration) (Next, error)) error {
	sleep := r.Sleep
	if sleep == nil {
		sleep = Sleep
	}
	for number, failed := 0, 0; ; {
		pause := r.Pause(number)
		next, err := try(pause)
		switch {
		case err == nil || !next.Again && !next.Free:
			return err
		case next.Free:
			continue
		case next.Fresh:
			number, failed, pause = 0, 0, r.Pause(0)
		default:
			failed++
		}
		if failed >= r.Tries {
			return err
		}
		if err := sleep(ctx, max(pause, next.Least)); err != nil {
			return err
		}
		number++
	}
}

// Sleep waits for d or until ctx ends, whose error it returns.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// After parses the header Retry-After: whole seconds, seconds with a fraction (sent by Wikimedia's caches), or an HTTP
// date. Anything else, and a time in the past, is 0. The result is at most a day.
func After(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	const day = 24 * time.Hour
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if math.IsNaN(seconds) || seconds <= 0 {
			return 0
		}
		return time.Duration(min(seconds, day.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(0, at.Sub(now)), day)
	}
	return 0
}
