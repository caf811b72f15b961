package main

import (
	"errors"
	"io/fs"

	"hgld/curate"
)

// readCuration reads a draft and logs. It tells the user about logs with a torn last line
// and about logs of another draft.
func readCuration(j *job, draft string, logs []string) (*curate.Curation, error) {
	c, err := curate.OpenCuration(draft)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, withHint(err, "`hgld cluster run` makes a draft")
	}
	if err != nil {
		return nil, err
	}
	for _, path := range logs {
		l, err := c.Add(path)
		if err != nil {
			return nil, logError(err)
		}
		if l.Contents.Torn != nil {
			j.say("%v; it is left out", l.Contents.Torn)
		}
		if !c.Own(l) {
			j.say("%s was made for a draft other than %s (%s); its tags are matched by text and QID", path, draft,
				l.Contents.Header.Draft)
		}
	}
	if len(logs) == 0 {
		return nil, usagef("no log of edits is given")
	}
	return c, nil
}
