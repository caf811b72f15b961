package curate

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hgld/internal/filehash"
	"hgld/internal/regular"
	"hgld/internal/usage"
	"hgld/labels"
)

// Curation is a draft together with the logs of edits that are replayed on it.
type Curation struct {
	Name       string          // draft's file name, without its folder
	SHA256     string          // hexadecimal SHA-256 of the draft's file
	Draft      *labels.Draft   // draft itself
	Logs       []*LogFile      // logs in the order of their replay
	Comparison *ManyComparison // that of the curators, after the replay of an adjudication; nil otherwise

	path  string        // of the draft
	rules []labels.Rule // of the last replay
}

// LogFile is a log of edits by its file. Its JSON form is the file's name and Report.
type LogFile struct {
	Name string `json:"log"` // file name, without its folder
	// Report counts the results of the edits in the last replay.
	Report Report `json:"report"`

	Path     string    `json:"-"` // path of the file
	SHA256   string    `json:"-"` // hexadecimal SHA-256 of the file
	Contents *Contents `json:"-"` // what the file holds
}

// Curator returns the name of the log's author, or that of the file if the log does not
// name one.
func (l *LogFile) Curator() string { return cmp.Or(l.Contents.Curator(), l.Name) }

// MismatchError reports a log that does not fit what it is replayed on: one of its edits is
// impossible on the draft that it names, or it adjudicates between other logs.
type MismatchError struct {
	Err error // names the log, and why it does not belong
}

// Error is the text of Err.
func (e *MismatchError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *MismatchError) Unwrap() error { return e.Err }

// Misplaced is the error for an adjudicator's log, with the number of logs that it decides between, in a place where a
// curator's log is needed, or without those logs. next says what to do.
func Misplaced(path string, logs int, next string) error {
	n := "two"
	if logs > 2 {
		n = strconv.Itoa(logs)
	}
	return usage.Errorf("%s decides between %s curators' logs; %s", path, n, next)
}

// ErrUndecided is returned by Curation.Hierarchy if no tag is decided.
var ErrUndecided = errors.New("no tag is decided, so the hierarchy would have no classes")

// OpenCuration reads a draft. Add reads the logs.
func OpenCuration(draft string) (*Curation, error) {
	f, err := regular.Open(draft)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	r := io.TeeReader(f, sum)
	d, err := labels.ReadDraft(r, draft)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return nil, fmt.Errorf("%s: %w", draft, err)
	}
	return &Curation{Name: filepath.Base(draft), SHA256: hex.EncodeToString(sum.Sum(nil)), Draft: d, path: draft}, nil
}

// ReadLogFile reads a log of edits. The error is a *DamageError if the log is not as it
// was written.
func ReadLogFile(path string) (*LogFile, error) {
	data, err := regular.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, err := parseLog(path, data)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	return &LogFile{Name: filepath.Base(path), Path: path, SHA256: hex.EncodeToString(sum[:]), Contents: c}, nil
}

// longestHeader is an upper bound for the length of a log's first line.
const longestHeader = 64 << 10

// ReadLogOn reads a log if it has edits and its header names the draft with the given
// SHA-256. Otherwise, or if there is no such file, it returns nil. Of other files it
// reads only the first line: tags.jsonl, which has the same ending, may be large.
func ReadLogOn(path, draftSHA256 string) (*LogFile, error) {
	f, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, longestHeader)).ReadBytes('\n')
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if !bytes.Contains(line, []byte(draftSHA256)) {
		return nil, nil
	}
	l, err := ReadLogFile(path)
	if err != nil || l.Contents.Header.DraftSHA256 != draftSHA256 || len(l.Contents.Edits) == 0 {
		return nil, err
	}
	return l, nil
}

// Add reads a log and appends it to Logs. All logs must have the same levels.
func (c *Curation) Add(path string) (*LogFile, error) {
	l, err := ReadLogFile(path)
	if err != nil {
		return nil, err
	}
	if have, want := l.Contents.Header.Levels, c.levels(); len(c.Logs) > 0 && !slices.Equal(have, want) {
		return nil, fmt.Errorf("%s has the levels %.80q, but %s has %.80q; logs with different levels cannot be combined",
			c.Logs[0].Path, want, path, have)
	}
	c.Logs = append(c.Logs, l)
	return l, nil
}

// Own reports whether a log was made for this draft.
func (c *Curation) Own(l *LogFile) bool { return l.Contents.Header.DraftSHA256 == c.SHA256 }

// levels returns the names of the levels of the first log, nil without any.
func (c *Curation) levels() []string {
	if len(c.Logs) == 0 {
		return nil
	}
	return c.Logs[0].Contents.Header.Levels
}

// Replay returns the session of all logs, each one on top of those before it. The logs that
// an adjudicator's log decides between are the first, and it follows them: they are replayed
// side by side, and the adjudicator's on top of what they agree on.
//
// The error is a usage error if an adjudicator's log stands elsewhere, a
// *MismatchError if a log does not fit, and wraps ErrConflict if a replay on another
// draft stopped at an edit.
func (c *Curation) Replay(policy OnConflict) (*Session, error) {
	session, err := NewSession(c.Draft, c.levels())
	if err != nil {
		return nil, err
	}
	c.rules = nil
	at := slices.IndexFunc(c.Logs, (*LogFile).Adjudicates)
	if at >= 0 {
		if session, err = c.adjudicate(at, policy); err != nil {
			return nil, err
		}
	}
	for i, l := range c.Logs[max(at, 0):] {
		if i > 0 && l.Adjudicates() {
			return nil, l.misplaced("name them, and it, alone")
		}
		session = session.Fork()
		if err := c.replayOne(session, l, policy); err != nil {
			return nil, err
		}
		c.rules = session.Rules(c.rules)
	}
	return session, nil
}

// Single returns the session of a single log.
func (c *Curation) Single(l *LogFile, policy OnConflict) (*Session, error) {
	session, err := NewSession(c.Draft, c.levels())
	if err != nil {
		return nil, err
	}
	return session, c.replayOne(session, l, policy)
}

// Adjudicates reports whether this is an adjudicator's log.
func (l *LogFile) Adjudicates() bool { return len(l.Contents.Header.Adjudicates) > 0 }

// misplaced returns the error of an adjudicator's log that stands where it does not belong.
func (l *LogFile) misplaced(next string) error {
	return Misplaced(l.Path, len(l.Contents.Header.Adjudicates), next)
}

// Curators returns the name of the author of each log, or the name of the file if the log does
// not name one or another log has the same.
func Curators(logs []*LogFile) []string {
	names, times := make([]string, len(logs)), map[string]int{}
	for _, l := range logs {
		times[l.Curator()]++
	}
	for k, l := range logs {
		if names[k] = l.Curator(); times[names[k]] > 1 {
			names[k] = l.Name
		}
	}
	return names
}

// Compared returns the logs of the curators between whom an adjudicator's log decides, none
// without one.
func (c *Curation) Compared() []*LogFile {
	return c.Logs[:max(slices.IndexFunc(c.Logs, (*LogFile).Adjudicates), 0)]
}

// adjudicate returns the session that log at starts from: that of all logs before it, side by
// side.
func (c *Curation) adjudicate(at int, policy OnConflict) (*Session, error) {
	blind, own := c.Logs[:at], c.Logs[at]
	want := slices.Sorted(slices.Values(own.Contents.Header.Adjudicates))
	if at != len(want) {
		return nil, own.misplaced("name those before it, and no others")
	}
	var have, paths []string
	for _, l := range blind {
		have, paths = append(have, l.SHA256), append(paths, l.Path)
	}
	slices.Sort(have)
	if !slices.Equal(have, want) {
		return nil, &MismatchError{fmt.Errorf("%s decides between other logs than %s, or one of them was changed since",
			own.Path, listText(paths))}
	}
	sessions := make([]*Session, at)
	for k, l := range blind {
		var err error
		if sessions[k], err = c.Single(l, policy); err != nil {
			return nil, err
		}
	}
	session, comparison, err := Adjudicate(sessions...)
	c.Comparison, c.rules = comparison, commonRules(sessions)
	return session, err
}

// listText joins words as a sentence does: "a, b and c".
func listText(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// replayOne replays a log on a session and notes its Report. On the log's own draft
// every edit must be possible.
func (c *Curation) replayOne(s *Session, l *LogFile, policy OnConflict) (err error) {
	if c.Own(l) {
		if l.Report, err = s.Load(l.Contents.Edits); err != nil {
			return &MismatchError{fmt.Errorf("%s: %w", l.Path, err)}
		}
		return nil
	}
	if l.Report, err = s.Replay(l.Contents.Edits, policy); err != nil {
		return fmt.Errorf("%s: %w", l.Path, err)
	}
	return nil
}

// Open lists the differences between the curators that the adjudicator's session s
// has left undecided. There are none without an adjudication.
func (c *Curation) Open(s *Session) ([]Difference, []ParentDifference) {
	if c.Comparison == nil {
		return nil, nil
	}
	return c.Comparison.Open(s)
}

// Hierarchy returns the classes of the session of the last Replay, as Session.Hierarchy does, with the rules of its
// logs, and records the draft and the logs as their origin. Of compared logs it takes the rules that all have. tool is
// the program and its version. It returns ErrUndecided if no tag has a class.
func (c *Curation) Hierarchy(s *Session, undecided bool, tool string) (*labels.Hierarchy, error) {
	h, err := s.Hierarchy(undecided)
	if err != nil {
		return nil, err
	}
	if len(h.Levels) == 1 {
		return nil, ErrUndecided
	}
	type source struct {
		Name   string `json:"name"`
		By     string `json:"by,omitempty"`
		SHA256 string `json:"sha256"`
		Edits  int    `json:"edits"`
	}
	var logs []source
	for _, l := range c.Logs {
		logs = append(logs, source{Name: l.Name, By: l.Contents.Header.By, SHA256: l.SHA256, Edits: len(l.Contents.Edits)})
	}
	h.Rules = c.rules
	h.Origin, err = json.Marshal(map[string]any{"tool": tool, "draft": c.Name, "draft_sha256": c.SHA256, "logs": logs})
	return h, err
}

// StartLog makes a new log at path for the edits of a curator, by, on a draft. levels
// may be nil for DefaultLevels. adjudicate names the curators' logs that an
// adjudicator decides between, or none; the new log then has their levels. The error is
// fs.ErrExist if there is a file at path.
func StartLog(path, draft, by string, levels, adjudicate []string, created time.Time) error {
	sum, _, err := filehash.SHA256(context.Background(), draft)
	if err != nil {
		return err
	}
	header := Header{By: by, Draft: filepath.Base(draft), DraftSHA256: sum, Levels: levels, Created: created}
	for _, path := range adjudicate {
		l, err := ReadLogFile(path)
		if err != nil {
			return err
		}
		header.Adjudicates = append(header.Adjudicates, l.SHA256)
		header.Levels = l.Contents.Header.Levels
	}
	return CreateLog(path, header)
}
