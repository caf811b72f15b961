package sweep

import (
	"reflect"
	"testing"
)

func TestVariationsAreSplitAtCommasOrSemicolons(t *testing.T) {
	got, err := ParseVariations([]string{"n-init=1,10", "prompt=tag;photo;tag,photo", "smooth="}, []string{"n_init",
		"prompt", "smooth"})
	want := []Variation{{Key: "n_init", Values: []string{"1", "10"}},
		{Key: "prompt", Values: []string{"tag", "photo", "tag,photo"}}, {Key: "smooth", Values: []string{""}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for text, want := range map[string]string{"smooth": "smooth: expected key=value,value",
		"smoth=1": `smoth=1: unknown key "smoth": did you mean "smooth"? (known: smooth)`} {
		if _, err := ParseVariations([]string{text}, []string{"smooth"}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
