package selection

import (
	"reflect"
	"testing"
)

func TestEvaluationNamesOtherImagesThanItsRun(t *testing.T) {
	run := Images{Data: "shards", Splits: []string{"train"}, HoldOut: 0.2, HoldOutSeed: 1, Query: "test", Gallery: "index",
		Benchmarks: []string{"a", "b"}}
	for name, c := range map[string]struct {
		other Other
		want  Images
	}{
		"nothing": {Other{Gallery: "train"}, run},
		"another folder, with the splits of the run": {Other{Data: "more"}, Images{Data: "more", Splits: []string{"train"},
			HoldOut: 0.2, HoldOutSeed: 1, Query: "test", Gallery: "index"}},
		"held-out classes": {Other{HoldOut: 0.5, HoldOutSeed: 3, Splits: []string{"index"}}, Images{Data: "shards",
			Splits: []string{"index"}, HoldOut: 0.5, HoldOutSeed: 3}},
		"a split among itself": {Other{Query: "index"}, Images{Data: "shards", Splits: []string{"index"}, HoldOutSeed: 1,
			Query: "index"}},
		"a split and classes": {Other{Query: "index", Gallery: "train", HoldOut: 0.5, HoldOutSeed: 3}, Images{Data: "shards",
			Splits: []string{"index"}, HoldOutSeed: 3, Query: "index", Gallery: "train"}},
	} {
		if got := run.With(c.other); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
