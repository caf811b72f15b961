package objectstore

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"hgld/internal/atomicfile"
	"hgld/internal/regular"
)

// The cache holds blocks of objects as files:
//
//	HGLD_S3_CACHE/3f/3fa9…-00000017   block 17 of an object: its bytes and their CRC-32C
//
// The name is a hash of the server, the bucket, the key and the version (ETag) of the object, so a block never belongs
// to another version. A block appears by a rename and is read whole the first time, so processes may share the folder,
// and a kill, a power cut or a full disk costs only a block. It never makes a read fail: without the cache, blocks are
// read from the store each time.
type cache struct {
	dir     string
	most    int64        // bytes of all blocks, about; 0: no cache
	written atomic.Int64 // since the last look at all blocks
	tidying sync.Mutex
}

const (
	blockBytes   = 1 << 20
	trailerBytes = 4

	defaultCacheBytes = 20e9
)

// Environment variables of the cache: its folder, and its size in bytes with a unit such as 50GB; 0: none.
const (
	CacheVariable     = "HGLD_S3_CACHE"
	CacheSizeVariable = "HGLD_S3_CACHE_SIZE"
)

// openCache reads the environment. The default folder is hgld/s3 in the user's folder of caches.
func openCache() (*cache, error) {
	c := &cache{dir: os.Getenv(CacheVariable), most: defaultCacheBytes}
	if text := os.Getenv(CacheSizeVariable); text != "" {
		var ok bool
		if c.most, ok = parseBytes(text); !ok {
			return nil, misconfigured("$"+CacheSizeVariable,
				"is not a size; want a number of bytes such as 50GB, or 0 for no cache")
		}
	}
	if c.dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			base = os.TempDir()
		}
		c.dir = filepath.Join(base, "hgld", "s3")
	}
	return c, nil
}

var sizes = regexp.MustCompile(`^(\d+) ?([kKMGT]?)B?$`)

func parseBytes(text string) (n int64, ok bool) {
	m := sizes.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	unit := map[string]int64{"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[m[2]]
	return n * unit, err == nil && n <= 1e18/unit
}

// Scratch creates a file of this machine for what is to be uploaded or was downloaded. It disappears with the process
// or with its last use. The error is a [*LocalError].
func (s *Store) Scratch() (*atomicfile.ScratchFile, error) {
	dir := filepath.Join(s.cache.dir, "tmp")
	err := atomicfile.MkdirAll(dir, 0o700)
	if err == nil {
		var f *atomicfile.ScratchFile
		if f, err = atomicfile.Scratch(dir); err == nil {
			return f, nil
		}
	}
	return nil, &LocalError{err}
}

func (c *cache) path(object string, block int64) string {
	return filepath.Join(c.dir, object[:2], fmt.Sprintf("%s-%08d", object, block))
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// check reads a block and reports whether it is there, whole and sound. A block that is not is removed.
func (c *cache) check(object string, block int64, want []byte) bool {
	path := c.path(object, block)
	data, err := regular.ReadFile(path)
	if err != nil {
		return false
	}
	if len(data) == len(want)+trailerBytes {
		sum := binary.LittleEndian.Uint32(data[len(want):])
		if copy(want, data); crc32.Checksum(want, castagnoli()) == sum {
			now := time.Now()
			os.Chtimes(path, now, now) // the oldest go first
			return true
		}
	}
	os.Remove(path)
	return false
}

// read reads a piece of a block that was checked. It reports whether the block is still there.
func (c *cache) read(object string, block int64, buf []byte, at int64) bool {
	f, err := regular.Open(c.path(object, block))
	if err != nil {
		return false
	}
	defer f.Close()
	n, _ := f.ReadAt(buf, at)
	return n == len(buf)
}

// keep writes a block. Errors only cost the block.
func (c *cache) keep(object string, block int64, data []byte) {
	if c.most == 0 {
		return
	}
	path := c.path(object, block)
	if err := atomicfile.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return
	}
	_, err = f.Write(binary.LittleEndian.AppendUint32(slices.Clip(data), crc32.Checksum(data, castagnoli())))
	if err = cmp.Or(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return
	}
	if c.written.Add(int64(len(data))) > c.most/16 {
		c.tidy()
	}
}

// drop forgets a block.
func (c *cache) drop(object string, block int64) { os.Remove(c.path(object, block)) }

// tidy removes the blocks that were not used for longest, until a tenth of the room is free. Several processes may do
// so at once.
func (c *cache) tidy() {
	if !c.tidying.TryLock() {
		return
	}
	defer c.tidying.Unlock()
	c.written.Store(0)
	type block struct {
		path string
		size int64
		used time.Time
	}
	var all []block
	var total int64
	filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == "tmp" {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil // another process was faster
		}
		if d.Name()[0] == '.' {
			if time.Since(info.ModTime()) > time.Hour { // of a killed process
				os.Remove(path)
			}
			return nil
		}
		all, total = append(all, block{path, info.Size(), info.ModTime()}), total+info.Size()
		return nil
	})
	if total <= c.most {
		return
	}
	slices.SortFunc(all, func(a, b block) int { return a.used.Compare(b.used) })
	for _, b := range all {
		if total <= c.most-c.most/10 {
			return
		}
		os.Remove(b.path)
		total -= b.size
	}
}
