package metric

import (
	"maps"
	"math"
	"path/filepath"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

// dymlTolerance is the file's own: float64 brute force on both sides.
const dymlTolerance = 1e-10

type dymlFile struct {
	Three struct {
		Fine    dymlBenchmark      `json:"fine"`
		Middle  dymlBenchmark      `json:"middle"`
		Coarse  dymlBenchmark      `json:"coarse"`
		Overall map[string]float64 `json:"overall"`
	} `json:"three_benchmarks"`
	One struct {
		Labels   [][]int32                     `json:"labels"`
		Scores   [][]float64                   `json:"scores"`
		PerLevel map[string]map[string]float64 `json:"per_level"`
		ASI      float64                       `json:"multi_level_ASI"`
		Overall  map[string]float64            `json:"overall"`
	} `json:"one_benchmark"`
	Apart struct {
		QueryLabels   []int32              `json:"query_labels"`
		GalleryLabels []int32              `json:"gallery_labels"`
		Scores        [][]float64          `json:"scores"`
		Expected      map[string][]float64 `json:"expected"`
	} `json:"labels_reindexed_apart"`
}

type dymlBenchmark struct {
	QueryIndex    []int              `json:"query_index"`
	GalleryLabels []int32            `json:"gallery_labels"`
	Scores        [][]float64        `json:"scores"`
	Expected      map[string]float64 `json:"expected"`
}

func TestGoldenDyML(t *testing.T) {
	var file dymlFile
	goldens.ReadJSON(t, filepath.Join(goldens.Dir(t, "metrics"), "dyml.json"), &file)
	names := []string{"AP", "ASI", "R@1", "R@10"}
	t.Run("metrics/dyml.three_benchmarks", func(t *testing.T) {
		var keys []string
		var means []float64
		for _, b := range []dymlBenchmark{file.Three.Fine, file.Three.Middle, file.Three.Coarse} {
			gallery := asColumn(b.GalleryLabels)
			query := make([][]int32, len(b.QueryIndex))
			for q, at := range b.QueryIndex {
				query[q] = gallery[at]
			}
			k, m := measure(t, names, b.Scores, query, gallery, b.QueryIndex)
			wantNumbers(t, inDyML(Overall(k, m)), b.Expected)
			keys, means = append(keys, k...), append(means, m...)
		}
		wantNumbers(t, inDyML(Overall(keys, means)), file.Three.Overall)
	})
	t.Run("metrics/dyml.one_benchmark", func(t *testing.T) {
		one := file.One
		self := make([]int, len(one.Labels))
		for i := range self {
			self[i] = i
		}
		keys, means := measure(t, names, one.Scores, one.Labels, one.Labels, self)
		got := map[string]float64{}
		for i, key := range keys {
			got[key] = means[i]
		}
		for level, want := range one.PerLevel {
			wantNumbers(t, map[string]float64{"mAP": got["AP_"+level], "ASI": got["ASI_"+level], "R@1": got["R@1_"+level]}, want)
		}
		wantNumbers(t, got, map[string]float64{"ASI": one.ASI})
		wantNumbers(t, inDyML(Overall(keys, means)), one.Overall)
	})
	t.Run("metrics/dyml.labels_reindexed_apart", func(t *testing.T) {
		c := file.Apart
		for q := range c.Scores {
			keys, means := measure(t, []string{"AP", "R@1"}, c.Scores[q:q+1],
				asColumn(c.QueryLabels[q:q+1]), asColumn(c.GalleryLabels), nil)
			wantNumbers(t, Overall(keys, means), map[string]float64{"AP": c.Expected["AP"][q], "R@1": c.Expected["R@1"][q]})
		}
	})
}

// measure ranks every row of scores and returns keys and means.
func measure(t *testing.T, names []string, scores [][]float64, query, gallery [][]int32, self []int) ([]string,
	[]float64) {
	t.Helper()
	set, err := ParseSet(names)
	must.Do(t, err)
	levels := len(gallery[0])
	keys := set.Keys(levels)
	columns := make([][]float64, len(keys))
	row := make([]float64, len(keys))
	list := NewList(levels, ScoreThenRow)
	for q := range scores {
		own := -1
		if self != nil {
			own = self[q]
		}
		shared, _ := rank(scores[q], query[q], gallery, own)
		list.Reset(shared)
		set.Measure(row, list)
		for i, v := range row {
			columns[i] = append(columns[i], v)
		}
	}
	means := make([]float64, len(keys))
	for i := range keys {
		means[i], _ = Mean(columns[i])
	}
	return keys, means
}

func wantNumbers(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for name, w := range want {
		if g, ok := got[name]; !ok || math.Abs(g-w) > dymlTolerance {
			t.Errorf("%s = %v, want %v", name, g, w)
		}
	}
}

// inDyML gives AP the name that DyML's tables give it.
func inDyML(overall map[string]float64) map[string]float64 {
	renamed := maps.Clone(overall)
	renamed["mAP"] = renamed["AP"]
	return renamed
}

func asColumn(labels []int32) [][]int32 {
	rows := make([][]int32, len(labels))
	for i, l := range labels {
		rows[i] = []int32{l}
	}
	return rows
}
