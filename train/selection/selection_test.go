package selection

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
	"hgld/labels"
	"hgld/train/input"
)

// split is a split of four classes in two images each.
type split struct{ name string }

func (s split) Len() int                                   { return 8 }
func (s split) Levels() []string                           { return []string{"level"} }
func (s split) Classes(int) []string                       { return []string{"a", "b", "c", "d"} }
func (s split) Labels(i int) labels.Path                   { return labels.Path{int32(i / 2)} }
func (s split) Image(context.Context, int) ([]byte, error) { return nil, errors.ErrUnsupported }
func (s split) ID(i int) string                            { return fmt.Sprint(s.name, i) }

// folder is a folder of shards with some splits.
type folder struct {
	name   string
	splits []labels.Split
	closed *[]string
}

func (f folder) Split(name labels.Split) (input.Dataset, error) {
	if !slices.Contains(f.splits, name) {
		return nil, fmt.Errorf("%s has no split %s", f.name, name)
	}
	return split{f.name + "/" + string(name)}, nil
}

func (f folder) Close() error {
	*f.closed = append(*f.closed, f.name)
	return nil
}

// open opens a selection from two folders, and reports what was closed.
func open(s Images) (d *Data, closed *[]string, err error) {
	closed = new([]string)
	folders := map[string]folder{
		"shards": {"shards", []labels.Split{labels.Train, labels.Val, labels.Test}, closed},
		"part":   {"part", []labels.Split{labels.Query}, closed},
	}
	d, err = s.Open(Opener{Shards: func(name string) (Set, error) {
		f, known := folders[name]
		if !known {
			return nil, errors.New("no such folder")
		}
		return f, nil
	}})
	return d, closed, err
}

// id is the first image of a data set, "" for none.
func id(d input.Dataset) string {
	if d == nil {
		return ""
	}
	return d.ID(0)
}

func TestSelectionNamesTrainingAndTest(t *testing.T) {
	for _, c := range []struct {
		name                  string
		change                func(*Images)
		images                int
		query, gallery, about string
	}{
		{"default", func(s *Images) {}, 8, "", "", "shards, query "},
		{"two splits", func(s *Images) { s.Splits = []string{"train", "val"} }, 16, "", "", "shards, query "},
		{"test", func(s *Images) { s.Query, s.Gallery = "test", "val" }, 8, "shards/test0", "shards/val0",
			"shards, query test, gallery val"},
		{"queries among themselves", func(s *Images) { s.Query, s.Gallery = "test", "test" }, 8, "shards/test0", "",
			"shards, query test"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Default()
			c.change(&s)
			d, closed, err := open(s)
			must.Do(t, err)
			if d.Train.Len() != c.images || id(d.Query) != c.query || id(d.Gallery) != c.gallery || s.Evaluated() != c.about {
				t.Errorf("%d images, query %q, gallery %q, %q", d.Train.Len(), id(d.Query), id(d.Gallery), s.Evaluated())
			}
			if err := d.Close(); err != nil || !slices.Equal(*closed, []string{"shards"}) {
				t.Errorf("%v; closed %v", err, *closed)
			}
		})
	}
}

// Without a test the held-out classes are the queries, and no image is in both parts.
func TestHeldOutClassesAreNotTrainedOn(t *testing.T) {
	s := Default()
	s.HoldOut = 0.5
	d, _, err := open(s)
	must.Do(t, err)
	if d.Train.Len() != 4 || d.Validation.Len() != 4 || d.Query != d.Validation {
		t.Fatalf("%d images to train on, %d held out", d.Train.Len(), d.Validation.Len())
	}
	for i := range d.Train.Len() {
		for k := range d.Validation.Len() {
			if d.Train.Labels(i)[0] == d.Validation.Labels(k)[0] {
				t.Errorf("class %d is in both", d.Train.Labels(i)[0])
			}
		}
	}
	if want := "0.5 of the classes of train held out by seed 1"; !strings.Contains(s.Evaluated(), want) {
		t.Errorf("%q lacks %q", s.Evaluated(), want)
	}
}

func TestBenchmarkWithoutAGalleryRanksItsQueries(t *testing.T) {
	s := Default()
	s.Benchmarks = []string{"part"}
	d, closed, err := open(s)
	must.Do(t, err)
	if got := d.Evaluated(); len(got) != 2 || id(got[0]) != "part/query0" || got[1] != nil {
		t.Errorf("evaluated: %v", got)
	}
	if err := d.Close(); err != nil || !slices.Equal(*closed, []string{"shards", "part"}) {
		t.Errorf("%v; closed %v", err, *closed)
	}
}

func TestSelectionThatDoesNotFitIsAnError(t *testing.T) {
	for _, c := range []struct {
		want   string
		opened bool // before the mistake shows
		change func(*Images)
	}{
		{"no query split ranks it", false, func(s *Images) { s.Gallery = "val" }},
		{"splits is empty", false, func(s *Images) { s.Splits = nil }},
		{"set only one of them", false, func(s *Images) { s.Query, s.Benchmarks = "test", []string{"part"} }},
		{"embeddings is e.npy", false, func(s *Images) { s.Embeddings, s.Benchmarks = "e.npy", []string{"part"} }},
		{"has no split query", true, func(s *Images) { s.Query = "query" }},
		{"has no split index", true, func(s *Images) { s.Splits = []string{"index"} }},
		{"want a number between 0 and 1", true, func(s *Images) { s.HoldOut = 1 }},
	} {
		s := Default()
		c.change(&s)
		d, closed, err := open(s)
		if d != nil || err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, new(*Error)) {
			t.Errorf("%v, want a selection's error with %q", err, c.want)
		}
		if c.opened != slices.Contains(*closed, "shards") {
			t.Errorf("%v: closed %v", err, *closed)
		}
	}
}

func TestErrorOfTheOpenerStaysAsItIs(t *testing.T) {
	s := Default()
	s.Benchmarks = []string{"nowhere"}
	if _, closed, err := open(s); err == nil || errors.As(err, new(*Error)) || !slices.Equal(*closed, []string{"shards"}) {
		t.Errorf("%v; closed %v", err, *closed)
	}
}

// tree is a split of two images for each path of classes.
type tree struct {
	split
	paths []labels.Path
}

func (t tree) Len() int                 { return 2 * len(t.paths) }
func (t tree) Levels() []string         { return []string{"fine", "coarse"} }
func (t tree) Labels(i int) labels.Path { return t.paths[i/2] }
func (t tree) Classes(level int) []string {
	if level == 1 {
		return []string{"A", "B", "C"}
	}
	return []string{"a0", "a1", "a2", "a3", "b0", "b1", "c0"}
}

// one is a folder whose only split is a data set.
type one struct{ input.Dataset }

func (o one) Split(labels.Split) (input.Dataset, error) { return o.Dataset, nil }
func (one) Close() error                                { return nil }

// Held-out classes that are alone in their parent are counted, with those that a larger share would join.
func TestHoldOutSaysWhereTwoLevelsAreOne(t *testing.T) {
	data := tree{paths: []labels.Path{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 1}, {5, 1}, {6, 2}}}
	said := func(share float64) (text string) {
		s := Default()
		s.HoldOut = share
		_, err := s.Open(Opener{Shards: func(string) (Set, error) { return one{data}, nil },
			Log: func(format string, args ...any) { text += fmt.Sprintf(format, args...) + "\n" }})
		must.Do(t, err)
		return text
	}
	want := regexp.MustCompile(`^warning: hold_out: 2 of 2 held-out classes of the level coarse have one ` +
		`held-out class of fine, such as A with a[0-3]: they have the same positives at both levels; ` +
		`a larger share would hold out more of [12] of them\n$`)
	if got := said(0.3); !want.MatchString(got) {
		t.Errorf("a share of 0.3: %q", got)
	}
	data.paths = data.paths[:4]
	if got := said(0.5); got != "" {
		t.Errorf("two of four classes of one parent: %q", got)
	}
}

// Labels of images replace the tree of the shards; images without one are left out.
func TestLabelsReplaceTheTreeOfTheShards(t *testing.T) {
	path := filepath.Join(t.TempDir(), "places.json")
	testfile.Write(t, filepath.Dir(path), "places.json", `{"hgld_labels": 1, "levels": ["level", "town", "country"],
		"one_id_space": true, "rows": [
		{"split": "train", "landmark_id": 0, "names": ["d", "Rom", "Italia"]},
		{"split": "train", "landmark_id": 1, "names": ["b", "Roma", "Italia"]},
		{"split": "train", "landmark_id": 2, "names": ["a", "Rom", "Italia"]},
		{"split": "train", "landmark_id": 3, "names": ["c", "", ""], "reason": "place_unknown"}]}`)
	d, _, err := open(Images{Data: "shards", Splits: []string{"train"}, Query: "test", Gallery: "val", Labels: path})
	must.Do(t, err)
	for _, side := range []input.Dataset{d.Train, d.Query, d.Gallery} {
		if side.Len() != 6 || !slices.Equal(side.Levels(), []string{"level", "town", "country"}) ||
			!slices.Equal(side.Classes(1), []string{"Rom", "Roma"}) {
			t.Errorf("%d items, levels %q, towns %q", side.Len(), side.Levels(), side.Classes(1))
		}
		var got []string
		for i := range side.Len() {
			got = append(got, fmt.Sprint(side.ID(i)[len(side.ID(i))-1:], side.Labels(i)))
		}
		// items 0, 1 are of class a, 2, 3 of b, 6, 7 of d; classes are numbered in the order of the rows
		if want := "[0[2 0 0] 1[2 0 0] 2[1 1 0] 3[1 1 0] 6[0 0 0] 7[0 0 0]]"; fmt.Sprint(got) != want {
			t.Errorf("labels %v, want %s", got, want)
		}
	}
	held, _, err := open(Images{Data: "shards", Splits: []string{"train"}, HoldOut: 0.5, HoldOutSeed: 1, Labels: path})
	if err != nil || held.Train.Len()+held.Query.Len() != 6 || held.Query.Levels()[1] != "town" {
		t.Errorf("held out: %v", err)
	}
	testfile.Write(t, filepath.Dir(path), "other.json", `{"hgld_labels": 1, "levels": ["level", "town"],
		"one_id_space": true, "rows": [{"split": "train", "landmark_id": 0, "names": ["z", "Rom"]}]}`)
	other := filepath.Join(filepath.Dir(path), "other.json")
	var wrong *Error
	if _, _, err := open(Images{Data: "shards", Splits: []string{"train"}, Labels: other}); !errors.As(err, &wrong) ||
		!strings.Contains(err.Error(), `none of 8 images has a label`) {
		t.Errorf("labels of other landmarks: %v", err)
	}
	benchmarks := Images{Data: "shards", Splits: []string{"train"}, Labels: path, Benchmarks: []string{"part"}}
	if _, _, err := open(benchmarks); !errors.As(err, &wrong) {
		t.Errorf("labels with benchmarks: %v", err)
	}
}
