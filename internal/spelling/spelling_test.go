package spelling

import (
	"reflect"
	"testing"
)

func TestKeysAreEqualForNamesThatPeopleTakeForOne(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"Café", "Cafe\u0301", true}, {"Apple", "apple ", true}, {"red  fox", "red\u00a0fox", true}, {"1", "1.0", true},
		{"007", "7", true}, {"0", "0.00", true}, {"Straße", "STRASSE", true}, {"Ｔea", "tea", true},
		{"co\u00adop", "coop", true}, {"\ufeffa", "a", true}, {"İ", "i̇", true},
		{"1", "10", false}, {"1.5", "15", false}, {"1.2.0", "1.2", false}, {"a b", "ab", false}, {"é", "e", false},
		{"-1", "1", false}, {"1.", "1", true}, {".5", "0.5", false},
	} {
		if same := Key(c.a) == Key(c.b); same != c.same {
			t.Errorf("%q and %q: %q, %q", c.a, c.b, Key(c.a), Key(c.b))
		}
	}
}

func TestTwinsAreListedWhole(t *testing.T) {
	got := Twins([]string{"b", "A", "c", "a", "C", "a ", "d"})
	if want := [][]string{{"A", "a", "a "}, {"c", "C"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
