package shards

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"strings"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/filehash"
	"hgld/internal/parquetfile"
)

// reuseShard looks for a finished shard under its final or its temporary name. The shard is kept
// if its sidecar is complete, its hash equals the sidecar's, its footer names the same plan, and
// the images that failed still fail. Its HEIC and AVIF images must come from the decoder of this
// build, so that one version decodes all images of a data set. A shard that a part describes is not
// read again if its size and time are those of the part. reuseShard returns an error only if
// the disk fails; any other shard is built again.
func (b *builder) reuseShard(ctx context.Context, there folder, p *planned) (made, bool, error) {
	for _, at := range []string{p.name, waitingPath(p.name)} {
		_, err := there.size(indexName(at))
		var m made
		var ok bool
		if err == nil {
			m, ok, err = b.reuseShardAt(ctx, there, p, at)
		}
		if ok || err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.As(err, new(*DamageError)) {
			return m, ok, err
		}
	}
	return made{}, false, nil
}

// maxSidecar bounds the size of a sidecar. Ten million rows with 7 levels take 520 MB.
const maxSidecar = 1 << 30

func (b *builder) reuseShardAt(ctx context.Context, there folder, p *planned, at string) (made, bool, error) {
	sidecar, err := there.read(indexName(at), maxSidecar)
	if err != nil {
		return made{}, false, err
	}
	x, err := decodeIndex(sidecar)
	if err != nil || x.levels != len(b.plan.schema.Classes.Levels) {
		return made{}, false, nil
	}
	f, size, err := there.open(at)
	if err != nil {
		return made{}, false, err
	}
	defer f.Close()
	if size != x.shardBytes {
		return made{}, false, nil
	}
	if v := b.vouched(p, f, size, sidecar); v != nil {
		if !b.sameHEIF(v.HEIF) {
			return made{}, false, nil
		}
		same, err := b.stillFail(ctx, p, v.Failures)
		return made{file: v.File, at: at, index: x, failures: v.Failures, heif: v.HEIF, kept: same}, same, err
	}
	note, err := readFooter(f, x.shardBytes)
	if err != nil || note.Plan != p.key || minorVersion(note.Tool) != minorVersion(b.o.Tool) || !b.sameHEIF(note.HEIF) {
		return made{}, false, nil
	}
	got, known := f.sum() // an object store compared it when it took the shard
	if !known {
		sha := sha256.New()
		if err := hashFile(ctx, f, x.shardBytes, sha); err != nil {
			return made{}, false, err
		}
		got = Hash(sha.Sum(nil))
	}
	if got != x.shardSHA {
		return made{}, false, nil
	}
	if same, err := b.stillFail(ctx, p, note.Failures); err != nil || !same {
		return made{}, false, err
	}
	file := x.file(sidecar)
	file.Name, file.Split, file.Plan = p.name, p.split, p.key
	return made{file: file, at: at, index: x, failures: note.Failures, heif: note.HEIF, kept: true}, true, nil
}

// sameHEIF reports whether this build would convert images by the decoder of the given version; "" is none.
func (b *builder) sameHEIF(version string) bool {
	return version == "" || b.o.HEIF != nil && b.o.HEIF.Version() == version
}

// stillFail tries the images that are missing from a shard once more. An image may have
// been repaired without a change of its size, which the plan does not notice.
func (b *builder) stillFail(ctx context.Context, p *planned, failures []Failure) (bool, error) {
	if p.items == nil { // a plan asks, and has no images at hand
		return true, nil
	}
	k := 0
	for _, f := range failures { // in the order of the items
		for k < len(p.items) && p.items[k].ID != f.ID {
			k++
		}
		if k == len(p.items) {
			return false, nil
		}
		r, err := b.preparer.prepare(ctx, &p.items[k], p.paths[k])
		if err != nil || r.failure == nil || r.failure.Class != f.Class {
			return false, err
		}
	}
	return true, nil
}

// minorVersion returns the version of hgld without its last number. Releases that differ only
// in that number make the same rows from the same inputs, so they may build a data set
// together.
func minorVersion(tool string) string {
	parts := strings.SplitN(tool, ".", 3)
	if len(parts) < 3 {
		return tool
	}
	return parts[0] + "." + parts[1]
}

// hashFile writes a file of size bytes to h. If the file has grown, it writes one byte
// more.
func hashFile(ctx context.Context, f file, size int64, h hash.Hash) error {
	_, err := filehash.Copy(ctx, h, io.NewSectionReader(&reading{file: f, ctx: ctx}, 0, size+1))
	return err
}

// readFooter reads the footer key "hgld" of a shard that may be damaged.
func readFooter(f io.ReaderAt, size int64) (note footer, err error) {
	defer parquetfile.Recover(&err)
	file, err := parquetfile.OpenAt(f, size, parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true))
	if err != nil {
		return note, err
	}
	text, ok := file.Lookup("hgld")
	if !ok {
		return note, errors.New("not a shard of hgld: the footer has no key \"hgld\"")
	}
	return note, json.Unmarshal([]byte(text), &note)
}

// crcFile returns the CRC-32C of a file of size bytes.
func crcFile(ctx context.Context, f file, size int64) (uint32, error) {
	h := crc32.New(castagnoli())
	err := hashFile(ctx, f, size, h)
	return h.Sum32(), err
}
