package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"slices"
	"time"

	"hgld/internal/filelock"
	"hgld/internal/terminal"
	"hgld/labels"
	"hgld/scrape"
	"hgld/scrape/polite"
)

// showCrawl updates the progress bar of a crawl, with counts of outcomes. before is the
// number of titles that were already finished.
func showCrawl(bar *terminal.Progress, before int) func(scrape.Progress) {
	bar.From(before)
	tally := scrape.NewTally(time.Now())
	return func(p scrape.Progress) { bar.Set(p.Done, tally.Note(p, time.Now())) }
}

// scrapeError adds exit codes and hints to the errors of a crawl.
func scrapeError(s *scrapeSettings, err error) error {
	var (
		unread     *scrape.ReadError
		incomplete *scrape.IncompleteError
		stop       *polite.StopError
		malformed  *scrape.MalformedRunError
	)
	switch {
	case errors.As(err, new(*filelock.LockedError)):
		return withHint(err, "wait for that process, or interrupt it: it saves its state")
	case errors.As(err, new(*scrape.MismatchError)):
		return err
	case errors.As(err, &unread) && errors.Is(err, fs.ErrNotExist):
		return withHint(withCode(exitIntegrity, err),
			"restore the missing files in %s; if that is impossible, `hgld scrape run --retry lost` fetches their pages again",
			filepath.Join(s.State, "raw"))
	case errors.As(err, &unread):
		return withHint(err, "nothing was removed: run the same command again once the file can be read")
	case errors.As(err, new(*scrape.DamageError)), errors.Is(err, scrape.ErrMoreNeeded):
		return err
	case errors.As(err, &malformed):
		return withHint(withCode(exitTemporary, err),
			"open %s in a browser, then run the same command again to resume; --retry malformed also fetches these titles",
			s.BaseURL)
	case errors.As(err, &stop) && errors.As(err, new(*net.DNSError)):
		return withHint(withCode(exitTemporary, err), "this machine has no network, or the site has another name; to try "+
			"hgld without a network: `hgld dev fake-wikimedia`, as docs/landmarks.md shows")
	case errors.As(err, &incomplete) && errors.As(err, &stop):
		when := "now"
		if !incomplete.RetryAt.IsZero() {
			when = "after " + incomplete.RetryAt.Local().Format("15:04:05 on 2 January 2006")
		}
		return withHint(withCode(exitTemporary, err), "all responses are stored in %s; run the same command again %s",
			s.State, when)
	case errors.As(err, &incomplete) && !errors.Is(err, context.Canceled):
		return withHint(withCode(exitTemporary, err), "all responses are stored in %s; run the same command again to resume",
			s.State)
	}
	return err
}

// printScrape prints the summary. It returns an error if landmarks failed.
func printScrape(j *job, s *scrapeSettings, r *scrape.Report) error {
	text := fmt.Sprintf("%s%s written: %s\n", r.Text(), s.Out, count(r.Tags, "distinct tag"))
	if r.Items > 0 {
		text += fmt.Sprintf("%s written: %s, classes and places\n", s.Items, count(r.Items, "item"))
	}
	if r.Changes > 0 {
		text += fmt.Sprintf("%s written: %s\n", s.changes, count(r.Changes, "change"))
	}
	if len(r.Stale) == 0 {
		text += r.FailedText(10)
	}
	if err := j.show(r, text); err != nil {
		return err
	}
	if len(r.Stale) > 0 {
		err := withCode(exitSomeFailed,
			fmt.Errorf("%s could not be fetched again, the first is %s; their earlier results are kept",
				count(len(r.Stale), "title"), r.Stale[0]))
		return retryable(withHint(err, "the same command tries again"))
	}
	if len(r.Failed) == 0 && r.ItemsUnasked > 0 {
		err := withCode(exitSomeFailed, fmt.Errorf("%s of Wikidata could not be fetched, and %s lacks what they link to",
			count(r.ItemsUnasked, "item"), s.Items))
		return retryable(withHint(err, "the same command asks for them again"))
	}
	if len(r.Failed) == 0 {
		return nil
	}
	err := withCode(exitSomeFailed, fmt.Errorf("%s failed; %s lists them", count(len(r.Failed), "landmark"),
		filepath.Join(s.State, "report.json")))
	if slices.ContainsFunc(r.Failed, func(f scrape.Failure) bool { return f.Outcome == labels.Retryable }) {
		return retryable(withHint(err, "the same command retries those with the outcome error_retryable"))
	}
	return err
}
