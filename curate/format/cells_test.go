package format

import (
	"bytes"
	"strings"
	"testing"

	"hgld/labels"
)

// A data frame writes nan where a tag has no group. A group of that name is written and read with a mark.
func TestWordsForMissingValuesAreNoGroups(t *testing.T) {
	for text, want := range map[string]string{
		"tag,group\nchapel,church\nmill,nan\n":          `f:3: the group "nan" is a word for a missing value`,
		"group,parent\nchurch,human-made\nlake,NaN\n":   `f:3: the group "NaN" is a word for a missing value`,
		"tag,group,score\nchapel,None,0.5\n":            `f:2: the group "None" is a word for a missing value`,
		"group,parent,landmarks\nN/A,human-made,3\n":    `f:2: the group "N/A" is a word for a missing value`,
		"tag;group\nchapel;church\nmill;<NA>\n":         `f:3: the group "<NA>" is a word for a missing value`,
		"group,parent,landmarks\nlake,human-made,nan\n": `f:2: landmarks of "lake"`,
	} {
		if _, err := Read([]byte(text), "f", "", labels.ReadOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	d, err := Read([]byte("group,parent\n'None,human-made\n"), "f", "", labels.ReadOptions{})
	if err != nil || d.Hierarchy.Levels[1].Classes[0].Name != "None" {
		t.Fatalf("%v, %+v, want the group None", err, d)
	}
	var out bytes.Buffer
	if _, err := d.Write(&out, "groups"); err != nil || !strings.Contains(out.String(), "'None,") {
		t.Errorf("%v, written as %q, want 'None", err, out.String())
	}
}
