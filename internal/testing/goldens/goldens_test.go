package goldens

import (
	"reflect"
	"testing"
)

func TestFilesWithoutCasesAreRefused(t *testing.T) {
	type file struct {
		Cases []struct{ Name string }
		Extra []struct{ Name string } `json:",omitempty"`
	}
	for _, v := range []any{
		&[]int{}, &map[string]int{}, &map[string][]int{"full": {1}, "empty": {}}, &file{},
	} {
		if hasCases(reflect.ValueOf(v)) {
			t.Errorf("%#v counts as holding cases", v)
		}
	}
	for _, v := range []any{
		&[]int{1}, &map[string][]int{"full": {1}}, &file{Cases: []struct{ Name string }{{"a"}}}, new(struct{ Loss string }),
	} {
		if !hasCases(reflect.ValueOf(v)) {
			t.Errorf("%#v counts as empty", v)
		}
	}
}
