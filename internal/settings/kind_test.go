package settings

import (
	"reflect"
	"testing"
	"time"
)

func TestKindNamesTypesInPlainWords(t *testing.T) {
	for want, of := range map[string]any{
		"a whole number": 1, "a whole number from 0 up": uint64(1), "a number": float32(1),
		"true or false": true, "a text": "",
		"a duration (90s, 5m)": time.Second, "a list; each is a text": []string{},
		"a list of 2; each is a number": [2]float64{},
		"a group of keys":               map[string]any{},
	} {
		if got := Kind(reflect.TypeOf(of)); got != want {
			t.Errorf("%T is %q, want %q", of, got, want)
		}
	}
	if got := Kind(reflect.TypeFor[*int]()); got != "a whole number" {
		t.Errorf("a pointer is %q", got)
	}
	if err := Misfit("fast", reflect.TypeFor[float64]()); err.Error() != "fast is not a number" {
		t.Error(err)
	}
}

func TestSnakeWritesGoNamesAsKeys(t *testing.T) {
	for name, want := range map[string]string{
		"PerTuple": "per_tuple", "M": "m", "Beta1": "beta1", "NBins": "n_bins", "HMinusAtZero": "h_minus_at_zero",
		"DG": "dg", "At0Rank": "at0_rank",
	} {
		if got := Snake(name); got != want {
			t.Errorf("snake(%q) = %q, want %q", name, got, want)
		}
	}
}
