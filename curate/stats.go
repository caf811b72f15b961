package curate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hgld/internal/texttable"
)

// Work is what a curator did on a day.
type Work struct {
	By      string `json:"by"`      // name of the curator
	Day     string `json:"day"`     // date, as 2006-01-02
	Edits   int    `json:"edits"`   // number of edits, those that were reverted and reverts included
	Undone  int    `json:"undone"`  // number of these edits that are not in force
	Read    int    `json:"read"`    // number of tags that edits in force accepted, moved or dropped
	Dropped int    `json:"dropped"` // number of the dropped ones
	// Confirmed is the number of tags that edits in force decided as proposed, without looking at each.
	Confirmed int `json:"confirmed"`
	// Groups is the number of edits in force of groups: names, merges, divisions, parents and extra parents.
	Groups int `json:"groups"`
	Flags  int `json:"flags"` // number of edits in force of flags and notes
}

// Statistics counts the edits of a log by day, in a zone, and curator. A tag counts once for each edit that decides it.
func Statistics(edits []Edit, zone *time.Location) []Work {
	active := Active(edits)
	at := map[[2]string]int{}
	var list []Work
	for i, e := range edits {
		key := [2]string{e.At.In(zone).Format(time.DateOnly), e.By}
		k, known := at[key]
		if !known {
			k = len(list)
			at[key], list = k, append(list, Work{Day: key[0], By: key[1]})
		}
		w := &list[k]
		if w.Edits++; !active[i] {
			w.Undone++
			continue
		}
		w.count(&e)
	}
	slices.SortStableFunc(list, func(a, b Work) int { return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.By, b.By)) })
	return list
}

// count counts an edit in force.
func (w *Work) count(e *Edit) {
	switch e.Op {
	case Drop:
		w.Dropped += len(e.From)
		w.Read += len(e.From)
	case Accept, Move:
		w.Read += len(e.From)
	case Confirm:
		if e.Note != "" {
			w.Read += Members(e.Parts)
		} else {
			w.Confirmed += Members(e.Parts)
		}
	case Rename, Merge, Split, SetParent, ExtraParent:
		w.Groups++
	case Flag, Note:
		w.Flags++
	}
}

// StatisticsText writes statistics as a table.
func StatisticsText(list []Work) string {
	rows := [][]string{{"day", "curator", "edits", "undone", "read", "dropped", "confirmed", "groups", "flags, notes"}}
	for _, w := range list {
		row := []string{w.Day, cmp.Or(w.By, "(unknown)")}
		for _, n := range []int{w.Edits, w.Undone, w.Read, w.Dropped, w.Confirmed, w.Groups, w.Flags} {
			row = append(row, fmt.Sprint(n))
		}
		rows = append(rows, row)
	}
	return texttable.Format("%s  %s  %1s  %1s  %1s  %1s  %1s  %1s  %1s", rows...)
}
