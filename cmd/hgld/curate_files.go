package main

import (
	"errors"
	"io/fs"

	"hgld/curate"
)

// readCuration reads a draft and logs. It tells the user about torn logs and logs of
// another draft.
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
			j.say("%s was made for another draft than %s (%s); tags are found by text and item", path, draft,
				l.Contents.Header.Draft)
		}
	}
	if len(logs) == 0 {
		return nil, usagef("no log of edits is given")
	}
	return c, nil
}
