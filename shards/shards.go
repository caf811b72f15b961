// Package shards is stage 4 of hgld: it writes images and their classes to Parquet
// files. A trainer reads them in random order, and other tools read them as a data set
// of the Hugging Face Hub.
//
// Its input is a Source of items (package shards/dataset imports them) and, if the
// classes were curated, hierarchy.json of stage 3. Its output is a folder:
//
//	data/train-00000-of-00003.parquet  rows: image, classes, attributes
//	data/train-00000-of-00003.idx      where each image lies in the shard (see index.go)
//	hierarchy.json                     the tree of classes
//	failures.jsonl                     the images that are missing, and why
//	ATTRIBUTION.parquet                author, licence, title and address of every image
//	STATS.json                         images, sizes, licences and classes, counted
//	BUILD.json                         tool, inputs, settings, and how the labels came about
//	taxonomy.skos.ttl                  the tree of classes for other tools
//	MANIFEST.json                      files with hashes and counts, levels, inputs, settings
//	SHA256SUMS                         hashes of all of these, for sha256sum -c
//	.hgld-next/                        new shards beside a finished data set, until they may replace it
//	.hgld-parts/                       what Finish needs to know of the shards of slices, until then
//
// A shard is a pure function of its number and the inputs: the same inputs give the same
// bytes for any number of workers and any number of interruptions. Everything else can be
// derived from the Parquet files, except the parents of classes in hierarchy.json, and
// BUILD.json.
package shards

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"

	"hgld/labels"
)

// ImageID names an image within its data set. It is written as 16 hexadecimal
// digits, like the ids of GLDv2.
type ImageID uint64

// NewImageID parses an image id. For any other text it returns the first eight bytes of
// its SHA-256.
func NewImageID(text string) ImageID {
	if id, ok := ParseImageID(text); ok {
		return id
	}
	sum := sha256.Sum256([]byte(text))
	return ImageID(binary.BigEndian.Uint64(sum[:]))
}

// ParseImageID reads 16 lower-case hexadecimal digits.
func ParseImageID(text string) (ImageID, bool) {
	v, err := strconv.ParseUint(text, 16, 64)
	if err != nil || ImageID(v).String() != text {
		return 0, false
	}
	return ImageID(v), true
}

// String writes 16 hexadecimal digits.
func (id ImageID) String() string { return fmt.Sprintf("%016x", uint64(id)) }

// MarshalText writes 16 digits.
func (id ImageID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads 16 digits.
func (id *ImageID) UnmarshalText(text []byte) error {
	v, ok := ParseImageID(string(text))
	if !ok {
		return fmt.Errorf("%.80q is not an image id; want 16 lower-case hexadecimal digits", text)
	}
	*id = v
	return nil
}

// Row is one image of a shard.
type Row struct {
	ID         ImageID           // of the image
	Image      []byte            // the file as it came, or JPEG where it was made smaller or converted
	Path       string            // of the image in its source
	Split      labels.Split      // of the image
	Labels     labels.Path       // classes finest first, -1 for none
	Landmark   labels.LandmarkID // −1 without one
	W, H       int               // as seen, after EXIF orientation
	SHA256     [32]byte          // of Image
	Attributes Attributes        // what is known of the image
}

// Attributes are what is known of an image besides its pixels and classes. Empty ones
// are NULL in a shard. The names are those of the columns, which schema.go stores: a new column
// is a field here and a row there.
type Attributes struct {
	CategoryURL   string `json:"category_url,omitempty"`  // page of the landmark's Commons category
	WikidataQID   string `json:"wikidata_qid,omitempty"`  // item of the landmark
	Tag           string `json:"supercategory,omitempty"` // raw "instance of" value; named as in GLDv2's files
	LabelSource   string `json:"label_source,omitempty"`  // scraped, curated or propagated
	Author        string `json:"author,omitempty"`        // of the photograph
	License       string `json:"license,omitempty"`       // of the photograph
	Title         string `json:"title,omitempty"`         // of the photograph
	SourceURL     string `json:"source_url,omitempty"`    // where it was published
	Modifications string `json:"modified,omitempty"`      // what was changed on the way, which CC BY asks to be stated
}

// Unattributed is the author or the licence of a training image whose author or licence is not known, if the build
// accepted such images and was asked to mark them.
const Unattributed = "unattributed"

// DamageError says that a file differs from what was written: in a hash, a length or a
// value. Every function that reads shards may return one.
type DamageError struct {
	File string `json:"file"` // from the data set's folder
	Row  int    `json:"row"`  // -1 where it concerns the file
	What string `json:"what"` // what is wrong, and what was expected
}

// Error names the file, the row if one is known, and the difference.
func (e *DamageError) Error() string {
	if e.Row < 0 {
		return fmt.Sprintf("%s: %s", e.File, e.What)
	}
	return fmt.Sprintf("%s: row %d: %s", e.File, e.Row, e.What)
}
