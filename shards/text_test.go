package shards

import (
	"strings"
	"testing"

	"hgld/labels"
)

func TestPlanTextListsMissingShards(t *testing.T) {
	want := "shard                                      images       size\n" +
		"train-00000.parquet                             3     2.0 kB  there\n" +
		"train-00001.parquet                             1   10 bytes  missing\n" +
		"4 images in 2 shards, 2.0 kB, 1 missing\n"
	got := PlanText([]Planned{{"train-00000.parquet", 3, 2000, true}, {"train-00001.parquet", 1, 10, false}})
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestTheCostOfAPlanIsThatOfItsMissingShards(t *testing.T) {
	list := []Planned{{Bytes: 5e9, There: true}, {Bytes: 18 * 3600e6}, {Bytes: 18 * 3600e6}}
	for want, b := range map[string]*builder{
		"2 shards to build from 129.6 GB of images; predicted: 4.00 core hours": {},
		"2 shards to build from 129.6 GB of images; predicted: 6.00 core hours, 8 requests": {dir: &remote{},
			o: Options{Settings: Settings{ShortSide: 256, HeadersOnly: true}}},
		"2 shards to build from 129.6 GB of images; predicted: 0.45 core hours": {
			o: Options{Settings: Settings{HeadersOnly: true}}},
	} {
		if got := (&Preview{list, b}).CostText(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestVerificationTextListsTheDamage(t *testing.T) {
	v := &Verified{Files: 1, Rows: 2, Bytes: 3}
	if got, want := v.Text(), "1 file, 2 rows, 3 bytes: no damage\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	v.Damage = []*DamageError{{File: "a.parquet", Row: -1, What: "torn"}}
	if got, want := v.Text(), v.Damage[0].Error()+"\n1 file, 2 rows, 3 bytes: 1 damaged\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBuiltTextListsSplitsAndLevels(t *testing.T) {
	m := &Manifest{Files: []File{{Name: "a", Split: labels.Train, Rows: 1, Bytes: 4}},
		Levels: []Level{{Name: "kind", Classes: []string{"x", "y"}}}}
	if got, want := m.BuiltText(), "train: 1 image in 1 shard, 4 bytes\nkind: 2 classes\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	m.Files[0].Rows = 6
	m.Levels[0].Rows = map[labels.Split][]int{labels.Train: {3, 1}}
	if got := m.BuiltText(); !strings.HasSuffix(got, "kind: 2 classes, 2 images without one\n") {
		t.Errorf("got %q", got)
	}
	if got := m.Text(0, ""); !strings.Contains(got, "no class                                          2\n") {
		t.Errorf("got %q", got)
	}
}
