package format

import "testing"

func TestDiffTextNamesGroupsAndTheFirstTags(t *testing.T) {
	d := &Difference{Tags: 3, Equal: 1,
		Merged: []GroupChange{{From: []string{"a", "b"}, To: []string{"c"}, Tags: []string{"x", "y\nz", "w"},
			Landmarks: 1, Images: 2}},
		Removed: []GroupChange{{From: []string{"gone"}}},
		Moved:   []GroupChange{{From: []string{""}, To: []string{"d"}, Tags: []string{"t"}, Landmarks: 5}},
		TagsNew: []TagChange{{Name: "n", Group: "g", Landmarks: 2}, {Name: "m"}, {Name: "l"}}}
	want := "3 tags in both, 1 in the same group; 0 only in A, 3 only in B\n" +
		`merged: "a" + "b" -> "c" (3 tags, 1 landmark, 2 images): x, y\nz and 1 more` + "\n" +
		`gone: "gone" (0 tags, 0 landmarks)` + "\n" +
		`moved: no group -> "d" (1 tag, 5 landmarks): t` + "\n" +
		`tag only in B: "n" in "g" (2 landmarks)` + "\n" +
		`tag only in B: "m" in no group (0 landmarks)` + "\n" +
		"tag only in B: 1 more (--limit 0 lists all)\n"
	if got := d.Text("A", "B", 2); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got, want := new(Difference).Text("A", "B", 0), "0 tags in both, 0 in the same group; 0 only in A, 0 only in B\n"+
		"nothing differs\n"; got != want {
		t.Errorf("of none: %q, want %q", got, want)
	}
}
