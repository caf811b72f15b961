package labels

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
)

// Level names of GLDv2, finest first. Other data sets bring their own.
const (
	LandmarkLevel      = "landmark"
	SupercategoryLevel = "supercategory"
	KindLevel          = "kind" // natural or human-made
)

// Table holds the label of every landmark of a data set. Stage 3 passes it to stages 4
// and 5 as labels.csv. For GLDv2 the levels are landmark, supercategory and kind; a
// data set with L levels calls them level_0 to level_{L−1}.
type Table struct {
	Version int             `json:"hgld_labels"` // format version of labels.json
	Levels  []string        `json:"levels"`      // level names, finest first
	Rows    []LandmarkLabel `json:"rows"`        // by split and landmark

	// OneIDSpace says that a landmark has the same id in every split. It is false
	// for GLDv2, where train 5 and index 5 are different places.
	OneIDSpace bool `json:"one_id_space,omitempty"`

	// Hierarchy is the tree of all rows, made by Build and by the readers.
	Hierarchy *Hierarchy `json:"-"`

	Extra map[string]json.RawMessage `json:"-"` // unknown fields, kept on rewriting; so in LandmarkLabel

	made iter.Seq[*LandmarkLabel] // makes the rows, each valid until the next; nil: they are Rows

	name  string // file name, for messages
	form  Form   // of the CSV that the table was read from, "" if none
	sheet *sheet // that CSV
}

// LandmarkLabel is one row of a Table: a landmark, or one of its images, with its
// classes or the reason why it has none.
type LandmarkLabel struct {
	Split    Split      `json:"split"`                 // of the landmark
	Landmark LandmarkID `json:"landmark_id"`           // id within its split
	Image    string     `json:"image_id,omitempty"`    // only where a row is an image
	Category string     `json:"category,omitempty"`    // URL of the Commons page, byte for byte
	Item     string     `json:"wikidata_id,omitempty"` // Wikidata item of the landmark, "" if unknown
	Tag      string     `json:"tag,omitempty"`         // raw "instance of" tag
	Names    []string   `json:"names"`                 // class names, finest first; "" above the finest without a label
	Source   string     `json:"source,omitempty"`      // scraped, curated or propagated, where it is known
	Reason   Reason     `json:"reason,omitempty"`      // why there is no label
	Detail   string     `json:"detail,omitempty"`      // more about the reason: an error, a curator's words

	// Raw is the tag byte for byte as it was scraped, if Build knows it. No file
	// contains it.
	Raw string `json:"-"`

	// Path holds the classes of Names in Table.Hierarchy, -1 where there is none.
	Path Path `json:"-"`

	Extra map[string]json.RawMessage `json:"-"` // unknown fields

	from *sheet // the CSV that the row was read from
	row  int    // its place there
}

// Propagated is the Source of a label that was taken from other landmarks.
const Propagated = "propagated"

// Reason is why a landmark has no label: an Outcome of stage 1, or one of the reasons
// below.
type Reason string

// The reasons besides the outcomes of stage 1.
const (
	TagUnknown    Reason = "tag_unknown"    // the hierarchy does not have the tag: scraped after curation
	TagUnassigned Reason = "tag_unassigned" // curation has not assigned the tag to a supercategory
	TagDropped    Reason = "tag_dropped"    // curation dropped the tag; Detail says why
	Blank         Reason = "blank"          // the label file has the landmark without a label
)

// LandmarkKey identifies a landmark: its id within its split.
type LandmarkKey struct {
	Split    Split      `json:"split"`       // of the landmark
	Landmark LandmarkID `json:"landmark_id"` // id within the split
}

// String writes the key as split/landmark.
func (k LandmarkKey) String() string { return string(k.Split) + "/" + strconv.Itoa(int(k.Landmark)) }

// Key returns the landmark's name.
func (l *LandmarkLabel) Key() LandmarkKey { return LandmarkKey{l.Split, l.Landmark} }

// Labelled reports whether the row has a class above the finest level, or at it if
// there is only one level.
func (l *LandmarkLabel) Labelled() bool {
	return len(l.Names) > 0 && l.Names[min(1, len(l.Names)-1)] != ""
}

// ClassName returns the name of the landmark's own class at the landmark level.
func (t *Table) ClassName(k LandmarkKey) string {
	if t.OneIDSpace {
		return strconv.Itoa(int(k.Landmark))
	}
	return k.String()
}

// Build makes Hierarchy from the rows, and their Paths. It returns a *ParentsError for
// a class with two parents, and an error for a row with a class at one level and none
// at a coarser one. Conflicts lists all of them.
func (t *Table) Build() error {
	b := NewBuilder(t.Levels...)
	for i := range t.Rows {
		path, err := b.Add(Row{Names: t.Rows[i].Names, Where: t.where(i)})
		if err != nil {
			return err
		}
		t.Rows[i].Path = path
	}
	t.Hierarchy = b.Hierarchy()
	return nil
}

// Conflicts lists every reason why the rows are not a tree, each class with two parents
// once per pair of parents.
func (t *Table) Conflicts() []error {
	var list []error
	b := NewBuilder(t.Levels...)
	seen := map[[4]string]bool{}
	for i := range t.Rows {
		_, err := b.Add(Row{Names: t.Rows[i].Names, Where: t.where(i)})
		if two, ok := err.(*ParentsError); ok {
			key := [4]string{two.Level, two.Class, two.Parents[0], two.Parents[1]}
			if seen[key] {
				continue
			}
			seen[key] = true
		}
		if err != nil {
			list = append(list, err)
		}
	}
	return list
}

// where returns the place of row i for messages: its line if it was read from a CSV.
func (t *Table) where(i int) string {
	if l := &t.Rows[i]; l.from != nil {
		return l.from.where(l.row)
	}
	if t.name != "" {
		return t.name + ": " + t.Rows[i].Key().String()
	}
	return t.Rows[i].Key().String()
}

// all passes the rows. They may be valid until the next alone.
func (t *Table) all() iter.Seq[*LandmarkLabel] {
	if t.made != nil {
		return t.made
	}
	return func(yield func(*LandmarkLabel) bool) {
		for i := range t.Rows {
			if !yield(&t.Rows[i]) {
				return
			}
		}
	}
}

// collect returns the rows.
func (t *Table) collect() []LandmarkLabel {
	rows := []LandmarkLabel{} // not null in JSON
	for l := range t.all() {
		rows = append(rows, *l)
	}
	return rows
}

// Len returns the number of rows.
func (t *Table) Len() (n int) {
	for range t.all() {
		n++
	}
	return n
}

// filter returns the table with the rows for which keep is true. Paths still refer to the same Hierarchy.
func (t *Table) filter(keep func(*LandmarkLabel) bool) *Table {
	out := *t
	kept := func(yield func(*LandmarkLabel) bool) {
		for l := range t.all() {
			if keep(l) && !yield(l) {
				return
			}
		}
	}
	if out.made = kept; t.made == nil {
		out.Rows, out.made = out.collect(), nil
	}
	return &out
}

// Splits returns the splits of the rows in the order of the list Splits.
func (t *Table) Splits() []Split {
	var list []Split
	for l := range t.all() {
		if !slices.Contains(list, l.Split) {
			list = append(list, l.Split)
		}
	}
	slices.SortFunc(list, func(a, b Split) int { return slices.Index(Splits, a) - slices.Index(Splits, b) })
	return list
}

// Labelled returns the table with only the rows that have a label. Paths still refer to
// the same Hierarchy.
func (t *Table) Labelled() *Table { return t.filter((*LandmarkLabel).Labelled) }

// checkRows finds images and landmarks that occur twice in a split. In one id space a
// landmark may occur twice, because rows may be images without a name; Join compares
// their labels.
func (t *Table) checkRows() error {
	type key struct {
		LandmarkKey
		image string
	}
	first := make(map[key]int, len(t.Rows))
	for i := range t.Rows {
		l := &t.Rows[i]
		k := key{l.Key(), l.Image}
		if l.Image == "" && t.OneIDSpace {
			continue
		}
		if l.Image != "" {
			k.LandmarkKey = LandmarkKey{Split: l.Split} // an image shows one landmark
		}
		if j, twice := first[k]; twice {
			what := fmt.Sprintf("%s landmark %d", l.Split, l.Landmark)
			if l.Image != "" {
				what = fmt.Sprintf("%s image %s", l.Split, l.Image)
			}
			return fmt.Errorf("%s: %s occurs twice, first at %s", t.where(i), what, t.where(j))
		}
		first[k] = i
	}
	return nil
}
