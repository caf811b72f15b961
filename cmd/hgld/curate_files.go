package main

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"hgld/curate"
	"hgld/internal/atomicfile"
)

// readCuration reads a draft and logs. It tells the user about logs with a torn last line
// and about logs of another draft.
func readCuration(j *job, draft string, logs []string) (*curate.Curation, error) {
	c, err := openDraft(draft)
	if err != nil {
		return nil, err
	}
	for _, path := range logs {
		l, err := c.Add(path)
		if err != nil {
			return nil, logError(err)
		}
		if l.Contents.Torn != nil {
			j.log("%v; it is left out", l.Contents.Torn)
		}
		if !c.Own(l) {
			j.log("%s was made for a draft other than %s (%s); its tags are matched by text and QID", path, draft,
				l.Contents.Header.Draft)
		}
	}
	if len(logs) == 0 {
		return nil, usagef("no log of edits is given")
	}
	return c, nil
}

// namedOnce returns an error if two of some logs are one file.
func namedOnce(logs []string) error {
	for i, path := range logs {
		if slices.ContainsFunc(logs[:i], func(other string) bool { return atomicfile.Same(other, path) }) {
			return usagef("the log %s is named twice; want each curator's own", path)
		}
	}
	return nil
}

// sayAdjudicated warns of edits to a log that an adjudicator's log of the project decides about, as it is now.
func sayAdjudicated(j *job, path string) {
	own, err := curate.ReadLogFile(path)
	settings, errSettings := curateStage().Load(j.project, nil)
	if err != nil || errSettings != nil {
		return // the command reports it
	}
	for _, other := range settings.Logs {
		l, err := curate.ReadLogFile(other)
		if err == nil && slices.Contains(l.Contents.Header.Adjudicates, own.SHA256) {
			j.log("%s decides between %s and others as they are now: after an edit of %s it no longer fits", other, path, path)
		}
	}
}

// openDraft reads a draft.
func openDraft(path string) (*curate.Curation, error) {
	c, err := curate.OpenCuration(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, withHint(err, "`hgld cluster run` makes a draft")
	}
	return c, err
}

// logsUnder returns the logs that must be replayed to have the session of a log: itself or, if it is the adjudicator's
// of the project, those that it decides between before it.
func logsUnder(j *job, path string) ([]string, error) {
	l, err := curate.ReadLogFile(path)
	if err != nil {
		return nil, logError(err)
	}
	settings, err := curateStage().Load(j.project, nil)
	if err != nil {
		return nil, err
	}
	same := func(other string) bool {
		x, errX := filepath.Abs(path)
		y, errY := filepath.Abs(other)
		return errX == nil && errY == nil && x == y
	}
	if at := slices.IndexFunc(settings.Logs, same); at > 0 && l.Adjudicates() {
		return settings.Logs[:at+1], nil
	}
	return []string{path}, nil
}
