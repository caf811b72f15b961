package curate

import (
	"slices"
	"testing"
	"time"
)

// Tags count for the edits in force; a revert is an edit, and what it reverts is undone. Days are those of the zone.
func TestStatisticsCountByDayAndCurator(t *testing.T) {
	day := func(d, hour int) time.Time { return time.Date(2026, 5, d, hour, 0, 0, 0, time.UTC) }
	parts := []Part{{To: "x", Members: refs("d", "e", "f")}}
	edits := []Edit{
		{Seq: 1, By: "Anna", At: day(1, 9), Op: Accept, From: refs("a", "b"), To: "x"},
		{Seq: 2, By: "Anna", At: day(1, 10), Op: Drop, From: refs("c")},
		{Seq: 3, By: "Ben", At: day(1, 11), Op: Propose, Parts: parts},
		{Seq: 4, By: "Ben", At: day(1, 12), Op: Confirm, Parts: parts},
		{Seq: 5, By: "Anna", At: day(1, 23), Op: Rename, Level: 1, From: refs("x"), To: "y"},
		{Seq: 6, By: "Anna", At: day(2, 9), Op: Move, From: refs("a"), To: "z"},
		{Seq: 7, By: "Anna", At: day(2, 9), Op: Revert, Of: 6},
		{Seq: 8, By: "Anna", At: day(2, 9), Op: Flag, From: refs("b")},
	}
	want := []Work{
		{By: "Anna", Day: "2026-05-01", Edits: 2, Read: 3, Dropped: 1},
		{By: "Ben", Day: "2026-05-01", Edits: 2, Confirmed: 3},
		{By: "Anna", Day: "2026-05-02", Edits: 4, Undone: 1, Groups: 1, Flags: 1},
	}
	got := Statistics(edits, time.FixedZone("east", 3600*2))
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	const text = "day         curator  edits  undone  read  dropped  confirmed  groups  flags, notes\n" +
		"2026-05-01  Anna         2       0     3        1          0       0             0\n" +
		"2026-05-01  Ben          2       0     0        0          3       0             0\n" +
		"2026-05-02  Anna         4       1     0        0          0       1             1\n"
	if got := StatisticsText(got); got != text {
		t.Errorf("the table is\n%s", got)
	}
}
