package labels

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

func extra(key, value string) map[string]json.RawMessage {
	return map[string]json.RawMessage{key: json.RawMessage(value)}
}

const draftText = `{
  "hgld_draft": 1,
  "origin": {
    "tool": "hgld 1.0",
    "encoder": "clip",
    "prompt": "A picture of a {}",
    "algorithm": "kmeans",
    "k": 2,
    "seed": 18446744073709551615,
    "n_init": 1,
    "inertia": 0.1,
    "iterations": 3,
    "input": "tags.jsonl",
    "input_sha256": "a",
    "vectors": "vectors.npy",
    "vectors_sha256": "b",
    "host": [1, 2]
  },
  "tags": [
    {"name":"ocean area ","qid":"Q9","landmarks":249,"images":1222},
    {"name":"fort <ruins> & walls","qualifiers":["ruin"],"landmarks":3,"colour":"red"},
    {"name":"Viña","landmarks":0}
  ],
  "clusters": [
    {
      "id": 4,
      "name": "ocean area ",
      "members": [
        {"tag":0,"distance":0.25},
        {"tag":2,"distance":1e-9,"outlier":true,"why":"far"}
      ],
      "nearest": [7],
      "seen": {"by": "x"}
    },
    {
      "id": 7,
      "name": "fort",
      "members": [
        {"tag":1,"distance":0}
      ]
    }
  ],
  "note": {}
}
`

// hierarchyText has the three levels of stage 3: tag, supercategory, kind.
const hierarchyText = `{
  "hgld_hierarchy": 1,
  "levels": [
    {
      "name": "tag",
      "classes": [
        {"name":"church building","qid":"Q16970","parent":0},
        {"name":"lake","parent":1,"seen":3},
        {"name":"organization","parent":-1,"dropped":"no landmark"},
        {"name":"ocean","parent":-1}
      ]
    },
    {
      "name": "supercategory",
      "classes": [
        {"name":"church","parent":0},
        {"name":"ocean area ","parent":1,"note":"space as published"}
      ],
      "colour": "blue"
    },
    {
      "name": "kind",
      "classes": [
        {"name":"human-made","parent":-1},
        {"name":"natural","parent":-1}
      ]
    }
  ],
  "origin": {
    "log": "edits.jsonl"
  },
  "extra": 1e400
}
`

func readDraft(r io.Reader) (func(io.Writer) error, error) {
	d, err := ReadDraft(r, "f")
	return func(w io.Writer) error { return WriteDraft(w, d) }, err
}

func readHierarchy(r io.Reader) (func(io.Writer) error, error) {
	h, err := ReadHierarchy(r, "f")
	return func(w io.Writer) error { return WriteHierarchy(w, h) }, err
}

func TestDocumentsRoundTripKeepsEveryField(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		read func(io.Reader) (func(io.Writer) error, error)
	}{
		"draft":     {draftText, readDraft},
		"hierarchy": {hierarchyText, readHierarchy},
	} {
		t.Run(name, func(t *testing.T) {
			write := must.Get(c.read(strings.NewReader(c.text)))(t)
			var b bytes.Buffer
			must.Do(t, write(&b))
			want := strings.NewReplacer("[1, 2]", "[1,2]", `{"by": "x"}`, "{\n        \"by\": \"x\"\n      }").Replace(c.text)
			if b.String() != want {
				t.Errorf("written\n%s\nwant\n%s", b.String(), want)
			}
		})
	}
}

// edit replaces the only occurrence of old in text.
func edit(t *testing.T, text, old, new string) string {
	t.Helper()
	if strings.Count(text, old) != 1 {
		t.Fatalf("%q stands %d times in the text", old, strings.Count(text, old))
	}
	return strings.Replace(text, old, new, 1)
}

func TestReadDraftErrorsNameTheField(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"newer":          {`"hgld_draft": 1`, `"hgld_draft": 9`, `d:2: format version 9 of hgld_draft is not supported`},
		"other file":     {`"hgld_draft": 1`, `"hgld_hierarchy": 1`, `d:1: field "hgld_draft" is missing: this is not a draft file of hgld`},
		"tag twice":      {`"name":"Viña"`, `"name":"ocean area ","qid":"Q9"`, `d: tag "ocean area " occurs twice, as tag 0 and tag 2`},
		"tag unnamed":    {`"name":"Viña"`, `"name":""`, `d: tag 2 has no name`},
		"tag no name":    {`"name":"Viña",`, ``, `d:22: field "name" is missing`},
		"count":          {`"landmarks":249`, `"landmarks":"1 222,00"`, `d:20: landmarks: want a whole number of 64 bits, got string`},
		"count negative": {`"landmarks":249`, `"landmarks":-249`, `d: tag "ocean area ": -249 landmarks`},
		"two clusters":   {`{"tag":1,"distance":0}`, `{"tag":1,"distance":0},{"tag":2,"distance":0}`, `d: tag 2 "Viña" is in two clusters, 4 and 7`},
		"no cluster":     {`{"tag":2,"distance":1e-9,"outlier":true,"why":"far"}`, `{"tag":0,"distance":0}`, `d: tag 0 "ocean area " is in two clusters, 4 and 4`},
		"left out":       {",\n        {\"tag\":2,\"distance\":1e-9,\"outlier\":true,\"why\":\"far\"}", ``, `d: tag 2 "Viña" is in no cluster`},
		"out of range":   {`{"tag":1,"distance":0}`, `{"tag":3,"distance":0}`, `d: cluster 7 "fort": there is no tag 3; want 0 to 2`},
		"distance":       {`{"tag":1,"distance":0}`, `{"tag":1,"distance":-1}`, `d: cluster 7 "fort": tag 1 has distance -1`},
		"empty cluster":  {`{"tag":1,"distance":0}`, ``, `d: cluster 7 "fort" has no members`},
		"id twice":       {`"id": 7`, `"id": 4`, `d: cluster id 4 occurs twice`},
		"name twice":     {`"name": "fort"`, `"name": "ocean area "`, `d: cluster name "ocean area " occurs twice, for cluster 4 and cluster 7`},
		"nearest":        {`[7]`, `[8]`, `d: cluster 4 "ocean area ": nearest names cluster 8`},
		"clusters":       {`"clusters": [`, `"Clusters": [`, `d:1: field "clusters" is missing`},
		"not a list":     {`"qualifiers":["ruin"]`, `"qualifiers":"ruin"`, `d:21: qualifiers: want a list, got string`},
		"tags no list":   {`"tags": [`, `"tags": 5, "clusters ": [`, `d:19: tags: want a list […], got a number`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadDraft(strings.NewReader(edit(t, draftText, c.old, c.new)), "d")
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
		})
	}
}

func TestReadHierarchyErrorsNameTheField(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"newer":          {`"hgld_hierarchy": 1`, `"hgld_hierarchy": 2`, `h:2: format version 2 of hgld_hierarchy is not supported`},
		"class twice":    {`"name":"ocean"`, `"name":"lake"`, `h: tag: class "lake" occurs twice, as class 1 and class 3`},
		"no parent":      {`"parent":1,"note"`, `"note"`, `h:17: field "parent" is missing`},
		"orphan above":   {`"parent":1,"note"`, `"parent":-1,"note"`, `h: supercategory: class "ocean area " has no parent; only a class of level 0`},
		"parent range":   {`"parent":1,"note"`, `"parent":2,"note"`, `h: supercategory: class "ocean area " has parent 2; want a class of the next level, 0 to 1, or -1`},
		"parent minus 2": {`"parent":1,"note"`, `"parent":-2,"note"`, `h: supercategory: class "ocean area " has parent -2`},
		"root parent":    {`"human-made","parent":-1`, `"human-made","parent":0`, `h: kind: class "human-made" has parent 0`},
		"dropped":        {`"parent":-1,"dropped"`, `"parent":1,"dropped"`, `h: tag: class "organization" is dropped (no landmark), but has parent 1`},
		"level twice":    {`"name": "kind"`, `"name": "tag"`, `h: level 2 is called "tag"; want a unique name`},
		"level unnamed":  {`"name": "kind",`, ``, `h:21: field "name" is missing`},
		"empty":          {hierarchyText, `{"hgld_hierarchy":1,"levels":[]}`, `h: the hierarchy has no levels`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadHierarchy(strings.NewReader(edit(t, hierarchyText, c.old, c.new)), "h")
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
		})
	}
}

func FuzzReadDraft(f *testing.F) {
	f.Add([]byte(draftText))
	f.Fuzz(func(t *testing.T, data []byte) { roundTrip(t, data, readDraft) })
}

func FuzzReadHierarchy(f *testing.F) {
	f.Add([]byte(hierarchyText))
	f.Fuzz(func(t *testing.T, data []byte) { roundTrip(t, data, readHierarchy) })
}

// roundTrip checks that everything that can be read can be written and read again, and that the
// second writing gives the bytes of the first.
func roundTrip(t *testing.T, data []byte, read func(io.Reader) (func(io.Writer) error, error)) {
	var once, twice bytes.Buffer
	write, err := read(bytes.NewReader(data))
	if err != nil {
		return
	}
	if err := write(&once); err != nil {
		t.Fatalf("cannot write what was read: %v", err)
	}
	if write, err = read(bytes.NewReader(once.Bytes())); err != nil {
		t.Fatalf("cannot read what was written: %v\n%s", err, once.Bytes())
	}
	must.Do(t, write(&twice))
	if !bytes.Equal(once.Bytes(), twice.Bytes()) {
		t.Fatalf("written again:\n%s\nwas\n%s", twice.Bytes(), once.Bytes())
	}
}
