package format

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"hgld/curate"
)

// Import appends what a document says to a log of edits.
type Import struct {
	// Edits are those that the document asks for, as Edits lists them.
	Edits []curate.Edit
	// Missing are the tags of the document that the draft does not have.
	Missing []curate.Ref
	// New are the groups of the document that the session does not have yet.
	New []string

	path    string
	by      string
	fresh   *curate.Header // of a log that does not exist yet
	log     *curate.Log    // nil before it is made, and in a dry run
	session *curate.Session
}

// OtherDraftError says that a log was made for another draft than an import's.
type OtherDraftError struct {
	// Log is the path of the log, Draft that of the draft.
	Log, Draft string
}

// Error names the log and the draft.
func (e *OtherDraftError) Error() string {
	return fmt.Sprintf("%s was made for another draft than %s", e.Log, e.Draft)
}

// OpenImport plans the import of a document into the log at path, as decisions of by on
// a draft. The log is locked until Close, unless this is a dry run. A log that does not
// exist is made by Append, with the document's levels if it has kinds.
//
// The error is an *OtherDraftError or a *curate.AdjudicationError if the log does not
// take the import, and a *curate.MismatchError if it does not fit its draft. Errors of
// the log are those of curate.OpenLog.
func OpenImport(path, draft, by string, dry bool, d *Document) (*Import, error) {
	c, err := curate.OpenCuration(draft)
	if err != nil {
		return nil, err
	}
	i := &Import{path: path, by: by}
	contents, err := curate.ReadLog(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		i.fresh = &curate.Header{By: by, Draft: c.Name, DraftSHA256: c.SHA256, Levels: importLevels(d), Created: importTime()}
		contents = &curate.Contents{Header: *i.fresh}
	case err != nil:
		return nil, err
	case contents.Header.DraftSHA256 != c.SHA256:
		return nil, &OtherDraftError{Log: path, Draft: draft}
	case len(contents.Header.Adjudicates) > 0:
		return nil, &curate.AdjudicationError{Path: path, Logs: len(contents.Header.Adjudicates),
			Next: "an import is a curator's own: name another log"}
	case !dry:
		if i.log, contents, err = curate.OpenLog(path); err != nil {
			return nil, err
		}
	}
	if err := i.plan(c, contents, d); err != nil {
		return nil, errors.Join(err, i.Close())
	}
	return i, nil
}

// plan replays the log and lists the edits of the import.
func (i *Import) plan(c *curate.Curation, contents *curate.Contents, d *Document) (err error) {
	if i.session, err = curate.NewSession(c.Draft, contents.Header.Levels); err == nil {
		_, err = i.session.Load(contents.Edits)
	}
	if err != nil {
		return &curate.MismatchError{Err: fmt.Errorf("%s: %w", i.path, err)}
	}
	if i.New, err = newGroups(i.session, d); err != nil {
		return err
	}
	i.Edits, i.Missing, err = Edits(i.session, d)
	return err
}

// newGroups lists the groups of a document, and those that it proposes, that a session does not have.
func newGroups(s *curate.Session, d *Document) (list []string, err error) {
	groups, err := s.Groups(1)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, g := range groups {
		known[g.Name] = true
	}
	names := d.Groups()
	for _, c := range d.Hierarchy.Levels[0].Classes {
		names = append(names, c.Proposed)
	}
	for _, name := range names {
		if name != "" && !known[name] {
			known[name] = true
			list = append(list, name)
		}
	}
	return list, nil
}

// importLevels returns the levels of a new log: those of the file if it has kinds.
func importLevels(d *Document) []string {
	if len(d.Hierarchy.Levels) < len(curate.DefaultLevels) {
		return curate.DefaultLevels
	}
	return levelNames(d.Hierarchy)
}

// importTime is the time of an edit that is made now, in whole seconds.
func importTime() time.Time { return time.Now().UTC().Truncate(time.Second) }

// Append writes the edits to the log, each on disk before the next, and returns the
// number of tags they decide. If ctx is cancelled, the edits written so far stay, and
// the same import can be repeated.
func (i *Import) Append(ctx context.Context) (tags int, err error) {
	if i.fresh != nil {
		if err := curate.CreateLog(i.path, *i.fresh); err != nil {
			return 0, err
		}
		if i.log, _, err = curate.OpenLog(i.path); err != nil {
			return 0, err
		}
	}
	for _, e := range i.Edits {
		if err := ctx.Err(); err != nil {
			return tags, err
		}
		e.At, e.By = importTime(), i.by
		if _, err := i.session.Apply(e, i.log.Append); err != nil {
			return tags, err
		}
		if e.Level == 0 && e.Op != curate.Note && e.Op != curate.Also {
			tags += len(e.From)
		}
	}
	return tags, nil
}

// Undecided returns the number of the draft's tags that no edit has decided.
func (i *Import) Undecided() int { return len(i.session.Undecided()) }

// Proposed returns the number of those that are proposed.
func (i *Import) Proposed() int { return len(i.session.Proposed()) }

// Close closes the log and lets others open it.
func (i *Import) Close() error {
	if i.log == nil {
		return nil
	}
	return i.log.Close()
}
