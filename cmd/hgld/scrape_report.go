package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"hgld/internal/exitcode"
	"hgld/internal/filelock"
	"hgld/internal/terminal"
	"hgld/labels"
	"hgld/scrape"
	"hgld/scrape/polite"
)

// showCrawl returns a function that counts outcomes and shows them next to the bar. before
// is the number of titles that earlier runs finished.
func showCrawl(bar *terminal.Progress, before int) func(scrape.Progress) {
	bar.From(before)
	tagged, began := 0, time.Now()
	failed := map[labels.Outcome]int{}
	return func(p scrape.Progress) {
		for _, o := range p.Outcomes {
			switch o {
			case labels.OK:
				tagged++
			case labels.Retryable, labels.Failed, labels.Malformed:
				failed[o]++
			}
		}
		note := fmt.Sprintf("%d with a tag", tagged)
		for _, o := range []labels.Outcome{labels.Retryable, labels.Failed, labels.Malformed} {
			if failed[o] > 0 {
				note += fmt.Sprintf(", %d %s", failed[o], o)
			}
		}
		if passed := time.Since(began).Seconds(); p.Asked > 0 && passed > 0 {
			note += fmt.Sprintf(", %s, %.2g a second", count(p.Asked, "request"), float64(p.Asked)/passed)
		}
		bar.Set(p.Done, note)
	}
}

// scrapeError adds exit codes and next steps to the errors of a crawl.
func scrapeError(s *scrapeSettings, err error) error {
	var (
		locked     *filelock.LockedError
		mismatch   *scrape.MismatchError
		damage     *scrape.DamageError
		unread     *scrape.ReadError
		incomplete *scrape.IncompleteError
		stop       *polite.StopError
		malformed  *scrape.MalformedRunError
	)
	switch {
	case errors.As(err, &locked):
		return withHint(withCode(exitLocked, err), "wait for it to end; it saves its state when interrupted")
	case errors.As(err, &mismatch):
		return withHint(withCode(exitUsage, err), "--state another-folder keeps both")
	case errors.As(err, &unread) && errors.Is(err, fs.ErrNotExist):
		return withHint(withCode(exitIntegrity, err),
			"put back what is gone from %s; if that is impossible, `hgld scrape run --retry lost` asks for its pages again",
			filepath.Join(s.State, "raw"))
	case errors.As(err, &unread):
		return withHint(err, "nothing was thrown away: once the file can be read, run the same command again")
	case errors.As(err, &damage):
		return withHint(withCode(exitIntegrity, err), "`hgld scrape run` without --reparse fetches the damaged pages again")
	case errors.Is(err, scrape.ErrMoreNeeded):
		return withHint(withCode(exitTemporary, err), "`hgld scrape run` without --reparse fetches the rest")
	case errors.As(err, &malformed):
		return withHint(withCode(exitTemporary, err),
			"see what %s answers in a browser; the same command continues, with --retry malformed from those titles", s.BaseURL)
	case errors.As(err, &incomplete) && errors.As(err, &stop):
		when := "now"
		if !incomplete.RetryAt.IsZero() {
			when = "after " + incomplete.RetryAt.Local().Format("15:04:05 on 2 January 2006")
		}
		return withHint(withCode(exitTemporary, err), "what was fetched is kept in %s; run the same command again %s",
			s.State, when)
	case errors.As(err, &incomplete) && !errors.Is(err, context.Canceled):
		return withHint(withCode(exitTemporary, err), "what was fetched is kept in %s; the same command continues", s.State)
	}
	return err
}

// printScrape prints the summary; landmarks that failed are an error.
func printScrape(j *job, s *scrapeSettings, r *scrape.Report) error {
	if j.json {
		if err := writeJSON(j, r); err != nil {
			return err
		}
	} else {
		printCoverage(j, s, r)
	}
	if r.Changes > 0 && !j.json {
		j.print("%s written: %s\n", s.Changes, count(r.Changes, "change"))
	}
	if len(r.Stale) > 0 {
		err := withCode(exitSomeFailed, fmt.Errorf("%s could not be had again, the first %s; what was known of them stands",
			count(len(r.Stale), "title"), r.Stale[0]))
		return exitcode.Retryable(withHint(err, "the same command asks for them again"))
	}
	if len(r.Failed) == 0 {
		return nil
	}
	if !j.json {
		for i, f := range r.Failed {
			if i == 10 {
				j.print("  … and %d more\n", len(r.Failed)-i)
				break
			}
			j.print("  %s/%d %s: %s\n", f.Split, f.Landmark, f.Outcome, f.Error)
		}
	}
	err := withCode(exitSomeFailed, fmt.Errorf("%s failed; %s lists them", count(len(r.Failed), "landmark"),
		filepath.Join(s.State, "report.json")))
	if slices.ContainsFunc(r.Failed, func(f scrape.Failure) bool { return f.Outcome == labels.Retryable }) {
		return exitcode.Retryable(withHint(err, "the same command asks again for those with error_retryable"))
	}
	return err
}

func printCoverage(j *job, s *scrapeSettings, r *scrape.Report) {
	for _, split := range r.Splits {
		j.print("%s: %d of %s have a tag (%.1f %%)", split.Split, split.Tagged, count(split.Landmarks, "landmark"),
			100*split.Coverage)
		if split.PaperTagged > 0 && split.Landmarks == split.PaperLandmarks { // else it is no comparison
			j.print("; the paper: %d of %d (%.1f %%)", split.PaperTagged, split.PaperLandmarks,
				100*float64(split.PaperTagged)/float64(split.PaperLandmarks))
		}
		j.print("\n")
		printOutcomes(j, split.Outcomes)
	}
	j.print("%s with several values; without a tag for it:", count(r.Several, "landmark"))
	for i, p := range r.Policies {
		if i > 0 {
			j.print(",")
		}
		j.print(" %s %d", p.Policy, p.Dropped)
	}
	j.print(" (policy: %s)\n%s written: %s\n", r.Policy, s.Out, count(r.Tags, "distinct tag"))
}
