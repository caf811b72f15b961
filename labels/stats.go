package labels

import (
	"cmp"
	"iter"
	"slices"
)

// Stats counts the content of a label table.
type Stats struct {
	Splits     []SplitStats  `json:"splits"`     // in the order of the list Splits
	Levels     []LevelStats  `json:"levels"`     // of the labelled landmarks, finest first
	Unlabelled []ReasonStats `json:"unlabelled"` // most landmarks first

	// Outside counts the landmarks and images of the given image counts that have no
	// row in the table.
	Outside struct {
		Landmarks int `json:"landmarks"`
		Images    int `json:"images"`
	} `json:"outside"`
}

// SplitStats counts the landmarks of a split, and their images if these are known.
type SplitStats struct {
	Split          Split `json:"split"`                     // name
	Landmarks      int   `json:"landmarks"`                 // all of them
	Labelled       int   `json:"labelled"`                  // of these, with a label
	Images         int   `json:"images,omitempty"`          // of all landmarks
	LabelledImages int   `json:"labelled_images,omitempty"` // of the labelled landmarks
}

// LevelStats counts the classes of a level and the landmarks in each. The median is the
// lower of two.
type LevelStats struct {
	Name    string       `json:"name"`              // name
	Classes int          `json:"classes"`           // with a landmark
	Min     int          `json:"min_landmarks"`     // landmarks of the smallest class
	Median  int          `json:"median_landmarks"`  // landmarks of the median class
	Max     int          `json:"max_landmarks"`     // landmarks of the largest class
	Largest []ClassStats `json:"largest,omitempty"` // most landmarks first; empty where the finest level has one landmark a class
}

// ClassStats counts a class.
type ClassStats struct {
	Name      string `json:"name"`             // name
	Parent    string `json:"parent,omitempty"` // class one level up, "" at the coarsest level
	Landmarks int    `json:"landmarks"`        // of the class
	Images    int    `json:"images,omitempty"` // of these landmarks
}

// ReasonStats counts the landmarks that have no label for one reason.
type ReasonStats struct {
	Reason    Reason   `json:"reason"`           // why they have no label
	Detail    string   `json:"detail,omitempty"` // a curator's words for dropping a tag
	Landmarks int      `json:"landmarks"`        // how many
	Images    int      `json:"images,omitempty"` // of these landmarks
	Examples  []string `json:"examples"`         // the first few, "train/5 (tag)"
}

const examples = 5

// Stats counts a built table. images holds the number of images of each landmark. If it
// is nil, images are counted only if the rows are images.
func (t *Table) Stats(images map[LandmarkKey]int) Stats {
	if images == nil {
		images = t.imageRows()
	}
	s := Stats{Splits: []SplitStats{}, Levels: []LevelStats{}, Unlabelled: []ReasonStats{}}
	for _, split := range t.Splits() {
		s.Splits = append(s.Splits, splitStats(split, t.landmarks(), images))
	}
	for level := range t.Levels {
		s.Levels = append(s.Levels, t.levelStats(level, images))
	}
	s.Unlabelled = unlabelled(t.landmarks(), images)
	if len(images) == 0 {
		return s
	}
	inside := map[LandmarkKey]bool{}
	for l := range t.landmarks() {
		inside[l.Key()] = true
	}
	for k, n := range images {
		if !inside[k] {
			s.Outside.Landmarks++
			s.Outside.Images += n
		}
	}
	return s
}

// landmarks passes the first row of each landmark. Rows that are made are landmarks.
func (t *Table) landmarks() iter.Seq[*LandmarkLabel] {
	if t.made != nil {
		return t.made
	}
	return func(yield func(*LandmarkLabel) bool) {
		seen := make(map[LandmarkKey]bool, len(t.Rows))
		for l := range t.all() {
			if k := l.Key(); !seen[k] {
				seen[k] = true
				if !yield(l) {
					return
				}
			}
		}
	}
}

// imageRows returns the number of rows that are images.
func (t *Table) imageRows() map[LandmarkKey]int {
	counts := map[LandmarkKey]int{}
	for l := range t.all() {
		if l.Image != "" {
			counts[l.Key()]++
		}
	}
	return counts
}

func splitStats(split Split, landmarks iter.Seq[*LandmarkLabel], images map[LandmarkKey]int) SplitStats {
	s := SplitStats{Split: split}
	for l := range landmarks {
		if l.Split != split {
			continue
		}
		s.Landmarks++
		s.Images += images[l.Key()]
		if l.Labelled() {
			s.Labelled++
			s.LabelledImages += images[l.Key()]
		}
	}
	return s
}

func (t *Table) levelStats(level int, images map[LandmarkKey]int) LevelStats {
	s := LevelStats{Name: t.Levels[level]}
	byName := map[string]int{}
	var classes []ClassStats
	for l := range t.landmarks() {
		if !l.Labelled() {
			continue
		}
		if level == 0 && t.made != nil { // each landmark is a class, and a list of all would fill the memory
			s.Classes, s.Min, s.Median, s.Max = s.Classes+1, 1, 1, 1
			continue
		}
		i, known := byName[l.Names[level]]
		if !known {
			i = len(classes)
			byName[l.Names[level]] = i
			classes = append(classes, ClassStats{Name: l.Names[level]})
		}
		c := &classes[i]
		if level+1 < len(l.Names) {
			c.Parent = l.Names[level+1]
		}
		c.Landmarks++
		c.Images += images[l.Key()]
	}
	slices.SortFunc(classes, func(a, b ClassStats) int {
		return cmp.Or(b.Landmarks-a.Landmarks, cmp.Compare(a.Name, b.Name))
	})
	if n := len(classes); n > 0 {
		s.Classes, s.Min, s.Median, s.Max = n, classes[n-1].Landmarks, classes[n/2].Landmarks, classes[0].Landmarks
		if level > 0 || s.Max > 1 {
			s.Largest = classes
		}
	}
	return s
}

func unlabelled(landmarks iter.Seq[*LandmarkLabel], images map[LandmarkKey]int) []ReasonStats {
	type key struct {
		reason Reason
		detail string
	}
	index := map[key]int{}
	list := []ReasonStats{}
	for l := range landmarks {
		if l.Labelled() {
			continue
		}
		k := key{reason: cmp.Or(l.Reason, Blank)}
		if k.reason == TagDropped || k.reason == PlaceUnknown {
			k.detail = l.Detail
		}
		i, ok := index[k]
		if !ok {
			i = len(list)
			index[k] = i
			list = append(list, ReasonStats{Reason: k.reason, Detail: k.detail})
		}
		list[i].Landmarks++
		list[i].Images += images[l.Key()]
		if len(list[i].Examples) < examples {
			list[i].Examples = append(list[i].Examples, example(l))
		}
	}
	slices.SortStableFunc(list, func(a, b ReasonStats) int { return b.Landmarks - a.Landmarks })
	return list
}

// example describes a landmark for people: its id, and what else is known of it.
func example(l *LandmarkLabel) string {
	s := l.Key().String()
	if l.Tag != "" {
		return s + " (" + l.Tag + ")"
	}
	if title, err := Title(l.Category); err == nil {
		return s + " (" + title[len("Category:"):] + ")"
	}
	return s
}
