package shards

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"path"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/parquetfile"
)

// FormatVersion is the format version of data sets.
const FormatVersion = 1

const (
	shardVersion = 1 // of shards and sidecars

	rowsPerGroup  = 256
	bytesPerGroup = 64 << 20 // of images; the Hub asks for 100 MB at most
	pageBytes     = 16 << 10 // an image of this size or more has a page of its own
)

// Writer writes one shard: a Parquet file and its sidecar. It keeps rows until a row
// group is full, so it holds about two row groups in memory.
type Writer struct {
	dir     folder
	name    string
	file    unfinished
	size    byteCount
	sha     hash.Hash
	crc     hash.Hash32
	parquet *parquet.GenericWriter[any]
	cols    []column
	index   *index
	leaves  parquet.Row
	inGroup int // bytes of images in the open row group
	rows    int // in the open row group
	schema  *Schema
	done    bool
}

// createShard starts a shard. Close removes it unless Finish was called. The caller has checked the schema, because a
// check walks all classes.
func createShard(dir folder, name, scratch string, s *Schema) (*Writer, error) {
	file, err := dir.create(name, scratch)
	if err != nil {
		return nil, err
	}
	w := &Writer{dir: dir, name: name, file: file,
		sha: sha256.New(), crc: crc32.New(castagnoli()), schema: s, cols: s.columns()}
	w.index = &index{levels: len(s.Classes.Levels)}
	w.parquet = parquet.NewGenericWriter[any](io.MultiWriter(file, w.sha, w.crc, &w.size), s.parquet(w.cols),
		parquet.WriteBufferSize(256<<10),
		parquet.CreatedBy("hgld", "1", "parquet-go"), // not the build's version: equal inputs, equal bytes
		parquet.MaxRowsPerRowGroup(rowsPerGroup),
		parquet.PageBufferSize(pageBytes),
		parquet.SkipPageBounds("image", "bytes"),     // without these two every page header holds
		parquet.SkipPageStatistics("image", "bytes"), // its largest and smallest image
	)
	return w, nil
}

// byteCount counts what is written to it.
type byteCount int64

func (n *byteCount) Write(p []byte) (int, error) {
	*n += byteCount(len(p))
	return len(p), nil
}

// Write adds a row. The caller may change the row and its image afterwards.
func (w *Writer) Write(r *Row) error {
	if len(r.Labels) != w.index.levels {
		return fmt.Errorf("%d classes for a row, want %d", len(r.Labels), w.index.levels)
	}
	if len(r.Image) == 0 {
		return errors.New("a row without image")
	}
	if w.inGroup > 0 && w.inGroup+len(r.Image) > bytesPerGroup {
		if err := w.parquet.Flush(); err != nil {
			return err
		}
		w.inGroup, w.rows = 0, 0
	}
	w.leaves = values(w.leaves[:0], w.cols, r)
	// One row per call, because the library checks the size of a page after each call.
	if _, err := w.parquet.WriteRows([]parquet.Row{w.leaves}); err != nil {
		return err
	}
	w.index.add(r)
	w.inGroup += len(r.Image)
	if w.rows++; w.rows == rowsPerGroup { // the library begins the next one
		w.inGroup, w.rows = 0, 0
	}
	return nil
}

// Finish completes the shard with a note for the footer key "hgld". It syncs the shard
// and its sidecar to disk, gives them their names and returns their entry for the
// manifest. The sidecar comes first, so that a shard is never without one.
func (w *Writer) Finish(note string) (File, error) {
	features, err := features(w.cols)
	if err != nil {
		return File{}, err
	}
	w.parquet.SetKeyValueMetadata("huggingface", features)
	w.parquet.SetKeyValueMetadata("hgld", note)
	if err := w.parquet.Close(); err != nil {
		return File{}, err
	}
	w.index.shardBytes, w.index.shardCRC = int64(w.size), w.crc.Sum32()
	w.sha.Sum(w.index.shardSHA[:0])
	if err := w.index.locate(w.file); err != nil {
		return File{}, fmt.Errorf("%s: %w", path.Base(w.name), err)
	}
	sidecar := w.index.encode()
	if err := w.dir.write(indexName(w.name), sidecar); err != nil {
		return File{}, err
	}
	if err := w.file.Commit(w.index.shardSHA); err != nil {
		return File{}, err
	}
	w.done = true
	return w.index.file(sidecar), nil
}

// Close removes the shard unless it is finished.
func (w *Writer) Close() error {
	if w.done {
		return nil
	}
	w.done = true
	return w.file.Close()
}

// file returns the manifest's entry of the shard, without its name and split.
func (x *index) file(sidecar []byte) File {
	return File{Rows: x.rows(), Bytes: x.shardBytes, SHA256: Hash(x.shardSHA),
		IndexBytes: int64(len(sidecar)), IndexSHA256: sha256.Sum256(sidecar)}
}

// locate finds where each image is. The image column is PLAIN, uncompressed and without
// repetition, so a page ends with its values, each a uint32 length and the bytes. The
// position of the page is in the offset index, and the lengths are known. locate reads
// every length back from the file.
func (x *index) locate(r io.ReaderAt) (err error) {
	defer parquetfile.Recover(&err)
	f, err := parquetfile.OpenAt(r, x.shardBytes, parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	row := 0
	for _, group := range f.RowGroups() {
		pages, err := group.ColumnChunks()[0].OffsetIndex()
		if err != nil {
			return err
		}
		end := row + int(group.NumRows())
		for p := range pages.NumPages() {
			last := end // row behind the page
			if p+1 < pages.NumPages() {
				last = end - int(group.NumRows()) + int(pages.FirstRowIndex(p+1))
			}
			if last > x.rows() || last < row {
				return fmt.Errorf("page %d ends at row %d of %d", p, last, x.rows())
			}
			at := pages.Offset(p) + pages.CompressedPageSize(p)
			for i := row; i < last; i++ {
				at -= 4 + int64(x.lengths[i])
			}
			for ; row < last; row++ {
				x.offsets[row] = at + 4
				if err := checkLength(r, at, x.lengths[row]); err != nil {
					return fmt.Errorf("row %d: %w", row, err)
				}
				at += 4 + int64(x.lengths[row])
			}
		}
	}
	if row != x.rows() {
		return fmt.Errorf("%d rows in the file, want %d", row, x.rows())
	}
	return nil
}

func checkLength(r io.ReaderAt, at int64, want uint32) error {
	var prefix [4]byte
	if _, err := r.ReadAt(prefix[:], at); err != nil {
		return err
	}
	if got := binary.LittleEndian.Uint32(prefix[:]); got != want {
		return fmt.Errorf("image of %d bytes at %d, want %d", got, at, want)
	}
	return nil
}
