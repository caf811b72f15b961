package dataset

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"hgld/internal/filehash"
	"hgld/internal/img"
	"hgld/internal/regular"
	"hgld/internal/terminal"
	"hgld/shards"
)

// store holds image files: a folder or an archive. Its methods are safe for concurrent
// use.
type store interface {
	// list returns all files but hidden ones, sorted by path.
	list(ctx context.Context) ([]entry, error)
	// folders returns the folders at the top but hidden ones, sorted.
	folders() ([]string, error)
	// find returns one file. If it is missing, the error wraps fs.ErrNotExist.
	find(name string) (entry, error)
	open(name string) (io.ReadCloser, error)
	// input describes the store for the manifest. used are the files taken from it.
	input(ctx context.Context, used []byte) (shards.Input, error)
	Close() error
}

// entry is a file in a store.
type entry struct {
	path  string // with slashes, without . and ..
	size  int64
	stamp string // what an archive says of the content
	gone  bool   // a link that leads to nothing
}

// attach sets the image of an item to the file called name in a store. A missing or
// unreadable file is no error here; opening the item reports it.
func attach(item *shards.Item, st store, name string) (entry, error) {
	e, err := st.find(name)
	item.Missing = errors.Is(err, fs.ErrNotExist)
	switch {
	case err == nil, item.Missing, shards.Unreadable(err):
	case errors.As(err, new(syscall.Errno)):
		return e, &shards.ReadError{Path: item.Path, Where: item.Where, Err: err}
	default:
		return e, fmt.Errorf("%s: %w", item.Where, err)
	}
	item.Size, item.Stamp = e.size, e.stamp
	if item.Missing {
		item.Near = nearName(st, name)
	}
	item.Open = func() (io.ReadCloser, error) {
		r, later := st.open(name)
		if later == nil && shards.Unreadable(err) { // with its size the shards would be others
			return nil, errors.Join(&shards.ReadError{Path: item.Path, Where: item.Where,
				Err: errors.New("was not readable when the build began, but is now")}, r.Close())
		}
		return r, later
	}
	return entry{path: item.Path, size: e.size}, nil
}

// notesOf returns what a store found out about its names.
func notesOf(st store) []string {
	if known, ok := st.(interface{ notes() []string }); ok {
		return known.notes()
	}
	return nil
}

// nearName returns the file of a store whose name is spelled almost like one that is missing; "" if there
// is none.
func nearName(st store, name string) string {
	if known, ok := st.(*spelled); ok {
		return known.near(name)
	}
	return ""
}

// housekeeping are folders in which systems and network drives keep thumbnails, deleted files and
// snapshots.
var housekeeping = []string{"__MACOSX", "@eaDir", "#recycle", "@Recycle", "@Recently-Snapshot", "#snapshot",
	"$RECYCLE.BIN", "RECYCLER", "System Volume Information", "lost+found", "found.000", "@tmp", "~snapshot",
	"Network Trash Folder", "Temporary Items"}

// hiddenName reports whether list and folders leave out what has the name: it begins with a dot,
// or is that of a folder of the system.
func hiddenName(name string) bool {
	return strings.HasPrefix(name, ".") || slices.Contains(housekeeping, name)
}

// hidden reports whether a file has a hidden name, or lies in a folder that has one.
func hidden(path string) bool { return slices.ContainsFunc(strings.Split(path, "/"), hiddenName) }

// topsOf returns the top folders of file names, sorted, without hidden ones.
func topsOf[V any](members map[string]V) []string {
	tops := map[string]bool{}
	for name := range members {
		if top, _, within := strings.Cut(name, "/"); within && !hiddenName(top) {
			tops[top] = true
		}
	}
	return slices.Sorted(maps.Keys(tops))
}

// openStore opens a folder, a zip or a tar file, which their first bytes tell apart. It checks every
// member of an archive: one that is not a regular file, or whose name leads out, is an error. A tar
// file is read as a whole, for its hash. A name is found in either form of Unicode.
func openStore(ctx context.Context, name string) (store, error) {
	st, err := openPlainStore(ctx, name)
	if err != nil {
		return nil, err
	}
	return &spelled{store: st}, nil
}

// isFolder reports whether a store that openStore opened is a folder, and not an archive.
func isFolder(st store) bool {
	if s, is := st.(*spelled); is {
		st = s.store
	}
	_, is := st.(*folderStore)
	return is
}

func openPlainStore(ctx context.Context, name string) (store, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return openFolder(name)
	}
	kind, err := archiveKind(name)
	if err != nil {
		return nil, err
	}
	lower := strings.ToLower(name)
	switch {
	case kind == "zip", kind == "" && strings.HasSuffix(lower, ".zip"):
		return openZip(name)
	case kind == "tar", kind == "" && strings.HasSuffix(lower, ".tar"):
		return openTar(ctx, name)
	case kind == "" && strings.Contains(lower, ".tar."), kind == "" && strings.HasSuffix(lower, ".tgz"):
		kind = "a program that hgld does not know"
	case kind == "":
		return nil, fmt.Errorf("%s: want a folder, a .zip or a .tar", name)
	case kind == lfsPointer:
		return nil, fmt.Errorf("%s: is a pointer of Git LFS in place of the file; fetch that: git lfs pull", name)
	case kind == "7-Zip", kind == "RAR":
		return nil, fmt.Errorf("%s: is an archive of %s; want a folder, a .zip or a .tar: unpack it and name the folder",
			name, kind)
	}
	if slices.Contains(tables, path.Ext(strings.TrimSuffix(lower, path.Ext(lower)))) {
		return nil, fmt.Errorf("%s: is a table compressed by %s; decompress it, or compress it by gzip", name, kind)
	}
	return nil, fmt.Errorf("%s: is compressed by %s, and a compressed tar file has no random access; decompress it to "+
		".tar (images do not shrink anyway)", name, kind)
}

// archiveKinds are kinds of archives by the bytes with which their files begin.
var archiveKinds = []struct{ start, kind string }{
	{"PK\x03\x04", "zip"}, {"PK\x05\x06", "zip"}, {"\x1f\x8b", "gzip"}, {"BZh", "bzip2"}, {"\xfd7zXZ", "xz"},
	{"\x28\xb5\x2f\xfd", "zstd"}, {"7z\xbc\xaf", "7-Zip"}, {"Rar!", "RAR"}, {img.LFSPointer, lfsPointer},
}

const lfsPointer = "Git LFS"

// archiveKind returns the kind of a file by its first bytes; "" for an unknown one.
func archiveKind(name string) (string, error) {
	f, err := regular.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, tarBlock)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	for _, k := range archiveKinds {
		if strings.HasPrefix(string(head[:n]), k.start) {
			return k.kind, nil
		}
	}
	if n == tarBlock && string(head[257:262]) == "ustar" {
		return "tar", nil
	}
	return "", nil
}

// checkMember refuses names that could lead out of a folder or mean different files on
// different systems. Members are never written to disk, but their names become paths of
// rows.
func checkMember(archive, name string) error {
	clean := strings.TrimSuffix(name, "/")
	bad := func(why string) error { return fmt.Errorf("%s: member %.80q %s", filepath.Base(archive), name, why) }
	switch {
	case strings.ContainsRune(name, 0):
		return bad("has a NUL in its name")
	case strings.Contains(name, `\`):
		return bad(`has a \ in its name; want slashes`)
	case strings.HasPrefix(name, "/"), len(name) > 1 && name[1] == ':':
		return bad("has an absolute name")
	case !utf8.ValidString(clean):
		return bad("has a name that is not UTF-8; pack the archive again with names in UTF-8")
	case clean != "." && !fs.ValidPath(strings.TrimPrefix(clean, "./")):
		return bad("has a name with empty parts, . or ..")
	}
	return nil
}

// oddMembers are members of an archive that hold no bytes of their own and are left out: links that lead to no member,
// devices and pipes.
type oddMembers struct {
	count int
	first string
}

func (o *oddMembers) add(name string) {
	if o.count++; o.count == 1 || name < o.first {
		o.first = name
	}
}

// notes says how many there are.
func (o *oddMembers) notes(archive string) []string {
	if o.count == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s left out: links to no file in the archive, devices or pipes (%.80q first)",
		filepath.Base(archive), terminal.Count(o.count, "member"), o.first)}
}

// followLinks gives symbolic links the members that they lead to. The others are odd.
func followLinks[M any](members map[string]M, links map[string]string, odd *oddMembers) {
	const most = 40 // links that lead to links, as in Linux
	for range most {
		for name, to := range links {
			target, known := members[path.Join(path.Dir(name), to)]
			if _, twice := members[name]; known && !twice {
				members[name] = target
				delete(links, name)
			}
		}
	}
	for name := range links {
		odd.add(name)
	}
}

// memberPath returns the path of a checked member name.
func memberPath(name string) string { return path.Clean(name) }

// hashed hashes what is written to it, until its context ends.
type hashed struct {
	ctx   context.Context
	sum   hash.Hash
	bytes int64
}

func (h *hashed) Write(data []byte) (int, error) {
	h.bytes += int64(len(data))
	h.sum.Write(data)
	return len(data), h.ctx.Err()
}

// input describes the file that was written.
func (h *hashed) input(name string) shards.Input {
	in := shards.Input{Name: name, Bytes: h.bytes}
	h.sum.Sum(in.SHA256[:0])
	return in
}

// FileInput describes a file for the manifest: its name without the folder, its size
// and its hash.
func FileInput(ctx context.Context, name string) (shards.Input, error) {
	f, err := regular.Open(name)
	if err != nil {
		return shards.Input{}, err
	}
	defer f.Close()
	sum := sha256.New()
	in := shards.Input{Name: filepath.Base(name)}
	if in.Bytes, err = filehash.Copy(ctx, sum, f); err != nil {
		return shards.Input{}, err
	}
	sum.Sum(in.SHA256[:0])
	return in, nil
}
