package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hgld/internal/atomicfile"
	"hgld/internal/regular"
	"hgld/internal/tensorfile"
)

// The cache keeps the vectors of texts that an encoder has computed, in a folder for
// each encoder named by the SHA-256 of Encoder.Name, which includes that of its weights:
//
//	.hgld/vectors/<name>/<contents>.safetensors
//
// Each file is one piece of the cache. It has the tensors "keys", U8 [N,32], the SHA-256
// of each text with its prompt, and "vectors", F32 [N,D]. A piece is named by the
// SHA-256 of its contents, written in one step and never changed: a process that is
// killed leaves complete pieces, two processes do not disturb each other, and later
// damage is found by comparing a file with its name.

// Cacheable is an encoder whose vector of a text depends on that text alone.
type Cacheable interface {
	Encoder
	// Watch sets a function that Encode calls with the number of texts done so far.
	Watch(func(done int))
}

// Cache is an encoder that encodes every text once and keeps the vectors on disk.
type Cache struct {
	Cacheable
	dir     string // "" to keep nothing on disk
	vectors map[textKey][]float32
}

// textKey is the SHA-256 of a text.
type textKey [sha256.Size]byte

// CacheError says that a piece of a cache is damaged.
type CacheError struct {
	Err error // names the file, and what is wrong with it
}

// Error is the text of Err.
func (e *CacheError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *CacheError) Unwrap() error { return e.Err }

// A piece is written after pieceTexts new texts and pieceTime, whichever is later. A
// kill then loses a few seconds of work, and a large job does not leave a thousand
// pieces.
const (
	pieceTexts = 2048
	pieceTime  = 10 * time.Second
)

// OpenCache returns e with the cache below the folder dir; with dir "", texts are
// encoded once in this process alone. A damaged piece is a *CacheError.
func OpenCache(e Cacheable, dir string) (*Cache, error) {
	name := sha256.Sum256([]byte(e.Name()))
	c := &Cache{Cacheable: e, vectors: map[textKey][]float32{}}
	if dir != "" {
		c.dir = filepath.Join(dir, hex.EncodeToString(name[:8]))
		if err := c.load(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// load reads all pieces. What killed processes left half written is removed.
func (c *Cache) load() error {
	atomicfile.RemoveLeftovers(c.dir)
	entries, err := os.ReadDir(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || filepath.Ext(e.Name()) != ".safetensors" {
			continue // half written by another process
		}
		if err := c.loadPiece(filepath.Join(c.dir, e.Name())); err != nil {
			return &CacheError{err}
		}
	}
	return nil
}

func (c *Cache) loadPiece(path string) error {
	data, err := regular.ReadFile(path)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(data)
	sum := hex.EncodeToString(digest[:])
	if want := strings.TrimSuffix(filepath.Base(path), ".safetensors"); sum != want {
		return fmt.Errorf("%s: the cached vectors are damaged: sha256 %.16s…", path, sum)
	}
	f, err := tensorfile.OpenSafetensors(path)
	if err != nil {
		return err
	}
	defer f.Close()
	keys, err := f.Tensor("keys")
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	values, err := f.Float32("vectors")
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	n := len(keys.Data) / sha256.Size
	if n == 0 || len(values)%n != 0 {
		return fmt.Errorf("%s: %d values for %d keys", path, len(values), n)
	}
	width := len(values) / n
	for i := range n {
		c.vectors[textKey(keys.Data[i*sha256.Size:])] = values[i*width:][:width]
	}
	return nil
}

// Missing returns the texts that the cache does not have, each once, in their order.
func (c *Cache) Missing(texts []string) []string {
	var missing []string
	seen := map[textKey]bool{}
	for _, t := range texts {
		key := textKey(sha256.Sum256([]byte(t)))
		if c.vectors[key] == nil && !seen[key] {
			seen[key] = true
			missing = append(missing, t)
		}
	}
	return missing
}

// Encode returns the vectors of texts and encodes those that are missing.
func (c *Cache) Encode(ctx context.Context, texts []string) ([][]float32, error) {
	return c.EncodeWatched(ctx, texts, func(int) {})
}

// EncodeWatched is Encode, and calls watch with the number of Missing texts done so far.
// Short texts come first. If ctx is cancelled or the encoder fails, the vectors computed
// so far are kept.
func (c *Cache) EncodeWatched(ctx context.Context, texts []string, watch func(done int)) ([][]float32, error) {
	missing := c.Missing(texts)
	slices.SortStableFunc(missing, func(a, b string) int { return len(a) - len(b) })
	var fresh []string
	written := time.Now()
	for done := 0; done < len(missing); {
		part := missing[done:min(done+pieceTexts, len(missing))]
		c.Watch(func(n int) { watch(done + n) })
		vectors, err := c.Cacheable.Encode(ctx, part)
		if err != nil {
			return nil, errors.Join(err, c.save(fresh))
		}
		for i, t := range part {
			c.vectors[sha256.Sum256([]byte(t))] = vectors[i]
		}
		fresh, done = append(fresh, part...), done+len(part)
		if time.Since(written) >= pieceTime || done == len(missing) {
			if err := c.save(fresh); err != nil {
				return nil, err
			}
			fresh, written = nil, time.Now()
		}
	}
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = c.vectors[sha256.Sum256([]byte(t))]
	}
	return out, nil
}

// save writes the vectors of texts as a piece.
func (c *Cache) save(texts []string) error {
	if c.dir == "" || len(texts) == 0 {
		return nil
	}
	if err := atomicfile.MkdirAll(c.dir, 0o755); err != nil {
		return err
	}
	keys := tensorfile.Tensor{Name: "keys", DType: "U8", Shape: []int{len(texts), sha256.Size}}
	var values []float32
	for _, t := range texts {
		key := sha256.Sum256([]byte(t))
		keys.Data = append(keys.Data, key[:]...)
		values = append(values, c.vectors[key]...)
	}
	tensors := []tensorfile.Tensor{tensorfile.NewF32("vectors", []int{len(texts), len(values) / len(texts)}, values), keys}
	meta := map[string]string{"encoder": c.Name()}
	hash := sha256.New()
	write := func(w io.Writer) error { return tensorfile.WriteSafetensors(w, tensors, meta) }
	if err := write(hash); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(c.dir, hex.EncodeToString(hash.Sum(nil))+".safetensors"), write)
}
