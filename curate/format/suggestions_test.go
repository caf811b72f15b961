package format

import (
	"slices"
	"strings"
	"testing"

	"hgld/curate"
	"hgld/internal/testing/must"
	"hgld/labels"
)

// Suggestions of another program become one proposal, best first, and decide nothing.
func TestSuggestionsBecomeProposals(t *testing.T) {
	for name, text := range map[string]string{
		"csv": "tag,group,score,source\nchapel,lake,0.2,model b\nbay,ocean area ,0.4,model a\nchapel,church,0.9,model a\n",
		"json": `{"tag":"chapel","group":"lake","score":0.2,"source":"model b","seen":1}` + "\n" +
			`{"tag":"bay","group":"ocean area ","score":0.4,"source":"model a","reason":"water"}` + "\n\n" +
			`{"tag":"chapel","group":"church","score":0.9,"source":"model a"}` + "\n",
		"tsv": "tag\tgroup\tscore\tsource\nchapel\tlake\t0.2\tmodel b\nbay\tocean area \t0.4\tmodel a\n" +
			"chapel\tchurch\t0.9\tmodel a\n",
	} {
		d, err := Read([]byte(text), name, "", labels.ReadOptions{})
		if err != nil || Detect([]byte(text)) != "suggestions" {
			t.Fatalf("%s: %v, taken for %s", name, err, Detect([]byte(text)))
		}
		s, err := curate.NewSession(&labels.Draft{Version: labels.DraftVersion,
			Tags:     []labels.DraftTag{{Tag: labels.Tag{Name: "chapel"}}, {Tag: labels.Tag{Name: "bay"}}},
			Clusters: []labels.Cluster{{Name: "all", Members: []labels.Member{{Tag: 0}, {Tag: 1}}}}}, nil)
		must.Do(t, err)
		edits, missing, err := Edits(s, d)
		if err != nil || len(missing) > 0 || len(edits) != 1 || edits[0].Op != curate.Propose ||
			edits[0].Note != "from model a, model b" {
			t.Fatalf("%s: %+v, missing %v, %v", name, edits, missing, err)
		}
		parts := edits[0].Parts
		if len(parts) != 2 || parts[0].To != "church" || parts[0].Members[0].Name != "chapel" ||
			parts[1].To != "ocean area " {
			t.Errorf("%s: %+v, want church: chapel, then ocean area: bay", name, parts)
		}
		if reasons := parts[1].Reasons; !slices.Equal(parts[0].Scores, []float64{.9}) ||
			!slices.Equal(parts[1].Scores, []float64{.4}) ||
			parts[0].Reasons != nil || name == "json" && !slices.Equal(reasons, []string{"water"}) {
			t.Errorf("%s: %+v, want the scores and the reasons of the file", name, parts)
		}
		if _, err := s.Apply(edits[0], nil); err != nil || len(s.Proposed()) != 2 || len(s.Undecided()) != 2 {
			t.Errorf("%s: proposed %v, undecided %v, %v", name, s.Proposed(), s.Undecided(), err)
		}
		var b strings.Builder
		if lost, err := d.Write(&b, "suggestions"); err != nil || len(lost) > 0 ||
			b.String() != "tag,group\nchapel,church\nbay,ocean area \n" {
			t.Errorf("%s: written %q, lost %v, %v", name, b.String(), lost, err)
		}
	}
}

// JSON lines with an error name the line.
// A suggestion without a group proposes to drop the tag, a score may be a text, and the lines may be an array.
func TestSuggestionsCanSayDrop(t *testing.T) {
	for name, text := range map[string]string{
		"lines": `{"tag":"chapel","group":null,"score":"0.9"}` + "\n" + `{"tag":"bay","group":"(dropped)"}`,
		"array": `[{"tag":"chapel","group":null,"score":0.9},` + "\n" + `{"tag":"bay","group":""}]`,
		"csv":   "tag,group,score\nchapel,,0.9\nbay,(dropped),0.1\n",
	} {
		d, err := Read([]byte(text), name, "", labels.ReadOptions{})
		must.Do(t, err)
		s := must.Get(curate.NewSession(&labels.Draft{Version: labels.DraftVersion,
			Tags:     []labels.DraftTag{{Tag: labels.Tag{Name: "chapel"}}, {Tag: labels.Tag{Name: "bay"}}},
			Clusters: []labels.Cluster{{Name: "all", Members: []labels.Member{{Tag: 0}, {Tag: 1}}}}}, nil))(t)
		edits, _, err := Edits(s, d)
		if err != nil || len(edits) != 1 || len(edits[0].Parts) != 1 || edits[0].Parts[0].To != "" ||
			len(edits[0].Parts[0].Members) != 2 {
			t.Fatalf("%s: %+v, %v; want one proposal to drop both", name, edits, err)
		}
		must.Get(s.Apply(edits[0], nil))(t)
		confirm := curate.Edit{Base: 1, Op: curate.Confirm, Parts: must.Get(s.ProposedParts([]string{"(dropped)"}))(t)}
		if _, err := s.Apply(confirm, nil); err != nil || s.Dropped() != 2 {
			t.Errorf("%s: %d dropped, %v; want both once the proposal is confirmed", name, s.Dropped(), err)
		}
	}
}

func TestDamagedJSONSuggestionsNameTheLine(t *testing.T) {
	first := `{"tag":"a","group":"b"}` + "\n"
	for text, want := range map[string]string{
		first + "{\n":                                 "f:2: unexpected EOF",
		first + `{"tag":"chapel"}`:                    `f:2: want a "tag" and its "group", which is null`,
		`{"tag":"chapel","class":"church"}` + "\n":    `f:1: want a "tag" and its "group"`,
		first + `{"tag":"a","group":"b","score":"x"}`: `f:2: the score of "a" is "x"; want a number`,
		first + `{"tag":"a","group":7}`:               "f:2: group is 7; want a text",
		"[\n" + `{"tag":"a","group":"b"},` + "\n7]":   "f:3: a number stands where an object is wanted",
	} {
		if _, err := Read([]byte(text), "f", "", labels.ReadOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestDamagedSuggestionsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"tag,group,score\nchapel,church,high\n":          "f:2: the score of \"chapel\" is \"high\"; want a number",
		"tag,group,score\nchapel,church,NaN\n":           "want a number",
		"tag,group\nchapel\n":                            "f:2: 1 columns; want 2",
		"tag,group\n,church\n":                           "f:2: a tag without a name",
		"tag,group,score,where\nchapel,church,1,there\n": "f:1: the columns are",
		"tag,group\n":                                    "f: has no suggestion",
	} {
		_, err := Read([]byte(text), "f", "suggestions", labels.ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
