package shards

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"

	"hgld/labels"
)

// The files of a data set besides its shards.
const (
	ManifestFile  = "MANIFEST.json"
	SumsFile      = "SHA256SUMS"
	HierarchyFile = "hierarchy.json"
	FailuresFile  = "failures.jsonl"
)

// Manifest is MANIFEST.json: the contents of a data set, and what it was made from. It
// is written last, so a folder with a manifest is complete.
type Manifest struct {
	Version   int      `json:"hgld_shards"` // format version
	Tool      string   `json:"tool"`        // hgld's version
	Settings  Settings `json:"settings"`    // that decided the bytes
	Inputs    []Input  `json:"inputs"`      // the files it was made of
	Landmarks bool     `json:"landmarks"`   // GLDv2's columns
	Levels    []Level  `json:"levels"`      // finest first
	Hierarchy Sum      `json:"hierarchy"`   // hierarchy.json
	Failures  Sum      `json:"failures"`    // failures.jsonl
	Files     []File   `json:"files"`       // in the order of splits and numbers

	Companions []Companion `json:"companions"` // the companion files
}

// Settings are the settings that, besides the inputs, determine the bytes of the
// shards.
type Settings struct {
	Shards         int   `json:"shards,omitempty"`           // of each split, at most; before the next two
	ImagesPerShard int   `json:"images_per_shard,omitempty"` // 0: not bounded
	ShardBytes     int64 `json:"shard_bytes,omitempty"`      // 0: not bounded
	ShortSide      int   `json:"short_side,omitempty"`       // larger images are made so small; 0: none
	Quality        int   `json:"quality,omitempty"`          // of JPEG, for images made smaller
	HeadersOnly    bool  `json:"headers_only,omitempty"`     // images that were kept were not decoded
	// training images without author or licence were rejected
	Attribution bool `json:"attribution,omitempty"`
	// training images without author or licence were marked: see Unattributed
	MarkUnattributed bool `json:"mark_unattributed,omitempty"`
	Limit            int  `json:"limit,omitempty"` // of a trial: images; 0: all
}

// Input is a file or folder that a data set was made from.
type Input struct {
	Name   string `json:"name"`   // without its folder
	Bytes  int64  `json:"bytes"`  // size of the file
	SHA256 Hash   `json:"sha256"` // of a folder: of the sorted lines "path<tab>bytes<newline>"
}

// Level is a level of classes with the number of images of each class.
type Level struct {
	Name    string                 `json:"name"`    // such as "supercategory"
	Column  string                 `json:"column"`  // of the Parquet files
	Classes []string               `json:"classes"` // by number
	Rows    map[labels.Split][]int `json:"rows"`    // images of each class, a list a split
}

// Sum is a file with its size and hash.
type Sum struct {
	Rows   int   `json:"rows,omitempty"` // rows of the file
	Bytes  int64 `json:"bytes"`          // size of the file
	SHA256 Hash  `json:"sha256"`         // of the file
}

// File is a shard with its sidecar.
type File struct {
	Name        string       `json:"name"`         // path below the folder
	Split       labels.Split `json:"split"`        // of all its rows
	Rows        int          `json:"rows"`         // images
	Bytes       int64        `json:"bytes"`        // size of the shard
	SHA256      Hash         `json:"sha256"`       // of the shard
	IndexBytes  int64        `json:"index_bytes"`  // size of the sidecar
	IndexSHA256 Hash         `json:"index_sha256"` // of the sidecar
	Plan        Hash         `json:"plan"`         // of the items and settings that it was made from
}

// Hash is a SHA-256. In JSON it is 64 lower-case hexadecimal digits.
type Hash [32]byte

// String writes 64 hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes 64 digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads 64 lower-case digits.
func (h *Hash) UnmarshalText(text []byte) error {
	var sum Hash
	if len(text) == 2*len(sum) && bytes.Equal(bytes.ToLower(text), text) { // Decode panics where text is too long
		if _, err := hex.Decode(sum[:], text); err == nil {
			*h = sum
			return nil
		}
	}
	return fmt.Errorf("%.80q is not a SHA-256; want 64 lower-case hexadecimal digits", text)
}

// shardName returns the name of a shard within the data set's folder.
func shardName(split labels.Split, number, of int) string {
	return fmt.Sprintf("data/%s-%05d-of-%05d.parquet", split, number, of)
}

// shardNames matches the names of shards and sidecars, no matter which program wrote
// them.
func shardNames() *regexp.Regexp {
	return regexp.MustCompile(`^data/[a-z]+-\d{5,}-of-\d{5,}\.(parquet|idx)$`)
}

// ReadManifest reads and checks the manifest of the data set in dir and compares it
// with SHA256SUMS. A difference is a *DamageError.
func ReadManifest(ctx context.Context, dir string) (m *Manifest, err error) {
	defer nameFolder(&err, dir)
	at, err := folderAt(ctx, dir)
	if err != nil {
		return nil, err
	}
	return readSound(at)
}

// ReadFile returns a small file of the data set in dir, such as BuildFile. The error of one that is not there is
// fs.ErrNotExist.
func ReadFile(ctx context.Context, dir, name string) (text []byte, err error) {
	defer nameFolder(&err, dir)
	at, err := folderAt(ctx, dir)
	if err != nil {
		return nil, err
	}
	return at.read(name, maxManifest)
}

func readSound(dir folder) (*Manifest, error) {
	m, data, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	sums, err := dir.read(SumsFile, maxManifest)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if !bytes.Equal(sums, m.sums(data)) {
		return nil, &DamageError{SumsFile, -1, "is missing or does not agree with " + ManifestFile}
	}
	return m, nil
}

// maxManifest bounds MANIFEST.json: 200,000 landmarks take 10 MB.
const maxManifest = 512 << 20

// UnfinishedError is the error for a folder without a manifest. It is fs.ErrNotExist.
type UnfinishedError struct {
	NoFolder bool // the folder itself is not there
}

// Error names what is missing.
func (e *UnfinishedError) Error() string {
	if e.NoFolder {
		return "the folder does not exist"
	}
	return ManifestFile + " is missing, so this data set is not finished"
}

// Unwrap returns fs.ErrNotExist.
func (e *UnfinishedError) Unwrap() error { return fs.ErrNotExist }

// errNewer is in the error for a data set with a format that this version of hgld does
// not read yet.
var errNewer = errors.New("newer")

func readManifest(dir folder) (*Manifest, []byte, error) {
	data, err := dir.read(ManifestFile, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		_, onDisk := dir.(disk) // an object store has no folders
		return nil, nil, &UnfinishedError{NoFolder: onDisk && !dir.mayExist("")}
	}
	if err != nil {
		return nil, nil, err
	}
	m, err := decodeManifest(data)
	if err != nil {
		return nil, nil, &DamageError{ManifestFile, -1, err.Error()}
	}
	if m.Version > FormatVersion {
		return nil, nil, fmt.Errorf("%s has format version %d, %w than version %d, which this hgld reads; use a newer hgld",
			ManifestFile, m.Version, errNewer, FormatVersion)
	}
	return m, data, nil
}

// decodeManifest parses and checks a manifest. If the format is newer, it reads only
// the version.
func decodeManifest(data []byte) (*Manifest, error) {
	var version struct {
		Version int `json:"hgld_shards"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, err
	}
	m := &Manifest{Version: version.Version}
	if version.Version > FormatVersion {
		return m, nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, err
	}
	return m, m.check()
}

// check checks that a manifest is usable: file names stay within the folder, and the
// counts agree.
func (m *Manifest) check() error {
	if m.Version < 1 {
		return fmt.Errorf("format version %d does not exist", m.Version)
	}
	if len(m.Levels) == 0 || len(m.Levels) > 1000 {
		return fmt.Errorf("%d levels", len(m.Levels))
	}
	if err := m.checkCompanions(); err != nil {
		return err
	}
	rows := map[labels.Split]int{}
	number := map[labels.Split]int{}
	total := map[labels.Split]int{}
	for _, f := range m.Files {
		total[f.Split]++
	}
	for _, f := range m.Files {
		if !slices.Contains(labels.Splits, f.Split) {
			return fmt.Errorf("%s: unknown split %.80q", f.Name, f.Split)
		}
		if want := shardName(f.Split, number[f.Split], total[f.Split]); f.Name != want {
			return fmt.Errorf("file %.80q, want %.80q", f.Name, want)
		}
		if f.Rows < 0 || f.Bytes <= 0 || f.IndexBytes <= 0 {
			return fmt.Errorf("%s: %d rows in %d and %d bytes", f.Name, f.Rows, f.Bytes, f.IndexBytes)
		}
		number[f.Split]++
		rows[f.Split] += f.Rows
	}
	for _, l := range m.Levels {
		for split, counts := range l.Rows {
			sum := 0
			for _, n := range counts {
				sum += n
			}
			if len(counts) != len(l.Classes) || sum > rows[split] {
				return fmt.Errorf("level %s: %d images in %d classes of split %s, which has %d rows; want %d classes",
					l.Name, sum, len(counts), split, rows[split], len(l.Classes))
			}
		}
	}
	return nil
}

// Splits returns the splits that have shards, in the order of labels.Splits.
func (m *Manifest) Splits() []labels.Split {
	var splits []labels.Split
	for _, f := range m.Files {
		if !slices.Contains(splits, f.Split) {
			splits = append(splits, f.Split)
		}
	}
	return splits
}

// Rows returns the number of rows of a split.
func (m *Manifest) Rows(split labels.Split) int {
	n := 0
	for _, f := range m.Files {
		if f.Split == split {
			n += f.Rows
		}
	}
	return n
}

// Size returns the number of shards of a split, and their bytes.
func (m *Manifest) Size(split labels.Split) (files int, bytes int64) {
	for _, f := range m.Files {
		if f.Split == split {
			files++
			bytes += f.Bytes
		}
	}
	return files, bytes
}

// sums returns the only correct content of SHA256SUMS.
func (m *Manifest) sums(manifest []byte) []byte {
	var out []byte
	line := func(name string, h Hash) { out = fmt.Appendf(out, "%s  %s\n", h, name) }
	line(ManifestFile, sha256.Sum256(manifest))
	line(HierarchyFile, m.Hierarchy.SHA256)
	line(FailuresFile, m.Failures.SHA256)
	for _, c := range m.Companions {
		line(c.Name, c.SHA256)
	}
	for _, f := range m.Files {
		line(f.Name, f.SHA256)
		line(indexName(f.Name), f.IndexSHA256)
	}
	return out
}

// encode returns the text of MANIFEST.json.
func (m *Manifest) encode() ([]byte, error) {
	data, err := json.MarshalIndent(m, "", " ")
	return append(data, '\n'), err
}

// write writes MANIFEST.json and SHA256SUMS by put to dir, the manifest last.
func (m *Manifest) write(dir folder, put func(name string, data []byte) error) error {
	data, err := m.encode()
	if err != nil {
		return err
	}
	if err := dir.checkPlace(SumsFile, ManifestFile); err != nil {
		return err
	}
	if err := put(SumsFile, m.sums(data)); err != nil {
		return err
	}
	return put(ManifestFile, data)
}
