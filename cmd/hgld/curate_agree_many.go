package main

import (
	"slices"

	"hgld/curate"
)

// agreeMany is `hgld curate agree` for three or more curators.
func agreeMany(j *job, files *curate.Curation, sessions []*curate.Session) error {
	c, err := curate.CompareMany(sessions)
	if err != nil {
		return err
	}
	names := make([]string, len(sessions))
	for k := range names {
		names[k] = files.Logs[k].Curator()
		if slices.Contains(names[:k], names[k]) {
			names[k] = files.Logs[k].Name
		}
	}
	return j.show(struct {
		Curators   []string               `json:"curators"`
		Comparison *curate.ManyComparison `json:"comparison"`
	}{names, c}, c.Text(names))
}
