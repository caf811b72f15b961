package curate

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"hgld/internal/filehash"
)

// LogsOn returns the logs that were made for a draft and have edits, from the given paths
// and from the draft's folder. It returns none if the draft does not exist, and a
// *DamageError if a log is damaged.
func LogsOn(draft string, paths []string) ([]*LogFile, error) {
	sum, _, err := filehash.SHA256(context.Background(), draft)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// filepath.Glob hides errors, and the draft would seem uncurated.
	entries, err := os.ReadDir(filepath.Dir(draft))
	if err != nil {
		return nil, err
	}
	paths = slices.Clone(paths)
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".jsonl" {
			paths = append(paths, filepath.Join(filepath.Dir(draft), e.Name()))
		}
	}
	var logs []*LogFile
	seen := map[string]bool{}
	for _, path := range paths {
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		if seen[abs] {
			continue
		}
		seen[abs] = true
		l, err := ReadLogOn(path, sum)
		if err != nil {
			return nil, err
		}
		if l != nil {
			logs = append(logs, l)
		}
	}
	return logs, nil
}

// LogsOfOther returns the logs that have edits and were made for a draft other than the given
// one. It returns fs.ErrNotExist if the draft or a log does not exist, and a *DamageError if
// a log is damaged.
func LogsOfOther(draft string, paths []string) ([]*LogFile, error) {
	sum, _, err := filehash.SHA256(context.Background(), draft)
	if err != nil {
		return nil, err
	}
	var logs []*LogFile
	for _, path := range paths {
		l, err := ReadLogFile(path)
		if err != nil {
			return nil, err
		}
		if l.Contents.Header.DraftSHA256 != sum && len(l.Contents.Edits) > 0 {
			logs = append(logs, l)
		}
	}
	return logs, nil
}

// ProposedIn returns the number of proposed, undecided tags after a replay of the given logs
// on the draft at path. It replays them only if one of them has a proposal.
func ProposedIn(path string, logs []string) (int, error) {
	proposes := false
	for _, log := range logs {
		l, err := ReadLogFile(log)
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		proposes = proposes || slices.ContainsFunc(l.Contents.Edits, func(e Edit) bool { return e.Op == Propose })
	}
	if !proposes {
		return 0, nil
	}
	c, err := OpenCuration(path)
	if err != nil {
		return 0, err
	}
	for _, log := range logs {
		if _, err := c.Add(log); err != nil {
			return 0, err
		}
	}
	s, err := c.Replay(Skip)
	if err != nil {
		return 0, err
	}
	return len(s.Proposed()), nil
}
