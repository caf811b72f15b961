package main

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

	"hgld/cluster"
	"hgld/internal/atomicfile"
	"hgld/internal/tensorfile"
)

// Texts that clip and bert have encoded are kept in a folder for each encoder,
// which is called by the SHA-256 of Encoder.Name and so by that of the weights:
//
//	.hgld/vectors/<name>/<contents>.safetensors
//
// A file is a piece of the cache: keys, U8 [N,32], the SHA-256 of each text with
// its prompt, and vectors, F32 [N,D]. It is called by the SHA-256 of its contents,
// written whole and never changed, so that a process that is killed leaves pieces
// that are complete, and two processes do not disturb each other. What is damaged
// later is found by its name.

// cacheable is an encoder whose vector of a text depends on nothing else.
type cacheable interface {
	cluster.Encoder
	// Watch makes Encode tell how many texts are done.
	Watch(func(done int))
}

// cachedEncoder keeps what an encoder has made.
type cachedEncoder struct {
	cacheable
	j       *job
	dir     string
	vectors map[textKey][]float32
}

type textKey [sha256.Size]byte

// A piece is written after so many new texts, or the time, whichever is later: some
// seconds of work are lost by a kill, and a large job does not leave a thousand
// pieces.
const (
	pieceTexts = 2048
	pieceTime  = 10 * time.Second
)

// withCache returns e with the cache below dir, if it can have one.
func withCache(j *job, e cluster.Encoder, dir string) (cluster.Encoder, error) {
	c, ok := e.(cacheable)
	if !ok {
		return e, nil
	}
	name := sha256.Sum256([]byte(e.Name()))
	cached := &cachedEncoder{cacheable: c, j: j, vectors: map[textKey][]float32{}}
	if dir != "" {
		cached.dir = filepath.Join(dir, hex.EncodeToString(name[:8]))
		if err := cached.load(); err != nil {
			return nil, err
		}
	}
	return cached, nil
}

// load reads all pieces. What killed processes left half written is removed.
func (c *cachedEncoder) load() error {
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
			return withHint(withCode(exitIntegrity, err), "remove the file; its vectors are made again")
		}
	}
	return nil
}

func (c *cachedEncoder) loadPiece(path string) error {
	sum, err := sha256File(path)
	if err != nil {
		return err
	}
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

// Encode takes what the cache has and encodes the rest, longer texts later.
func (c *cachedEncoder) Encode(ctx context.Context, texts []string) ([][]float32, error) {
	var missing []string
	seen := map[textKey]bool{}
	for _, t := range texts {
		key := textKey(sha256.Sum256([]byte(t)))
		if c.vectors[key] == nil && !seen[key] {
			seen[key] = true
			missing = append(missing, t)
		}
	}
	if n := len(texts) - len(missing); n > 0 {
		c.j.say("%s known or repeated, %d to encode", count(n, "text"), len(missing))
	}
	slices.SortStableFunc(missing, func(a, b string) int { return len(a) - len(b) })
	bar := c.j.progress("encoding", len(missing))
	defer bar.end()
	var fresh []string
	written := time.Now()
	for done := 0; done < len(missing); {
		part := missing[done:min(done+pieceTexts, len(missing))]
		c.Watch(func(n int) { bar.set(done+n, "") })
		vectors, err := c.cacheable.Encode(ctx, part)
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
func (c *cachedEncoder) save(texts []string) error {
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
