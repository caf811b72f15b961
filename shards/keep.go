package shards

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"
)

// keep looks whether a shard is there already: its sidecar is whole, its hash is
// the sidecar's, and its footer names the plan that it is to be made from. An
// error is that of the disk; a shard of any other state is to be built.
func (b *builder) keep(ctx context.Context, p *planned) (made, bool, error) {
	path := filepath.Join(b.dir, p.name)
	sidecar, err := os.ReadFile(indexName(path))
	if errors.Is(err, fs.ErrNotExist) {
		return made{}, false, nil
	}
	if err != nil {
		return made{}, false, err
	}
	x, err := decodeIndex(sidecar)
	if err != nil || x.levels != len(b.plan.schema.Classes.Levels) {
		return made{}, false, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return made{}, false, nil
	}
	if err != nil {
		return made{}, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() != x.shardBytes {
		return made{}, false, err
	}
	note, err := readFooter(f, x.shardBytes)
	if err != nil || note.Plan != p.key || note.Tool != b.o.Tool {
		return made{}, false, nil
	}
	sha := sha256.New()
	if err := hashFile(ctx, f, x.shardBytes, sha); err != nil {
		return made{}, false, err
	}
	if [32]byte(sha.Sum(nil)) != x.shardSHA {
		return made{}, false, nil
	}
	file := x.file(sidecar)
	file.Name, file.Split, file.Plan = p.name, p.split, p.key
	return made{file: file, index: x, failures: note.Failures, kept: true}, true, nil
}

// hashFile runs a file of size bytes through h; of one that has grown, a byte more.
func hashFile(ctx context.Context, f *os.File, size int64, h hash.Hash) error {
	in := io.NewSectionReader(f, 0, size+1)
	buf := make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := in.Read(buf)
		h.Write(buf[:n])
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readFooter reads the footer key "hgld" of a shard that may be damaged.
func readFooter(f io.ReaderAt, size int64) (note footer, err error) {
	defer recoverAs(&err)
	file, err := parquet.OpenFile(f, size, parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true))
	if err != nil {
		return note, err
	}
	text, ok := file.Lookup("hgld")
	if !ok {
		return note, errors.New("not a shard of hgld: the footer has no key hgld")
	}
	return note, json.Unmarshal([]byte(text), &note)
}

// recoverAs turns a panic of the Parquet library, which damaged files cause, into
// an error.
func recoverAs(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("damaged Parquet: %v", p)
	}
}

// crcFile is the CRC-32C of a file of size bytes.
func crcFile(ctx context.Context, f *os.File, size int64) (uint32, error) {
	h := crc32.New(castagnoli())
	err := hashFile(ctx, f, size, h)
	return h.Sum32(), err
}
