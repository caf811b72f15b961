package shards

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"

	"hgld/internal/atomicfile"
	"hgld/internal/objectstore"
)

// remote is a place in an object store. An object appears whole, so nothing is renamed but the shards beside a finished
// data set. There are no locks: writers of the same slice write the same bytes, and of writers of different data sets
// only one gets to write the manifest, if the server knows conditions.
type remote struct {
	ctx   context.Context
	store *objectstore.Store
}

func (r *remote) String() string { return r.store.URL("") }

func (r *remote) open(name string) (file, int64, error) {
	o, err := r.store.Open(r.ctx, name)
	if err != nil {
		return nil, 0, err
	}
	return remoteFile{o}, o.Info().Size, nil
}

// read reads sidecars through the cache: each opening of a data set reads them all.
func (r *remote) read(name string, limit int64) ([]byte, error) {
	if path.Ext(name) == ".idx" {
		f, size, err := r.open(name)
		if err != nil {
			return nil, err
		}
		if size <= limit {
			want, _ := f.sum()
			if data, err := readSummed(f, size, want); err == nil {
				return data, nil
			}
			f.forget(0, size)
		}
	}
	return r.readPast(name, limit)
}

// readPast reads a file past the cache.
func (r *remote) readPast(name string, limit int64) ([]byte, error) {
	data, err := r.store.Read(r.ctx, name, limit)
	if large := (*objectstore.TooLargeError)(nil); errors.As(err, &large) {
		return nil, &DamageError{name, -1, fmt.Sprintf("%d bytes; want at most %d", large.Size, limit)}
	}
	return data, err
}

// readSummed reads a file that must have a hash.
func readSummed(f file, size int64, want Hash) ([]byte, error) {
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, err
	}
	if sha256.Sum256(data) != want {
		return nil, errors.New("not as recorded")
	}
	return data, nil
}

func (r *remote) size(name string) (int64, error) {
	info, err := r.store.Stat(r.ctx, name)
	return info.Size, err
}

func (r *remote) list(of string) ([]string, error) {
	infos, err := r.store.List(r.ctx, of)
	names := make([]string, len(infos))
	for i, info := range infos {
		names[i] = path.Base(info.Name)
	}
	return names, err
}

func (r *remote) mayExist(name string) bool {
	_, err := r.store.Stat(r.ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		names, err := r.list(name)
		return err != nil || len(names) > 0
	}
	return true
}

func (r *remote) checkPlace(...string) error           { return nil }
func (r *remote) write(name string, data []byte) error { return r.store.Write(r.ctx, name, data) }
func (r *remote) move(from, to string) error           { return r.store.Move(r.ctx, from, to) }
func (r *remote) remove(names ...string) error         { return r.store.Remove(r.ctx, names...) }
func (r *remote) makeFolder(string) error              { return nil }
func (r *remote) sync(string) error                    { return nil }

// ConcurrentBuildError says that another process has written a file of another data set to the same place meanwhile.
type ConcurrentBuildError struct{ File string }

// Error names the file.
func (e *ConcurrentBuildError) Error() string {
	return fmt.Sprintf("another process has written another %s there meanwhile", e.File)
}

func (r *remote) writeNew(name string, data []byte) error {
	err := r.store.WriteNew(r.ctx, name, data)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	there, err := r.read(name, maxManifest)
	if err == nil && !bytes.Equal(there, data) {
		err = &ConcurrentBuildError{name}
	}
	return err
}

func (r *remote) removeFolder(name string) error {
	names, err := r.list(name)
	if err != nil {
		return err
	}
	for i := range names {
		names[i] = name + "/" + names[i]
	}
	return r.remove(names...)
}

// listed takes sizes and versions of objects from a list of each folder, instead of a request for each object. An
// object that is replaced after the list is noticed at its first read.
type listed struct {
	*remote
	sidecars map[string]Hash // by name without folder: what they must have

	mu    sync.Mutex
	infos map[string]map[string]objectstore.Info // by folder and name
}

// withList returns a view of a folder that nobody else changes meanwhile, in which a list of each folder takes the
// place of a request for each file. Its sidecars are those of files, which may lie in any folder.
func withList(dir folder, files []File) folder {
	r, is := dir.(*remote)
	if !is {
		return dir
	}
	l := &listed{remote: r, sidecars: map[string]Hash{}, infos: map[string]map[string]objectstore.Info{}}
	for _, f := range files {
		l.sidecars[path.Base(indexName(f.Name))] = f.IndexSHA256
	}
	return l
}

func (l *listed) info(name string) (objectstore.Info, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := path.Dir(name)
	if of == "." {
		of = ""
	}
	if l.infos[of] == nil {
		infos, err := l.store.List(l.ctx, of)
		if err != nil {
			return objectstore.Info{}, err
		}
		l.infos[of] = map[string]objectstore.Info{}
		for _, info := range infos {
			l.infos[of][info.Name] = info
		}
	}
	info, there := l.infos[of][name]
	if !there {
		return info, &fs.PathError{Op: "read", Path: l.store.URL(name), Err: fs.ErrNotExist}
	}
	return info, nil
}

func (l *listed) size(name string) (int64, error) {
	info, err := l.info(name)
	return info.Size, err
}

func (l *listed) open(name string) (file, int64, error) {
	info, err := l.info(name)
	if err != nil {
		return nil, 0, err
	}
	o, err := l.store.OpenListed(l.ctx, info)
	if err != nil {
		return nil, 0, err
	}
	return remoteFile{o}, info.Size, nil
}

// read reads a sidecar whose hash is known through the cache, and other files past it.
func (l *listed) read(name string, limit int64) ([]byte, error) {
	want, known := l.sidecars[path.Base(name)]
	if !known {
		return l.remote.readPast(name, limit)
	}
	f, size, err := l.open(name)
	if err != nil {
		return nil, err
	}
	if size <= limit {
		if data, err := readSummed(f, size, want); err == nil {
			return data, nil
		}
		f.forget(0, size)
	}
	return l.remote.readPast(name, limit)
}

func (l *listed) move(from, to string) error {
	err := l.remote.move(from, to)
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.infos)
	return err
}

// tidy does nothing: an upload that was interrupted continues. Those of a finished data set end with endUploads.
func (r *remote) tidy([]string, []string) {}

// create starts an object. It lies in the cache folder until it is sent, unless another folder is given.
func (r *remote) create(name, scratch string) (unfinished, error) {
	create := r.store.Scratch
	if scratch != "" {
		create = func() (*atomicfile.ScratchFile, error) { return atomicfile.Scratch(scratch) }
	}
	f, err := create()
	if err != nil {
		return nil, err
	}
	return &staged{f, func(f *os.File, size int64, sum Hash) error {
		return r.store.Upload(r.ctx, name, f, size, sum)
	}}, nil
}

// mark is the lock of a remote: an object that says that the shards beside it are hgld's, though there is no manifest.
type mark struct {
	of   *remote
	name string
}

func (r *remote) lock(_ context.Context, name string) (lock, error) {
	return mark{r, name}, r.checkLock(name)
}

func (r *remote) checkLock(name string) error {
	if name != LockName || r.mayExist(name) {
		return nil
	}
	return r.write(name, []byte("an unfinished data set of hgld\n"))
}

func (m mark) Close() error { return nil }

func (m mark) Remove() error {
	if m.name != LockName {
		return nil
	}
	return errors.Join(m.of.remove(m.name), m.of.store.AbortUploads(m.of.ctx))
}

// remoteFile is an object, open for reading.
type remoteFile struct{ *objectstore.Object }

func (f remoteFile) sum() (h Hash, known bool) {
	return h, h.UnmarshalText([]byte(f.Sum())) == nil
}

// stamp returns a part of a hash of the version, which a list names too.
func (f remoteFile) stamp() (int64, error) {
	version := f.Version()
	if version == "" {
		version = f.Sum()
	}
	h := sha256.Sum256([]byte(version))
	return int64(binary.BigEndian.Uint64(h[:]) >> 1), nil
}

func (f remoteFile) forget(at, length int64) { f.Forget(at, length) }

// snapshot implements folder.
func (r *remote) snapshot() (folder, func()) {
	s := &downloaded{remote: r, files: map[string]*whole{}}
	return s, s.release
}

// downloaded is a remote whose files are downloaded whole when they are first opened.
type downloaded struct {
	*remote
	mu    sync.Mutex
	files map[string]*whole
}

type whole struct {
	once sync.Once
	file *atomicfile.ScratchFile
	size int64
	err  error
}

func (d *downloaded) open(name string) (file, int64, error) {
	d.mu.Lock()
	w := d.files[name]
	if w == nil {
		w = &whole{}
		d.files[name] = w
	}
	d.mu.Unlock()
	w.once.Do(func() {
		if w.file, w.err = d.store.Scratch(); w.err == nil {
			w.size, w.err = d.store.Download(d.ctx, name, w.file)
		}
	})
	if w.err != nil {
		return nil, 0, w.err
	}
	return kept{diskFile{w.file.File}}, w.size, nil
}

func (d *downloaded) read(name string, limit int64) ([]byte, error) {
	f, size, err := d.open(name)
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, &DamageError{name, -1, fmt.Sprintf("%d bytes; want at most %d", size, limit)}
	}
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, err
	}
	return data, nil
}

func (d *downloaded) size(name string) (int64, error) {
	_, size, err := d.open(name)
	return size, err
}

func (d *downloaded) release() {
	for _, w := range d.files {
		if w.file != nil {
			w.file.Close()
		}
	}
}

// kept is a file that its folder closes.
type kept struct{ diskFile }

func (k kept) Close() error { return nil }
