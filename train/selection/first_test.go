package selection

import (
	"maps"
	"testing"

	"hgld/labels"
)

// survey is images of which a test was kept apart or not.
type survey struct {
	query labels.Split
	four  int // classes with four images, and
	all   int // all classes
}

func (s survey) Test() (query, gallery labels.Split) { return s.query, "" }

// Sure takes away as many classes as are held out.
func (s survey) Sure(images int, held float64) int {
	out := int(held*float64(s.all) + 1 - 1e-9)
	if images > 1 {
		return s.four - out
	}
	return s.all - out
}

func TestFirstSettingsFitTheImages(t *testing.T) {
	for _, c := range []struct {
		name   string
		levels int
		found  survey
		want   map[string]string
	}{
		{"many classes and a test", 1, survey{labels.Test, 40, 50},
			map[string]string{"train.steps": "200", "train.query": "test", "train.gallery": ""}},
		{"two levels, no test", 2, survey{"", 90, 90},
			map[string]string{"train.steps": "200", "train.query": "", "train.gallery": "", "train.hold_out": "0.33",
				"train.loss.name": "happier", "eval.best": "true"}},
		{"five classes", 1, survey{labels.Val, 5, 5}, // a batch has four images of each
			map[string]string{"train.steps": "200", "train.query": "val", "train.gallery": "", "train.sampler.batch": "20"}},
		{"five classes, no test", 1, survey{"", 5, 5}, // one class alone would be measured as perfect
			map[string]string{"train.steps": "200", "train.query": "", "train.gallery": "", "train.hold_out": "0.5",
				"train.sampler.batch": "8", "eval.best": "true"}},
		{"two classes, no test", 1, survey{"", 2, 2}, map[string]string{"train.steps": "200", "train.query": "train",
			"train.gallery": "", "train.sampler.batch": "8"}},
		{"classes of few images", 1, survey{labels.Val, 1, 6},
			map[string]string{"train.steps": "200", "train.query": "val", "train.gallery": "",
				"train.sampler.name": "random-m-per-class", "train.sampler.batch": "24"}},
	} {
		if got := FirstSettings(c.levels, c.found); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
