package format

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"hgld/curate"
	"hgld/internal/spelling"
)

// Import appends what a document says to a log of edits.
type Import struct {
	Edits   []curate.Edit // those that the document asks for, as Edits lists them
	Missing []curate.Ref  // tags of the document that the draft does not have
	New     []string      // groups of the document that the session does not have yet
	Unknown []string      // lines of the document that suggest one of these groups

	path    string
	by      string
	fresh   *curate.Header // of a log that does not exist yet
	log     *curate.Log    // nil before it is made, and in a dry run
	session *curate.Session
}

// OtherDraftError says that a log was made for another draft than an import's.
type OtherDraftError struct {
	Log, Draft string // path of the log, Draft that of the draft
}

// Error names the log and the draft.
func (e *OtherDraftError) Error() string {
	return fmt.Sprintf("%s was made for another draft than %s", e.Log, e.Draft)
}

// OpenImport plans the import of a document into the log at path, as decisions of by on
// a draft. The log is locked until Close, unless this is a dry run. A log that does not
// exist is made by Append, with the document's levels if it has kinds.
//
// The error is an *OtherDraftError or that of curate.Misplaced if the log does not
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
		return nil, curate.Misplaced(path, len(contents.Header.Adjudicates),
			"an import is a curator's own: name another log")
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
	d.matchGroups(i.session)
	if i.New, err = newGroups(i.session, d); err != nil {
		return err
	}
	for k, s := range d.suggestions {
		if slices.Contains(i.New, s.group) {
			tag := d.Hierarchy.Levels[0].Classes[k].Name
			i.Unknown = append(i.Unknown, fmt.Sprintf("%s: no group is called %.80q, which is suggested for %.80q", s.where,
				s.group, tag))
		}
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
	for _, r := range d.Hierarchy.Rules {
		names = append(names, r.Group)
	}
	for _, name := range names {
		if name != "" && !known[name] {
			known[name] = true
			list = append(list, name)
		}
	}
	return list, nil
}

// matchGroups gives suggestions the names that the session's groups have, where they differ only in case or white
// space. A group that an edit named comes before a cluster.
func (d *Document) matchGroups(s *curate.Session) {
	exact, alike := map[string]bool{}, map[string]string{}
	for _, named := range []bool{false, true} { // the later ones count
		for g := range s.Size(1) {
			if n := s.Node(1, g); !n.Gone && (s.OwnName(g) != "") == named {
				exact[n.Name] = true
				alike[spelling.Key(n.Name)] = n.Name
			}
		}
	}
	for i := range d.suggestions {
		group := &d.suggestions[i].group
		if name, is := alike[spelling.Key(*group)]; *group != "" && !exact[*group] && is {
			*group = name
		}
		d.Hierarchy.Levels[0].Classes[i].Proposed = *group
	}
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
		if e.Level == 0 && e.Op != curate.Note && e.Op != curate.ExtraParent {
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
