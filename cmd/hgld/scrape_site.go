package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/filelock"
	"hgld/internal/pipeline"
	"hgld/internal/regular"
	"hgld/labels"
	"hgld/scrape"
	"hgld/scrape/polite"
	"hgld/scrape/site"
)

// site returns the settings for access to Commons and Wikidata.
func (s *scrapeSettings) site() site.Settings {
	return site.Settings{Commons: s.BaseURL, Wikidata: s.WikidataURL, TraceMissing: s.Trace, Contact: s.Contact,
		Items: s.items() != "", Language: s.Language, Version: version, Rate: s.Rate}
}

// items returns the file for items, "" if there is none: pages have none.
func (s *scrapeSettings) items() string {
	if s.Source != "api" {
		return ""
	}
	return s.Items
}

// kind returns the source named in the settings.
func (s *scrapeSettings) kind() (site.Kind, error) {
	kind, err := site.Kinds.Get("source", s.Source)
	return kind, withCode(exitUsage, err)
}

// access returns access to the sites named in the settings, and to no others.
func (s *scrapeSettings) access(j *job) (*site.Access, error) {
	kind, err := s.kind()
	if err != nil {
		return nil, err
	}
	clock, err := scrape.AnswerClock()
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	w, err := kind.Open(s.site(), clock, func(err error) {
		j.log("%v; continuing at half the rate without waiting for them", err)
	})
	if err != nil && s.Contact == "" && w != nil && slices.ContainsFunc(w.Polite.Hosts, polite.Wikimedia) {
		err = withHint(err, "say who you are: --contact you@university.edu, or scrape.contact in hgld.yaml")
	}
	return w, withCode(exitUsage, err)
}

// offlineConfig is like scrapeConfig, for commands that send no requests.
func offlineConfig(j *job, s *scrapeSettings) (scrape.Config, error) {
	kind, err := s.kind()
	if err != nil {
		return scrape.Config{}, err
	}
	w, err := kind.Offline(s.site())
	if err != nil {
		return scrape.Config{}, withCode(exitUsage, err)
	}
	return scrapeConfig(j, s, w)
}

// scrapeConfig reads the input and configures the crawl.
func scrapeConfig(j *job, s *scrapeSettings, w *site.Access) (scrape.Config, error) {
	var cfg scrape.Config
	out := scrape.Output{Tags: s.Out, Items: s.items(), Policy: s.Policy, PaperText: s.PaperText, Tool: "hgld " + version}
	if err := out.Check(); err != nil {
		return cfg, pipeline.SettingError(fmt.Errorf("scrape: %w", err))
	}
	j.log("reading %s", strings.Join(s.Categories, ", "))
	input, err := readCategories(s.Categories, labels.Split(s.Split))
	if err != nil {
		return cfg, err
	}
	return scrape.Config{
		State: s.State, Input: input, Source: w.Source, Settings: site.Names(s.site(), w.Source),
		Workers: w.Polite.InFlight, Limit: j.limit, Grace: drain,
		Out: out,
	}, nil
}

// lockWikimedia prevents a second process on this machine from sending requests to Wikimedia,
// because Wikimedia's limits apply to all of them together. The lock ends with the process.
func lockWikimedia(hosts []string) (unlock func() error, err error) {
	if !slices.ContainsFunc(hosts, polite.Wikimedia) {
		return func() error { return nil }, nil
	}
	path := filepath.Join(os.TempDir(), "hgld-wikimedia.lock")
	lock, err := filelock.Acquire(path)
	if err == nil {
		if err = os.Chmod(path, 0o644); err == nil { // what a killed process leaves must not stop the other users
			return lock.Remove, nil
		}
		err = errors.Join(err, lock.Remove())
	}
	if errors.Is(err, fs.ErrPermission) {
		unlock, err = lockForeign(path)
	}
	switch {
	case errors.As(err, new(*filelock.LockedError)):
		return nil, withHint(withCode(exitLocked, fmt.Errorf("another process on this machine is using Wikimedia: %w", err)),
			"Wikimedia's limits apply to both together: wait for the other process to end")
	case errors.Is(err, fs.ErrPermission):
		return nil, withHint(fmt.Errorf("only one process on a machine may use Wikimedia, and the lock is another user's: %w",
			err), "if that user's hgld has ended, set TMPDIR to another folder; Wikimedia's limits apply to both together")
	case err != nil:
		return nil, withHint(fmt.Errorf("only one process on a machine may use Wikimedia: %w", err),
			"if no other process uses Wikimedia, remove that file")
	}
	return unlock, nil
}

// lockForeign locks a lock file of another user, which it can only read, and leaves it where it is.
func lockForeign(path string) (unlock func() error, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	if err := filelock.Take(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error { return errors.Join(filelock.Release(f), f.Close()) }, nil
}

// readCategories reads the input of a crawl.
func readCategories(paths []string, split labels.Split) (scrape.Input, error) {
	if len(paths) == 0 {
		return scrape.Input{}, usagef("no category file is named; want one such as --categories train_label_to_category.csv")
	}
	input, err := scrape.ReadCategories(paths, split)
	var wrong *scrape.CategoriesError
	switch {
	case err == nil || errors.As(err, new(*fs.PathError)):
		return input, err
	case errors.As(err, new(*labels.SplitUnknownError)):
		err = withHint(err, "name the split: --split train, or scrape.split in hgld.yaml")
	case errors.As(err, &wrong) && wrong.Twice:
		err = withHint(err, "each landmark of a split may be in one file only; name other splits in file names or a column")
	case errors.As(err, &wrong):
		err = withHint(err, "want columns landmark_id and category, as in GLDv2's train_label_to_category.csv")
	}
	return input, withCode(exitUsage, err)
}
