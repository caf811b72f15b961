package objectstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"

	"hgld/internal/metrics"
)

// Object is one version of an object, open for reading at any place. It is safe for concurrent use. If the object is
// replaced, reads of what the cache does not hold return an [*Error] of the kind Changed.
type Object struct {
	store *Store
	ctx   context.Context
	info  Info
	id    string // of the version, in the cache

	mu       sync.Mutex
	sum      *string                 // that the object records, once an answer has told it; "" if it records none
	checked  map[int64]bool          // blocks of the cache that were read whole
	fetching map[int64]chan struct{} // blocks on their way, of which several may share a channel
}

// Open opens an object for reading at any place, through the cache. Reads by ReadAt end with ctx.
func (s *Store) Open(ctx context.Context, name string) (*Object, error) {
	info, err := s.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	o := s.open(ctx, info)
	o.learn(info.SHA256)
	return o, nil
}

// OpenListed opens the version of an object that a list has named, as Open does but without a request: whether it is
// still there shows at the first read. Its Info has no SHA256; Sum finds it.
func (s *Store) OpenListed(ctx context.Context, info Info) (*Object, error) {
	if info.etag == "" {
		return s.Open(ctx, info.Name)
	}
	return s.open(ctx, info), nil
}

func (s *Store) open(ctx context.Context, info Info) *Object {
	id := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%s\x00%d", s.config.host, s.bucket, s.key(info.Name),
		info.etag, info.Size))
	return &Object{store: s, ctx: ctx, info: info, id: hex.EncodeToString(id[:20]),
		checked: map[int64]bool{}, fetching: map[int64]chan struct{}{}}
}

// Info returns the size and the recorded hash.
func (o *Object) Info() Info { return o.info }

// Version names the version of the object, as far as the store does.
func (o *Object) Version() string { return o.info.etag }

// sumBlock is the block of the cache that has the recorded hash of an object.
const sumBlock = 1 << 40

// Sum returns the SHA-256 that the object records, "" if there is none. It sends a request only if no answer has told
// the hash to this process or an earlier one.
func (o *Object) Sum() string {
	o.mu.Lock()
	known := o.sum
	o.mu.Unlock()
	if known != nil {
		return *known
	}
	if kept := make([]byte, hex.EncodedLen(sha256.Size)); o.store.cache.check(o.id, sumBlock, kept) {
		return string(kept)
	}
	info, err := o.store.Stat(o.ctx, o.info.Name)
	if err != nil || info.etag != o.info.etag {
		return ""
	}
	o.learn(info.SHA256)
	return info.SHA256
}

// learn notes the hash that an answer tells.
func (o *Object) learn(sum string) {
	o.mu.Lock()
	known := o.sum != nil
	o.sum = &sum
	o.mu.Unlock()
	if !known && len(sum) == hex.EncodedLen(sha256.Size) {
		o.store.cache.keep(o.id, sumBlock, []byte(sum))
	}
}

// Close does nothing: an Object holds no connection and no file.
func (o *Object) Close() error { return nil }

// ReadAt implements io.ReaderAt.
func (o *Object) ReadAt(p []byte, at int64) (int, error) { return o.ReadAtContext(o.ctx, p, at) }

// ReadAtContext is ReadAt for a reader with a context of its own, whose end ends the request.
func (o *Object) ReadAtContext(ctx context.Context, p []byte, at int64) (int, error) {
	if at < 0 {
		return 0, errors.New("objectstore: negative offset")
	}
	end := at + int64(len(p))
	short := end > o.info.Size
	end = min(end, o.info.Size)
	if at >= end {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	p = p[:end-at]
	if o.store.cache.most == 0 {
		if err := o.fetch(ctx, p, at); err != nil {
			return 0, err
		}
	} else if err := o.readBlocks(ctx, p, at); err != nil {
		return 0, err
	}
	if short {
		return len(p), io.EOF
	}
	return len(p), nil
}

// mostAtOnce is the number of blocks of one request.
const mostAtOnce = 16

// readBlocks fills p from the cache, and fetches neighbouring blocks that it lacks together. It waits for
// blocks that another reader fetches.
func (o *Object) readBlocks(ctx context.Context, p []byte, at int64) error {
	end := (at+int64(len(p))-1)/blockBytes + 1
	for b := at / blockBytes; b < end; {
		if o.fromCache(p, at, b) {
			b++
			continue
		}
		to, fetched := o.claim(b, min(end, b+mostAtOnce))
		if fetched != nil {
			select {
			case <-fetched:
				continue // without it, if its reader failed or could not keep it
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		err := o.fetchClaimed(ctx, p, at, b, to)
		o.release(b, to)
		if err != nil {
			return err
		}
		b = to
	}
	return nil
}

// claim makes the caller the one that fetches the blocks from ≤ b < to, up to the first that another one
// fetches. If that is the first block, claim returns a channel that is closed when the other is done.
func (o *Object) claim(from, to int64) (int64, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if fetched := o.fetching[from]; fetched != nil {
		return from, fetched
	}
	fetched := make(chan struct{})
	for b := from; b < to; b++ {
		if o.fetching[b] != nil {
			return b, nil
		}
		o.fetching[b] = fetched
	}
	return to, nil
}

// release lets those go on who wait for claimed blocks.
func (o *Object) release(from, to int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.fetching[from])
	for b := from; b < to; b++ {
		delete(o.fetching, b)
	}
}

// fetchClaimed fills the part of p that lies in claimed blocks. Some may have come into the cache before the claim.
func (o *Object) fetchClaimed(ctx context.Context, p []byte, at, from, to int64) error {
	for b := from; b < to; {
		if o.fromCache(p, at, b) {
			b++
			continue
		}
		end := b + 1
		for end < to && !o.fromCache(p, at, end) {
			end++
		}
		data, err := o.blocks(ctx, b, end)
		if err != nil {
			return err
		}
		start := b * blockBytes
		copy(p[max(0, start-at):], data[max(0, at-start):])
		b = end
	}
	return nil
}

// length returns the number of bytes of a block.
func (o *Object) length(block int64) int64 { return min(blockBytes, o.info.Size-block*blockBytes) }

// fromCache fills the part of p that lies in a block, if the cache has it.
func (o *Object) fromCache(p []byte, at, block int64) bool {
	start := block * blockBytes
	from, to := max(at, start), min(at+int64(len(p)), start+o.length(block))
	piece := p[from-at : to-at]
	o.mu.Lock()
	checked := o.checked[block]
	o.mu.Unlock()
	if checked && o.store.cache.read(o.id, block, piece, from-start) {
		metrics.Add("hgld_store_cache_hits_total", 1)
		return true
	}
	whole := make([]byte, o.length(block))
	if !o.store.cache.check(o.id, block, whole) {
		return false
	}
	metrics.Add("hgld_store_cache_hits_total", 1)
	copy(piece, whole[from-start:])
	o.mark(block, true)
	return true
}

func (o *Object) mark(block int64, checked bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.checked[block] = checked
}

// blocks fetches blocks from ≤ b < to and keeps them.
func (o *Object) blocks(ctx context.Context, from, to int64) ([]byte, error) {
	data := make([]byte, (to-1-from)*blockBytes+o.length(to-1))
	if err := o.fetch(ctx, data, from*blockBytes); err != nil {
		return nil, err
	}
	metrics.Add("hgld_store_cache_misses_total", float64(to-from))
	for b := from; b < to; b++ {
		start := (b - from) * blockBytes
		o.store.cache.keep(o.id, b, data[start:start+o.length(b)])
		o.mark(b, true)
	}
	return data, nil
}

// fetch reads a range from the store.
func (o *Object) fetch(ctx context.Context, p []byte, at int64) error {
	r := span{at: at, end: at + int64(len(p)), etag: o.info.etag, answered: func(info Info) { o.learn(info.SHA256) }}
	return o.store.stream(ctx, o.info.Name, &r, (*memory)(&p))
}

// memory is filled by what is written to it.
type memory []byte

func (m *memory) Write(p []byte) (int, error) {
	n := copy(*m, p)
	*m = (*m)[n:]
	return n, nil
}

// Forget makes the cache read a range again from the store: what it holds is not what the caller expects.
func (o *Object) Forget(at, length int64) {
	for b := at / blockBytes; b*blockBytes < min(at+length, o.info.Size); b++ {
		o.store.cache.drop(o.id, b)
		o.mark(b, false)
	}
}
