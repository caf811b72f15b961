package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hgld/curate"
	"hgld/internal/pipeline"
)

// A draft that was curated is not overwritten: its log refers to tags and groups that
// another draft may not have. A new draft is written next to it as draft.new.json.

// logsOfDraft returns the logs with edits that were made for a draft: those of the project
// and those in the draft's folder. It returns none if the draft does not exist.
func logsOfDraft(p *pipeline.Project, draft string) ([]*curate.LogFile, error) {
	settings, err := curateStage().Load(p, nil)
	if err != nil {
		return nil, err
	}
	logs, err := curate.LogsOn(draft, settings.Logs)
	return logs, logError(err)
}

// newFileName returns the name of a new file next to another: draft.new.json for
// draft.json.
func newFileName(path string) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + ".new" + ext
}

// keptDraftError returns the error for a clustering that kept a curated draft and wrote the
// new one next to it. The error says which file is which, what the logs would lose, and
// how to continue.
func keptDraftError(draft, written string, logs []*curate.LogFile) error {
	lost, err := curate.LostText(written, logs)
	if err != nil {
		return err
	}
	err = fmt.Errorf("%s was curated in %s and is kept; the new draft is %s: %s", draft, curate.LogsText(logs), written,
		lost)
	return withHint(err, "`hgld curate serve --draft %s --log %s --on-conflict skip` carries the log over; "+
		"`hgld cluster run --replace` overwrites %s", word(written), word(logs[0].Path), draft)
}

// bothCuratedError returns the error for a clustering that would overwrite a curated draft
// under either of its two names.
func bothCuratedError(draft, written string, logs []*curate.LogFile) error {
	err := fmt.Errorf("%s and %s were both curated, in %s; neither is overwritten", draft, written, curate.LogsText(logs))
	return withHint(err, "name another file with --out, or overwrite %s with --replace", draft)
}

// curatedNote is a line of hgld status about a curated draft. It says what the logs would
// lose on the new draft next to it or, if stage 2 is stale, that a new draft will be
// written there. It returns "" if the draft was not curated.
func (s *clusterSettings) curatedNote(p *pipeline.Project, stale bool) (string, error) {
	logs, err := logsOfDraft(p, s.Out)
	if err != nil || len(logs) == 0 {
		return "", err
	}
	written := newFileName(s.Out)
	if _, err := os.Stat(written); errors.Is(err, fs.ErrNotExist) {
		if !stale {
			return "", nil
		}
		return fmt.Sprintf("%s was curated in %s: a new draft will be written next to it", p.Inside(s.Out),
			curate.LogsText(logs)), nil
	}
	lost, err := curate.LostText(written, logs)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s is next to it: %s", p.Inside(written), lost), nil
}

// carryCommand is the command that carries the log of a curated draft over to the new draft beside it,
// "" if there is none, or if its tags or the project's settings are newer.
func carryCommand(p *pipeline.Project) string {
	s, err := clusterStage().Load(p, nil)
	if err != nil {
		return ""
	}
	written, err := os.Stat(newFileName(s.Out))
	if err != nil {
		return ""
	}
	for _, path := range append([]string{p.File, s.Tags, s.KeepGroups, s.Groups}, s.Counts...) {
		if in, err := os.Stat(path); err == nil && in.ModTime().After(written.ModTime()) {
			return ""
		}
	}
	logs, err := logsOfDraft(p, s.Out)
	if err != nil || len(logs) == 0 {
		return ""
	}
	return fmt.Sprintf("curate serve --draft %s --log %s --on-conflict skip", word(p.Inside(newFileName(s.Out))),
		word(p.Inside(logs[0].Path)))
}

// otherDraftNote is a line of hgld status. It says what logs made for another draft lose
// on the current one, and is "" if they were made for the current draft.
func (s *curateSettings) otherDraftNote() (string, error) {
	logs, err := curate.LogsOfOther(s.Draft, s.Logs)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil || len(logs) == 0 {
		return "", logError(err)
	}
	lost, err := curate.LostText(s.Draft, logs)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s is not the draft that was curated: %s", filepath.Base(s.Draft), lost), nil
}
