package pipeline

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"hgld/internal/seal"
	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
)

// madeWith runs stage a of a project with other settings than its own, and opens the project again.
func madeWith(t *testing.T, text string, change func(*files)) *Project {
	t.Helper()
	j := projectHere(t, text, spec("a", "in"))
	testfile.Write(t, ".", "in", "x")
	own := &files{}
	p := j.options.Project
	*own = *p.pipeline.Stages[0].Settings().(*files)
	must.Do(t, p.LoadFile("a", own))
	change(own)
	must.Do(t, p.pipeline.Stages[0].Execute(j, own))
	return open(t, p.pipeline, "")
}

// recalls returns the state of stage a, and what it recalls: "size=5".
func recalls(t *testing.T, p *Project) (State, string) {
	t.Helper()
	list := must.Get(p.States(0))(t)
	var given []string
	for _, g := range list[0].Given {
		given = append(given, g.Key+"="+g.Value)
	}
	return list[0], strings.Join(given, " ")
}

// What a run was given counts as the project's until hgld.yaml sets it, in maps key by key.
func TestGivenSettingsHoldUntilTheFileSetsThem(t *testing.T) {
	change := func(own *files) {
		own.Size = 5
		own.More = map[string]any{"x": 1, "y": map[string]any{"z": "s"}}
	}
	for _, c := range []struct{ before, after, state, given string }{
		{"{}\n", "{}\n", Done, "size=5 more.x=1 more.y={z: s}"},
		{"a: {more: {x: 1}}\n", "a: {more: {x: 1}}\n", Done, "size=5 more.y={z: s}"},
		{"a: {more: {x: 1}}\n", "a: {more: {x: 1, y: 3}}\n", Stale, "size=5"},
		{"a: {more: {x: 1}}\n", "a: {more.x: 2}\n", Stale, "size=5 more.y={z: s}"},
		{"a: {size: 3}\n", "a: {size: 4}\n", Stale, "more.x=1 more.y={z: s}"},
		{"a: {size: 3}\n", "a: {size: 5}\n", Done, "more.x=1 more.y={z: s}"},
		{"{}\n", "a: {size: }\n", Done, "size=5 more.x=1 more.y={z: s}"},
	} {
		p := madeWith(t, c.before, change)
		testfile.Write(t, ".", ProjectFile, c.after)
		st, given := recalls(t, open(t, p.pipeline, ""))
		if st.State != c.state || given != c.given {
			t.Errorf("%q, then %q: %s (%s), given %q; want %s, %q", c.before, c.after, st.State, st.Why, given, c.state,
				c.given)
		}
	}
}

// A key that the program no longer has is forgotten, and so is a value that no longer fits.
func TestGivenSettingsOfAnotherVersionAreForgotten(t *testing.T) {
	p := madeWith(t, "{}\n", func(own *files) { own.Size = 5 })
	was := must.Get(p.pipeline.Stages[0].Stamp(p))(t)
	was.Given = []string{"gone", "gone.deep", "size", "size.deep", "more", "in"}
	was.Settings = strings.Replace(was.Settings, "size: 5", "size: [5]\ngone: 1", 1)
	must.Do(t, p.pipeline.Stages[0].writeStamp(p, was))
	if st, given := recalls(t, open(t, p.pipeline, "")); given != "more={} in=in" {
		t.Errorf("given %q, state %+v", given, st)
	}
	own := p.pipeline.Stages[0].Settings().(*files)
	if err := p.Load(nil, "a", own); err != nil || own.Size != 3 {
		t.Errorf("size is %d, %v; want the default", own.Size, err)
	}
}

// A password in a URL is neither recorded nor recalled, and does not make a result stale.
func TestPasswordsAreNotRecorded(t *testing.T) {
	const text = "a: {size: 4}\n"
	p := madeWith(t, text, func(own *files) { own.Note = "https://me:hush@x.org/a" })
	data, err := os.ReadFile(".hgld/a.json")
	if err != nil || strings.Contains(string(data), "hush") || seal.CheckJSON(data) != nil {
		t.Errorf("%v, %s", err, data)
	}
	if _, given := recalls(t, p); given != "" {
		t.Errorf("given %q", given)
	}
	var was Stamp
	if err := json.Unmarshal(data, &was); err != nil || slices.Contains(was.Given, "note") {
		t.Errorf("%v, given %q", err, was.Given)
	}
	testfile.Write(t, ".", ProjectFile, "a: {size: 4, note: 'https://me:hush@x.org/a'}\n")
	if st, _ := recalls(t, open(t, p.pipeline, "")); st.State != Done {
		t.Errorf("%+v", st)
	}
}
