package shards

import "hgld/labels"

// Summary is a manifest without the hashes.
type Summary struct {
	// Tool is the version of hgld that wrote the data set.
	Tool string `json:"tool"`

	// Rows and Bytes are those of all shards, Failures the images that were left out.
	Rows     int   `json:"rows"`
	Bytes    int64 `json:"bytes"`
	Failures int   `json:"failures"`

	// Files are the shards.
	Files []FileSummary `json:"files"`

	// Levels are the levels, finest first, with their classes.
	Levels []LevelSummary `json:"levels"`

	// Companions are the other files of the data set.
	Companions []CompanionSummary `json:"companions,omitempty"`
}

// FileSummary describes a shard.
type FileSummary struct {
	Name  string       `json:"name"`
	Split labels.Split `json:"split"`
	Rows  int          `json:"rows"`
	Bytes int64        `json:"bytes"`
}

// CompanionSummary describes a companion file. Rows is 0 for a file without rows.
type CompanionSummary struct {
	Name  string `json:"name"`
	Rows  int    `json:"rows,omitempty"`
	Bytes int64  `json:"bytes"`
}

// LevelSummary describes a level: its column, its classes by number, and the images of
// each class in each split.
type LevelSummary struct {
	Name    string                 `json:"name"`
	Column  string                 `json:"column"`
	Classes []string               `json:"classes"`
	Rows    map[labels.Split][]int `json:"rows"`
}

// Summary returns the manifest without the hashes.
func (m *Manifest) Summary() Summary {
	s := Summary{Tool: m.Tool, Failures: m.Failures.Rows}
	for _, f := range m.Files {
		s.Rows += f.Rows
		s.Bytes += f.Bytes
		s.Files = append(s.Files, FileSummary{f.Name, f.Split, f.Rows, f.Bytes})
	}
	for _, l := range m.Levels {
		s.Levels = append(s.Levels, LevelSummary(l))
	}
	for _, c := range m.Companions {
		s.Companions = append(s.Companions, CompanionSummary{c.Name, c.Rows, c.Bytes})
	}
	return s
}

// Description is a row without its image: the columns of the shard but for those that
// are NULL, with the names of its classes beside their numbers.
type Description struct {
	ID          ImageID            `json:"image_id"`
	Path        string             `json:"path"`
	Split       labels.Split       `json:"split"`
	Landmark    *labels.LandmarkID `json:"landmark_id,omitempty"`
	Labels      labels.Path        `json:"labels"`
	Names       map[string]string  `json:"names"` // by level
	Width       int                `json:"width"`
	Height      int                `json:"height"`
	SHA256      string             `json:"sha256"`
	CategoryURL string             `json:"category_url,omitempty"`
	WikidataQID string             `json:"wikidata_qid,omitempty"`
	Tag         string             `json:"supercategory,omitempty"`
	LabelSource string             `json:"label_source,omitempty"`
	Author      string             `json:"author,omitempty"`
	License     string             `json:"license,omitempty"`
	Title       string             `json:"title,omitempty"`
	SourceURL   string             `json:"source_url,omitempty"`
	Modified    string             `json:"modified,omitempty"`
}

// Describe describes a row of the view. With landmarks, a labelled row has its landmark.
func (v *View) Describe(row *Row, landmarks bool) Description {
	a := row.Attributes
	d := Description{ID: row.ID, Path: row.Path, Split: row.Split, Labels: row.Labels, Names: map[string]string{},
		Width: row.W, Height: row.H, SHA256: Hash(row.SHA256).String(),
		CategoryURL: a.CategoryURL, WikidataQID: a.WikidataQID, Tag: a.Tag, LabelSource: a.LabelSource,
		Author: a.Author, License: a.License, Title: a.Title, SourceURL: a.SourceURL, Modified: a.Modifications}
	if landmarks && row.Labels[0] >= 0 {
		d.Landmark = &row.Landmark
	}
	levels := v.Levels()
	for l, class := range row.Labels {
		if class >= 0 {
			d.Names[levels[l]] = v.Classes(l)[class]
		}
	}
	return d
}
