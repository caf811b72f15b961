package scrape

import (
	"testing"

	"hgld/labels"
)

func TestImportedBlankTagIsNoTag(t *testing.T) {
	row := labels.TagRow{Tag: " \t"}
	row.Landmark, row.Split = 7, labels.Train
	if r := Imported(row); r.Outcome != labels.NoTag || r.Tag != "" || r.Values != nil || r.Check() != nil {
		t.Errorf("%+v, %v", r, r.Check())
	}
	row.Tag = " church  building "
	if r := Imported(row); r.Outcome != labels.OK || r.Raw != row.Tag || r.Tag != "church building" || r.Check() != nil {
		t.Errorf("%+v, %v", r, r.Check())
	}
}
