package serve

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	"hgld/curate"
	"hgld/internal/testing/must"
)

// A log may have more levels than tags, groups and kinds. Edits of groups work on every level above
// the tags.
func TestFourLevelsAreEdited(t *testing.T) {
	levels := []string{"tag", "supercategory", "family", "kind"}
	draft := testDraft(30)
	path := filepath.Join(t.TempDir(), "four.jsonl")
	must.Do(t, curate.CreateLog(path, curate.Header{By: "anna", DraftSHA256: "ab", Levels: levels}))
	log, _, err := curate.OpenLog(path)
	must.Do(t, err)
	defer log.Close()
	session := must.Get(curate.NewSession(draft, levels))(t)
	_, a, _ := newServer(t, draft, func(c *Config) { c.Session, c.Save = session, log.Append })
	names := func(list ...string) (refs []curate.Ref) {
		for _, n := range list {
			refs = append(refs, curate.Ref{Name: n})
		}
		return refs
	}
	var got answer
	for i, o := range []order{
		{Op: curate.SetParent, Level: 1, From: names("cluster 0", "cluster 1"), To: "sacred"},
		{Op: curate.SetParent, Level: 1, From: names("cluster 2"), To: "profane"},
		{Op: curate.SetParent, Level: 2, From: names("sacred", "profane"), To: "human-made"},
		{Op: curate.Rename, Level: 2, From: names("profane"), To: "civil"},
		{Op: curate.Merge, Level: 2, From: names("sacred", "civil"), To: "building"},
		{Op: curate.Revert, Of: 5},
		{Op: curate.Note, Level: 3, From: names("human-made"), Note: "all of it"},
		{Op: curate.Flag, Level: 2, From: names("sacred"), Note: "too broad?"},
		{Op: curate.Split, Level: 2, From: names("sacred"),
			Parts: []curate.Part{{To: "churches", Members: names("cluster 0")}, {To: "temples", Members: names("cluster 1")}}},
	} {
		o.ID, o.Base = fmt.Sprintf("level-edit-%d", i), i
		if code := a.post("/api/edit", o, &got); code != http.StatusOK {
			t.Fatalf("%s of level %d: %d %s", o.Op, o.Level, code, got.Error)
		}
	}
	var all fullState
	a.get("/api/state", &all)
	if !slices.Equal(all.Levels, levels) || len(all.Sizes) != 4 {
		t.Errorf("levels %q with %d places", all.Levels, all.Sizes)
	}
	parent := map[string]string{}
	at := func(level, place int) string {
		for _, g := range all.Groups {
			if g.Level == level && g.At == place {
				return g.Name
			}
		}
		return ""
	}
	for _, g := range all.Groups {
		if !g.Gone {
			parent[g.Name] = at(g.Level+1, g.Parent)
		}
	}
	want := map[string]string{"cluster 0": "churches", "cluster 1": "temples", "cluster 2": "civil",
		"churches": "human-made", "temples": "human-made", "civil": "human-made", "human-made": ""}
	if fmt.Sprint(parent) != fmt.Sprint(want) {
		t.Errorf("parents %v, want %v", parent, want)
	}
	h, err := session.Hierarchy(true)
	if err != nil || len(h.Levels) != 4 || len(h.Levels[3].Classes) != 1 {
		t.Errorf("the hierarchy has %d levels: %v", len(h.Levels), err)
	}
	for _, o := range []order{
		{Op: curate.SetParent, Level: 3, From: names("human-made"), To: "all"},
		{Op: curate.SetParent, Level: 1, From: names("cluster 0"), To: ""},
	} {
		o.ID, o.Base = fmt.Sprintf("level-last-%d", o.Level), 9
		if code := a.post("/api/edit", o, &got); (code == http.StatusOK) != (o.Level == 1) {
			t.Errorf("%s of level %d: %d", o.Op, o.Level, code)
		}
	}
}
