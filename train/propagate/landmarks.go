package propagate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/csvfile"
	"hgld/internal/texttable"
	"hgld/labels"
	"hgld/train/qrels"
	"hgld/train/retrieval"
)

// Landmarks are the landmarks of a label table, numbered, with their classes above the finest level.
type Landmarks struct {
	table   *labels.Table
	known   map[labels.LandmarkKey]int // landmark by key
	keys    []labels.LandmarkKey       // of the landmarks
	rows    []int                      // row of the table of each landmark, −1: none
	class   []int32                    // of each landmark, −1: none
	classes []string                   // names of the classes
	models  []int                      // a row of the table of each class
	dropped map[int]bool               // landmarks whose tag curation dropped: they get no label
}

// NewLandmarks numbers the landmarks of a table, which has at least two levels.
func NewLandmarks(table *labels.Table) *Landmarks {
	l := &Landmarks{table: table, known: map[labels.LandmarkKey]int{}, dropped: map[int]bool{}}
	numbers := map[string]int32{}
	for i := range table.Rows {
		row := &table.Rows[i]
		class := int32(-1)
		if row.Labelled() {
			name := row.Names[1]
			if _, is := numbers[name]; !is {
				numbers[name] = int32(len(l.classes))
				l.classes, l.models = append(l.classes, name), append(l.models, i)
			}
			class = numbers[name]
		}
		own := l.landmark(row.Key(), i, class)
		if row.Reason == labels.TagDropped {
			l.dropped[own] = true
		}
	}
	return l
}

// Dropped returns the number of landmarks whose tag curation dropped.
func (l *Landmarks) Dropped() int { return len(l.dropped) }

// landmark numbers a landmark.
func (l *Landmarks) landmark(key labels.LandmarkKey, row int, class int32) int {
	if i, is := l.known[key]; is {
		return i
	}
	i := len(l.keys)
	l.known[key] = i
	l.keys, l.rows, l.class = append(l.keys, key), append(l.rows, row), append(l.class, class)
	return i
}

// Owners reads the landmark of each image, by its id or by its path without folders and extension: a CSV with the
// columns id, image_id or path, landmark_id and perhaps split. Without that column, the landmarks are of the given
// split, or of the only one of the labels if it is "". Images without a landmark are left out. Landmarks that the
// labels lack are added.
func (l *Landmarks) Owners(table io.Reader, split labels.Split) (map[string]int32, error) {
	r := csvfile.NewReader(table)
	r.Trim()
	head, err := r.Read()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	id := slices.IndexFunc(head, func(h string) bool { return slices.Contains([]string{"id", "image_id", "path"}, h) })
	landmark, part := slices.Index(head, "landmark_id"), slices.Index(head, "split")
	if id < 0 || landmark < 0 {
		return nil, fmt.Errorf("its columns are %.200s, want id (or path) and landmark_id", strings.Join(head, ", "))
	}
	if part < 0 {
		if split == "" {
			splits := l.table.Splits()
			if len(splits) != 1 {
				return nil, fmt.Errorf("it has no column split, and the labels are of %d splits: add the column",
					len(splits))
			}
			split = splits[0]
		}
	}
	owner := map[string]int32{}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return owner, nil
		}
		if err != nil {
			return nil, err
		}
		if row[landmark] == "" {
			continue
		}
		number, err := strconv.ParseInt(row[landmark], 10, 32)
		if err != nil || number < 0 {
			return nil, fmt.Errorf("line %d: landmark_id is %.80q, want a whole number", r.Line(), row[landmark])
		}
		key := labels.LandmarkKey{Split: split, Landmark: labels.LandmarkID(number)}
		if part >= 0 {
			if key.Split = labels.Split(row[part]); !slices.Contains(labels.Splits, key.Split) {
				return nil, fmt.Errorf("line %d: split is %.80q, want one of %v", r.Line(), row[part], labels.Splits)
			}
		}
		own := int32(l.landmark(key, -1, -1))
		if before, twice := owner[row[id]]; twice && before != own {
			return nil, fmt.Errorf("line %d: image %.80q has two landmarks, %v and %v", r.Line(), row[id], l.keys[before],
				l.keys[own])
		}
		owner[row[id]] = own
		if head[id] == "path" {
			owner[qrels.Stem(row[id])] = own
		}
	}
}

// Input joins vectors of unit length with the landmarks of their images, by the ids of the vectors. It also returns how
// many vectors have no landmark; they are left out, as are the vectors of dropped landmarks.
func (l *Landmarks) Input(ids []string, vectors *retrieval.Matrix, owner map[string]int32) (in Input, unknown int) {
	in = Input{Vectors: vectors, Owner: make([]int32, len(ids)), Class: l.class}
	for i, id := range ids {
		own, is := owner[id]
		if !is {
			own, is = owner[qrels.Stem(id)]
		}
		if in.Owner[i] = own; !is {
			in.Owner[i] = -1
			unknown++
		} else if l.dropped[int(own)] {
			in.Owner[i] = -1
		}
	}
	return in, unknown
}

// Decision is what becomes of a vote.
type Decision string

// The decisions.
const (
	Given    Decision = "propagated"
	TooFew   Decision = "too few votes"
	Conflict Decision = "conflict"
)

// Give labels the landmarks whose vote has at least a share, unless their Commons page has another class in another
// split. It returns the decision on each vote.
func (l *Landmarks) Give(votes []Vote, least float64) ([]Decision, error) {
	decisions := make([]Decision, len(votes))
	categories := l.categories()
	for i, v := range votes {
		switch other := l.elsewhere(categories, v.Landmark); {
		case v.Share < least:
			decisions[i] = TooFew
		case other != "" && other != l.classes[v.Class]:
			decisions[i] = Conflict
		default:
			decisions[i] = Given
			l.give(v)
		}
	}
	return decisions, l.table.Build()
}

// give labels a landmark.
func (l *Landmarks) give(v Vote) {
	row := l.rows[v.Landmark]
	if row < 0 {
		row = len(l.table.Rows)
		key := l.keys[v.Landmark]
		l.table.Rows = append(l.table.Rows, labels.LandmarkLabel{Split: key.Split, Landmark: key.Landmark})
	}
	label := &l.table.Rows[row]
	label.Names = slices.Clone(l.table.Rows[l.models[v.Class]].Names)
	label.Names[0] = l.table.ClassName(label.Key())
	label.Source, label.Reason, label.Detail = labels.Propagated, "", ""
}

// categories maps the Commons pages of labelled landmarks to their classes.
func (l *Landmarks) categories() map[string]string {
	of := map[string]string{}
	for _, row := range l.table.Rows {
		if row.Category != "" && row.Labelled() {
			of[row.Category] = row.Names[1]
		}
	}
	return of
}

// elsewhere returns the class that a landmark's Commons page has in another split, "" if none.
func (l *Landmarks) elsewhere(of map[string]string, landmark int) string {
	if row := l.rows[landmark]; row >= 0 {
		return of[l.table.Rows[row].Category]
	}
	return ""
}

func shareText(share float64) string { return strconv.FormatFloat(share, 'f', 4, 64) }

// Review returns a table of the votes with the decisions on them.
func (l *Landmarks) Review(votes []Vote, decisions []Decision) texttable.Table {
	t := texttable.Table{Head: []string{"split", "landmark_id", "class", "share", "second", "images", "decision"}}
	for i, v := range votes {
		key, second := l.keys[v.Landmark], ""
		if v.Second >= 0 {
			second = l.classes[v.Second]
		}
		t.Rows = append(t.Rows, []string{string(key.Split), strconv.Itoa(int(key.Landmark)), l.classes[v.Class],
			shareText(v.Share), second, strconv.Itoa(v.Images), string(decisions[i])})
	}
	return t
}

// Suggest returns a table of groups for the tags that curation has not assigned.
func (l *Landmarks) Suggest(r *Result) texttable.Table {
	t := texttable.Table{Head: []string{"tag", "group", "score"}}
	for _, s := range l.suggestions(r) {
		t.Rows = append(t.Rows, []string{s.tag, l.classes[s.class], shareText(s.share)})
	}
	return t
}

// suggestion is a group for a tag.
type suggestion struct {
	tag   string
	class int32
	share float64 // mean over the landmarks with the tag
}

// suggestions sums the votes of landmarks whose tag curation has not assigned.
func (l *Landmarks) suggestions(r *Result) (list []suggestion) {
	votes, landmarks := map[string]map[int32]float64{}, map[string]float64{}
	for _, v := range r.Votes {
		row := l.rows[v.Landmark]
		if row < 0 {
			continue
		}
		label := &l.table.Rows[row]
		if label.Tag == "" || label.Reason != labels.TagUnknown && label.Reason != labels.TagUnassigned &&
			label.Source != labels.Propagated {
			continue
		}
		if votes[label.Tag] == nil {
			votes[label.Tag] = map[int32]float64{}
		}
		votes[label.Tag][v.Class] += v.Share
		landmarks[label.Tag]++
	}
	for tag, of := range votes {
		s := suggestion{tag: tag}
		for class, n := range of {
			if n > s.share || n == s.share && class < s.class {
				s.class, s.share = class, n
			}
		}
		s.share /= landmarks[tag]
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b suggestion) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.tag, b.tag))
	})
	return list
}
