package shards

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"hgld/internal/terminal"
	"hgld/labels"
)

// statsVersion is the format version of STATS.json.
const statsVersion = 1

// Stats is STATS.json: counts of what a data set holds. Every number can be counted
// again from the shards and failures.jsonl.
type Stats struct {
	Version int          `json:"hgld_stats"` // format version
	Splits  []SplitStats `json:"splits"`     // in the order of labels.Splits
	// Duplicates counts images that occur more than once; nil if there are none.
	Duplicates *Duplicates `json:"duplicates,omitempty"`
}

// notes says in words what is probably a mistake, or lost.
func (s *Stats) notes() []string {
	list, without := s.Duplicates.Notes(), 0
	for _, of := range s.Splits {
		without += of.NoProfile
	}
	if without > 0 {
		list = append(list, terminal.Count(without, "image")+
			" stored without an ICC profile that is damaged or for other pixels: column modified says why")
	}
	return list
}

// SplitStats counts a split.
type SplitStats struct {
	Split      labels.Split         `json:"split"`                       // name
	Images     int                  `json:"images"`                      // rows
	Shards     int                  `json:"shards"`                      // files
	ShardBytes int64                `json:"shard_bytes"`                 // size of the files
	Failures   map[FailureClass]int `json:"failures"`                    // images that are missing, by the reason
	Width      Distribution         `json:"width"`                       // pixels, as seen
	Height     Distribution         `json:"height"`                      // in pixels
	Bytes      Distribution         `json:"bytes"`                       // of an image file
	NoProfile  int                  `json:"profiles_left_out,omitempty"` // images encoded again without their ICC profile
	Licenses   []Counted            `json:"licenses,omitempty"`          // most frequent first
	Sources    []Counted            `json:"label_sources,omitempty"`     // of GLDv2's labels: scraped, curated, propagated
	Levels     []LevelStats         `json:"levels"`                      // finest first
}

// Distribution describes the values of a quantity over images or classes. The quantile
// q of n values is the ⌈q·n⌉-th smallest, so it is one of them. All fields are 0 if
// there are no values.
type Distribution struct {
	Min    int     `json:"min"`    // least value
	P5     int     `json:"p5"`     // 5th percentile
	P25    int     `json:"p25"`    // 25th percentile
	Median int     `json:"median"` // 50th percentile
	P75    int     `json:"p75"`    // 75th percentile
	P95    int     `json:"p95"`    // 95th percentile
	Max    int     `json:"max"`    // greatest value
	Mean   float64 `json:"mean"`   // arithmetic mean
}

// Counted is a value with the number of its images. The value is "" for rows without
// one.
type Counted struct {
	Value  string `json:"value"`  // as the rows have it
	Images int    `json:"images"` // rows with it
}

// LevelStats counts the classes of a level that have images in a split.
type LevelStats struct {
	Name     string         `json:"name"`             // such as "supercategory"
	Column   string         `json:"column"`           // of the Parquet files
	Images   int            `json:"images"`           // with a class of the level
	Classes  int            `json:"classes"`          // with an image
	PerClass Distribution   `json:"images_per_class"` // over these
	ByClass  map[string]int `json:"images_by_class"`  // images of a class
}

// splitCount counts the rows of a split. It takes 12 bytes per row.
type splitCount struct {
	width, height, bytes []uint32
	licenses, sources    map[string]int
	noProfile            int
}

func newSplitCount(rows int) *splitCount {
	return &splitCount{width: make([]uint32, 0, rows), height: make([]uint32, 0, rows), bytes: make([]uint32, 0, rows),
		licenses: map[string]int{}, sources: map[string]int{}}
}

// add counts a row whose image has a number of bytes.
func (c *splitCount) add(r *Row, bytes uint32) {
	c.width, c.height, c.bytes = append(c.width, uint32(r.W)), append(c.height, uint32(r.H)), append(c.bytes, bytes)
	c.licenses[r.Attributes.License]++
	if strings.Contains(r.Attributes.Modifications, profileLeftOut) {
		c.noProfile++
	}
	if r.Attributes.LabelSource != "" {
		c.sources[r.Attributes.LabelSource]++
	}
}

// stats combines the counts with the manifest's entries of the split.
func (c *splitCount) stats(m *Manifest, split labels.Split, failures []Failure) SplitStats {
	s := SplitStats{Split: split, Images: m.Rows(split), Failures: map[FailureClass]int{}, Levels: []LevelStats{},
		Width: distribution(c.width), Height: distribution(c.height), Bytes: distribution(c.bytes), NoProfile: c.noProfile,
		Licenses: counted(c.licenses), Sources: counted(c.sources)}
	s.Shards, s.ShardBytes = m.Size(split)
	for _, f := range failures {
		if f.Split == split {
			s.Failures[f.Class]++
		}
	}
	for _, l := range m.Levels {
		s.Levels = append(s.Levels, l.stats(split))
	}
	return s
}

// stats counts the classes of a level in a split.
func (l *Level) stats(split labels.Split) LevelStats {
	s := LevelStats{Name: l.Name, Column: l.Column, ByClass: map[string]int{}}
	var sizes []uint32
	for class, images := range l.Rows[split] {
		if images > 0 {
			s.Images += images
			s.ByClass[l.Classes[class]] = images
			sizes = append(sizes, uint32(images))
		}
	}
	s.Classes, s.PerClass = len(sizes), distribution(sizes)
	return s
}

// distribution describes values. It sorts them.
func distribution(values []uint32) Distribution {
	n := len(values)
	if n == 0 {
		return Distribution{}
	}
	slices.Sort(values)
	sum := uint64(0)
	for _, v := range values {
		sum += uint64(v)
	}
	quantile := func(percent int) int { return int(values[max((percent*n+99)/100, 1)-1]) }
	return Distribution{Min: quantile(0), P5: quantile(5), P25: quantile(25), Median: quantile(50), P75: quantile(75),
		P95: quantile(95), Max: quantile(100), Mean: float64(sum) / float64(n)}
}

// counted lists values, the most frequent first, then by their texts.
func counted(images map[string]int) []Counted {
	var list []Counted
	for _, value := range slices.Sorted(maps.Keys(images)) {
		list = append(list, Counted{value, images[value]})
	}
	slices.SortStableFunc(list, func(a, b Counted) int { return cmp.Compare(b.Images, a.Images) })
	return list
}
