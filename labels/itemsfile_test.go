package labels_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
)

func TestItemsAreWrittenAndRead(t *testing.T) {
	t.Parallel()
	items := []labels.Item{{ID: "Q5", Label: "Kirche", Language: "de", SubclassOf: []string{"Q7"}, Merged: []string{"Q6"}},
		{ID: "Q7", Missing: true}, {ID: "Q30", Label: "Land", ISO: "DE", Continent: []string{"Q46"}}}
	var b bytes.Buffer
	must.Do(t, labels.WriteItems(&b, labels.ItemsHeader{Tool: "hgld", Source: "api"}, items))
	header, got, err := labels.ReadItems(bytes.NewReader(b.Bytes()), "items.jsonl")
	if err != nil || header.Version != labels.ItemsVersion || !reflect.DeepEqual(got, items) {
		t.Errorf("%+v %+v, %v", header, got, err)
	}
	all := labels.NewItems(got)
	if all.Get("Q6") != all.Get("Q5") || all.Get("Q7") != nil || all.Get("Q8") != nil || all.Get("Q30").ISO != "DE" {
		t.Error("items are found by their ids and by those that were merged, if they exist")
	}
	for text, want := range map[string]string{
		"":                             "is empty",
		`{"hgld_items":2}`:             "version 2",
		`{"hgld_tags":1}`:              `"hgld_items" is missing`,
		b.String() + `{"id":"Q6"}`:     "already in line 2",
		b.String() + `{"label":"x"}`:   `"id" is missing`,
		b.String() + `{"id":"Q9","I":`: "incomplete",
	} {
		if _, _, err := labels.ReadItems(strings.NewReader(text), "items.jsonl"); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}
