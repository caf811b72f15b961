package shards

import "hgld/labels"

// Summary is a manifest without the hashes.
type Summary struct {
	Tool     string        `json:"tool"`     // version of hgld that wrote the data set
	Rows     int           `json:"rows"`     // images in all shards
	Bytes    int64         `json:"bytes"`    // size of all shards
	Failures int           `json:"failures"` // images that were left out
	Files    []FileSummary `json:"files"`    // the shards
	Levels   []Level       `json:"levels"`   // finest first

	Companions []CompanionSummary `json:"companions,omitempty"` // the other files
}

// FileSummary describes a shard.
type FileSummary struct {
	Name  string       `json:"name"`  // path below the folder
	Split labels.Split `json:"split"` // of all its rows
	Rows  int          `json:"rows"`  // images
	Bytes int64        `json:"bytes"` // size of the file
}

// CompanionSummary describes a companion file. Rows is 0 for a file without rows.
type CompanionSummary struct {
	Name  string `json:"name"`           // file name
	Rows  int    `json:"rows,omitempty"` // 0 for a file without rows
	Bytes int64  `json:"bytes"`          // size of the file
}

// Summary returns the manifest without the hashes.
func (m *Manifest) Summary() Summary {
	s := Summary{Tool: m.Tool, Failures: m.Failures.Rows, Levels: m.Levels}
	for _, f := range m.Files {
		s.Rows += f.Rows
		s.Bytes += f.Bytes
		s.Files = append(s.Files, FileSummary{f.Name, f.Split, f.Rows, f.Bytes})
	}
	for _, c := range m.Companions {
		s.Companions = append(s.Companions, CompanionSummary{c.Name, c.Rows, c.Bytes})
	}
	return s
}

// Description is a row without its image: the columns of the shard that are not NULL,
// with the class names beside the class numbers.
type Description struct {
	ID       ImageID            `json:"image_id"`              // 16 hexadecimal digits
	Path     string             `json:"path"`                  // as the input had it
	Split    labels.Split       `json:"split"`                 // of the image
	Landmark *labels.LandmarkID `json:"landmark_id,omitempty"` // nil without one
	Labels   labels.Path        `json:"labels"`                // class numbers, finest first; −1: none
	Names    map[string]string  `json:"names"`                 // by level
	Width    int                `json:"width"`                 // pixels
	Height   int                `json:"height"`                // pixels
	SHA256   string             `json:"sha256"`                // of the image file

	Attributes
}

// Describe describes a row of the view. With landmarks, a labelled row has its landmark
// id.
func (v *View) Describe(row *Row, landmarks bool) Description {
	d := Description{ID: row.ID, Path: row.Path, Split: row.Split, Labels: row.Labels, Names: map[string]string{},
		Width: row.W, Height: row.H, SHA256: Hash(row.SHA256).String(), Attributes: row.Attributes}
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
