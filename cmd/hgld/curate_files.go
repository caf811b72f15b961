package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"hgld/curate"
	"hgld/labels"
)

// curation is a draft and the logs of edits that belong together.
type curation struct {
	draftName   string
	draftSHA256 string
	draft       *labels.Draft
	logs        []*curationLog
	comparison  *curate.Comparison // of the two curators, where there is an adjudication
}

// curationLog is a log with what came of its edits.
type curationLog struct {
	Name   string        `json:"log"`
	Report curate.Report `json:"report"`

	path   string
	sha256 string
	header curate.Header
	edits  []curate.Edit
}

// readCuration reads a draft and logs. A torn line at the end of a log is left
// out and reported.
func readCuration(j *job, draft string, logs []string) (*curation, error) {
	f := &curation{draftName: filepath.Base(draft)}
	var err error
	if f.draftSHA256, err = sha256File(draft); errors.Is(err, fs.ErrNotExist) {
		return nil, withHint(err, "`hgld cluster run` makes a draft")
	} else if err != nil {
		return nil, err
	}
	if f.draft, err = readDraft(draft); err != nil {
		return nil, err
	}
	for _, path := range logs {
		l := &curationLog{Name: filepath.Base(path), path: path}
		if l.sha256, err = sha256File(path); err != nil {
			return nil, logError(err)
		}
		c, err := curate.ReadLog(path)
		if err != nil {
			return nil, logError(err)
		}
		if c.Torn != nil {
			j.say("%v; it is left out", c.Torn)
		}
		l.header, l.edits = c.Header, c.Edits
		if first := f.logs; len(first) > 0 && !slices.Equal(first[0].header.Levels, l.header.Levels) {
			return nil, fmt.Errorf("%s has the levels %.80q, %s has %.80q; they cannot be joined", first[0].path, first[0].header.Levels, path, l.header.Levels)
		}
		if l.header.DraftSHA256 != f.draftSHA256 {
			j.say("%s was made for another draft than %s (%s); tags are found by text and item", path, draft, l.header.Draft)
		}
		f.logs = append(f.logs, l)
	}
	if len(f.logs) == 0 {
		return nil, usagef("no log of edits is given")
	}
	return f, nil
}

func readDraft(path string) (*labels.Draft, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return labels.ReadDraft(r, path)
}

// replay returns the session of all logs: each one on top of those before it.
// Logs that a later one adjudicates are two curators', side by side.
func (f *curation) replay(policy curate.OnConflict) (*curate.Session, error) {
	session, err := f.fresh()
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(f.logs); i++ {
		if i+2 < len(f.logs) && len(f.logs[i+2].header.Adjudicates) > 0 {
			if session, err = f.adjudicate(i, policy); err != nil {
				return nil, err
			}
			i++
			continue
		}
		if len(f.logs[i].header.Adjudicates) > 0 && (i < 2 || f.comparison == nil) {
			return nil, usagef("%s decides between two curators' logs; name those two before it", f.logs[i].path)
		}
		session = session.Above()
		if err := f.one(session, f.logs[i], policy); err != nil {
			return nil, err
		}
	}
	return session, nil
}

// adjudicate sets logs i and i+1 side by side for log i+2 to decide.
func (f *curation) adjudicate(i int, policy curate.OnConflict) (*curate.Session, error) {
	if i != 0 {
		return nil, usagef("%s decides between two curators' logs; they must be the first", f.logs[i+2].path)
	}
	both, third := f.logs[:2], f.logs[2]
	have := []string{both[0].sha256, both[1].sha256}
	want := slices.Clone(third.header.Adjudicates)
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		return nil, withCode(exitIntegrity, fmt.Errorf("%s decides between other logs than %s and %s, or one of them was changed since", third.path, both[0].path, both[1].path))
	}
	var sessions [2]*curate.Session
	for k, l := range both {
		var err error
		if sessions[k], err = f.fresh(); err != nil {
			return nil, err
		}
		if err := f.one(sessions[k], l, policy); err != nil {
			return nil, err
		}
	}
	session, comparison, err := curate.Adjudicate(sessions[0], sessions[1])
	f.comparison = comparison
	return session, err
}

func (f *curation) fresh() (*curate.Session, error) {
	return curate.NewSession(f.draft, f.logs[0].header.Levels)
}

// one replays a log on a session. On the log's own draft every edit must be
// possible.
func (f *curation) one(s *curate.Session, l *curationLog, policy curate.OnConflict) error {
	var err error
	if l.header.DraftSHA256 == f.draftSHA256 {
		if l.Report, err = s.Load(l.edits); err != nil {
			return withCode(exitIntegrity, fmt.Errorf("%s: %w", l.path, err))
		}
		return nil
	}
	if l.Report, err = s.Replay(l.edits, policy); err != nil {
		return withHint(fmt.Errorf("%s: %w", l.path, err), "--on-conflict skip does what can be done and lists the rest")
	}
	return nil
}

// open lists what the adjudicator left undecided.
func (f *curation) open(s *curate.Session) ([]curate.Difference, []curate.ParentDifference) {
	if f.comparison == nil {
		return nil, nil
	}
	return f.comparison.Open(s)
}
