package shards

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"hgld/labels"
)

// The companion files describe the data set as a whole. The first and the last are not
// written if they would be empty.
const (
	AttributionFile = "ATTRIBUTION.parquet" // author and licence, one row per image; see attribution.go
	StatsFile       = "STATS.json"          // counts and sizes; see stats.go
	BuildFile       = "BUILD.json"          // provenance; see provenance.go
	TaxonomyFile    = "taxonomy.skos.ttl"   // the tree of classes for other tools: SKOS in Turtle
)

// companionFiles lists the companion files in the order of the manifest.
func companionFiles() []string {
	return []string{AttributionFile, StatsFile, BuildFile, TaxonomyFile}
}

// Companion is a companion file. The manifest and SHA256SUMS list it with its hash,
// although most could be made from the shards again: a licence that changed on disk
// must be noticed, and only a listed file can be missing.
type Companion struct {
	Name   string `json:"name"`           // file name
	Rows   int    `json:"rows,omitempty"` // 0 for a file without rows
	Bytes  int64  `json:"bytes"`          // size of the file
	SHA256 Hash   `json:"sha256"`         // of the file
}

// checkCompanions checks that the manifest lists the companion files, each once and in
// order, and that StatsFile and BuildFile are among them.
func (m *Manifest) checkCompanions() error {
	known := companionFiles()
	for _, c := range m.Companions {
		at := slices.Index(known, c.Name)
		if at < 0 || c.Bytes <= 0 || c.Rows < 0 {
			return fmt.Errorf("companion %.80q of %d bytes; want some of %v, in this order", c.Name, c.Bytes, companionFiles())
		}
		known = known[at+1:]
	}
	for _, name := range []string{StatsFile, BuildFile} {
		if m.companion(name) == nil {
			return fmt.Errorf("%s is not among the companions", name)
		}
	}
	return nil
}

// companion returns the entry of a file, nil if there is none.
func (m *Manifest) companion(name string) *Companion {
	at := slices.IndexFunc(m.Companions, func(c Companion) bool { return c.Name == name })
	if at < 0 {
		return nil
	}
	return &m.Companions[at]
}

// companionWriter holds the companion files, complete but not yet under their names.
type companionWriter struct {
	dir   folder
	files []*newFile
}

// newFile is a file being written that counts its size and hash. Write is the only way
// to add to it, so that nothing escapes the hash.
type newFile struct {
	file unfinished
	name string
	rows int // of a table
	size int64
	sha  hash.Hash
}

// create starts a file.
func (s *companionWriter) create(name string) (*newFile, error) {
	if err := s.dir.checkPlace(name); err != nil {
		return nil, err
	}
	f, err := s.dir.create(name, "")
	if err != nil {
		return nil, err
	}
	made := &newFile{file: f, name: name, sha: sha256.New()}
	s.files = append(s.files, made)
	return made, nil
}

// Write appends to the file.
func (f *newFile) Write(p []byte) (int, error) {
	n, err := f.file.Write(p)
	f.sha.Write(p[:n])
	f.size += int64(n)
	return n, err
}

// put writes a whole file.
func (s *companionWriter) put(name string, data []byte) error {
	f, err := s.create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return err
}

func (f *newFile) hash() Hash { return Hash(f.sha.Sum(nil)) }

// file returns a file by its name, nil if it was not made.
func (s *companionWriter) file(name string) *newFile {
	for _, f := range s.files {
		if f.name == name {
			return f
		}
	}
	return nil
}

// companions describes the companion files for the manifest.
func (s *companionWriter) companions() []Companion {
	var list []Companion
	for _, name := range companionFiles() {
		if f := s.file(name); f != nil {
			list = append(list, Companion{name, f.rows, f.size, f.hash()})
		}
	}
	return list
}

// drop discards a file.
func (s *companionWriter) drop(f *newFile) error {
	s.files = slices.DeleteFunc(s.files, func(g *newFile) bool { return g == f })
	return f.file.Close()
}

// commit renames the files to their names.
func (s *companionWriter) commit() error {
	for _, f := range s.files {
		if err := f.file.Commit(f.hash()); err != nil {
			return err
		}
	}
	s.files = nil
	return nil
}

// close removes the files that were not committed.
func (s *companionWriter) close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.file.Close())
	}
	return errors.Join(errs...)
}

// describe writes ATTRIBUTION.parquet and STATS.json from the columns of the shards,
// without the images. It holds 12 bytes per row of one split, 32 per row of all, and the counts of
// classes. It returns what STATS.json says.
func (s *Set) describe(ctx context.Context, to *companionWriter, failures []Failure) (*Stats, error) {
	f, err := to.create(AttributionFile)
	if err != nil {
		return nil, err
	}
	same := &sameBytes{}
	credits := newAttribution(f)
	stats := &Stats{Version: statsVersion, Splits: []SplitStats{}}
	for _, split := range s.manifest.Splits() {
		count := newSplitCount(s.manifest.Rows(split))
		for _, sh := range s.of(split) {
			err := s.each(ctx, sh, func(at int, row *Row) error {
				count.add(row, sh.index.lengths[at])
				same.add(row)
				return credits.write(row)
			})
			if err != nil {
				return nil, err
			}
		}
		stats.Splits = append(stats.Splits, count.stats(s.manifest, split, failures))
	}
	if err := credits.parquet.Close(); err != nil {
		return nil, err
	}
	if f.rows = credits.rows; !credits.any {
		if err := to.drop(f); err != nil {
			return nil, err
		}
	}
	if stats.Duplicates, err = s.duplicates(ctx, same); err != nil {
		return nil, err
	}
	text, err := encodeJSON(stats)
	if err != nil {
		return nil, err
	}
	return stats, to.put(StatsFile, text)
}

// TaxonomyWriter writes a tree of classes as taxonomy.skos.ttl. The same tree must give
// the same bytes.
type TaxonomyWriter func(w io.Writer, tree *labels.Hierarchy) error

// writeTaxonomy writes taxonomy.skos.ttl if there is a writer and the classes have a
// hierarchy, that is, some class has a parent.
func (s *Set) writeTaxonomy(to *companionWriter, write TaxonomyWriter) error {
	below := func(l labels.Level) bool {
		return slices.ContainsFunc(l.Classes, func(c labels.Class) bool { return c.Parent >= 0 })
	}
	if write == nil || !slices.ContainsFunc(s.classes.Levels, below) {
		return nil
	}
	f, err := to.create(TaxonomyFile)
	if err != nil {
		return err
	}
	return write(f, s.classes)
}

// each passes the rows of a shard, without their images, to see. It closes the shard's
// file afterwards.
func (s *Set) each(ctx context.Context, x *shard, see func(at int, row *Row) error) error {
	if x.rows != nil {
		return eachPartRow(ctx, x, see)
	}
	sh := &shard{file: x.file, dir: x.dir, name: x.name, index: x.index, sound: x.sound}
	err := s.eachRow(ctx, sh, false, see)
	if sh.handle != nil {
		err = errors.Join(err, sh.handle.Close())
	}
	return err
}
