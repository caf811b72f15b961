package settings

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// part is a part of an entry.
type part struct {
	Tau   float64
	Count int `yaml:"n"`
}

// entry has its own settings, parts, and a Check method.
type entry struct {
	PerTuple int
	Widths   []int
	Inner    part
	Extra    *part
}

func (e entry) Check() error {
	if e.PerTuple == 13 {
		return errors.New("per_tuple is 13, want another")
	}
	return nil
}

func TestApplySetsACopyOfAnEntry(t *testing.T) {
	was := entry{PerTuple: 2, Widths: []int{8}, Inner: part{Tau: 0.5}, Extra: &part{Count: 3}}
	got, err := Apply(was, map[string]any{"per_tuple": 64.0, "widths": []any{8, 16}, "extra": nil,
		"inner": map[string]any{"n": 4, "tau": nil}})
	must.Do(t, err)
	want := entry{PerTuple: 64, Widths: []int{8, 16}, Inner: part{Tau: 0.5, Count: 4}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if was.PerTuple != 2 || was.Inner.Count != 0 || was.Extra == nil || was.Extra.Count != 3 {
		t.Errorf("the entry itself was changed to %+v", was)
	}
	got, err = Apply(&entry{}, map[string]any{"extra": map[string]any{"tau": 1}})
	if p, ok := got.(*entry); err != nil || !ok || p.Extra == nil || p.Extra.Tau != 1 {
		t.Errorf("%+v, %v: want a pointer to an entry with the part", got, err)
	}
}

func TestApplyRefusesInvalidSettings(t *testing.T) {
	for want, values := range map[string]map[string]any{
		`per_tuple: "2.5" is not a whole number`:             {"per_tuple": 2.5},
		`widths: "[8, 16.5]" is not a list`:                  {"widths": []any{8, 16.5}},
		`inner: n: "many" is not a whole number`:             {"inner": map[string]any{"n": "many"}},
		`unknown setting "tau": did you mean "inner.tau"?`:   {"tau": 1},
		`unknown setting "per_tupel": did you mean "per_tup`: {"per_tupel": 1},
		`per_tuple is 13`: {"per_tuple": 13},
		`extra.n is -1, want a whole number from 0`: {"extra": map[string]any{"n": -1}},
	} {
		if got, err := Apply(entry{}, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %+v, error %v, want %s", values, got, err, want)
		}
	}
	if _, err := Apply(7, map[string]any{"a": 1}); err == nil || err.Error() != "it has no settings, but got a" {
		t.Errorf("error %v", err)
	}
}
