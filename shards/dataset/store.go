package dataset

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"hgld/shards"
)

// store is what holds image files: a folder or an archive. Its methods may be
// called by several goroutines at once.
type store interface {
	// list returns all files, sorted by path.
	list(ctx context.Context) ([]entry, error)
	// find returns one file; an error that wraps fs.ErrNotExist says it is missing.
	find(name string) (entry, error)
	open(name string) (io.ReadCloser, error)
	// input describes the store for the manifest; used are the files taken from it.
	input(ctx context.Context, used []byte) (shards.Input, error)
	Close() error
}

// entry is a file in a store.
type entry struct {
	path  string // with slashes, without . and ..
	size  int64
	stamp string // what an archive says of the content
}

// openStore opens a folder, a zip or a tar file. Of an archive, every member is
// looked at: one that is no plain file or whose name leads elsewhere is an error.
func openStore(name string) (store, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	lower := strings.ToLower(name)
	switch {
	case info.IsDir():
		return openFolder(name)
	case strings.HasSuffix(lower, ".zip"):
		return openZip(name)
	case strings.HasSuffix(lower, ".tar"):
		return openTar(name)
	case strings.HasSuffix(lower, ".tar.gz"), strings.HasSuffix(lower, ".tgz"), strings.HasSuffix(lower, ".tar.bz2"),
		strings.HasSuffix(lower, ".tar.xz"), strings.HasSuffix(lower, ".tar.zst"):
		return nil, fmt.Errorf("%s: a compressed tar file cannot be read at random; unpack it to .tar (images do not shrink anyway)", name)
	}
	return nil, fmt.Errorf("%s: want a folder, a .zip or a .tar", name)
}

// checkMember refuses names that could lead out of a folder or mean different
// files on different systems. Members are never written to disk, but their names
// come back as paths of rows.
func checkMember(archive, name string) error {
	clean := strings.TrimSuffix(name, "/")
	bad := func(why string) error { return fmt.Errorf("%s: member %q %s", filepath.Base(archive), name, why) }
	switch {
	case strings.ContainsRune(name, 0):
		return bad("has a NUL in its name")
	case strings.Contains(name, `\`):
		return bad(`has a \ in its name; want slashes`)
	case strings.HasPrefix(name, "/"), len(name) > 1 && name[1] == ':':
		return bad("has an absolute name")
	case clean != "." && !fs.ValidPath(strings.TrimPrefix(clean, "./")):
		return bad("has a name with empty parts, . or ..")
	}
	return nil
}

// memberPath is the path of a checked member name.
func memberPath(name string) string { return path.Clean(name) }

// fileInput describes a file for the manifest.
func fileInput(ctx context.Context, name string) (shards.Input, error) {
	f, err := os.Open(name)
	if err != nil {
		return shards.Input{}, err
	}
	defer f.Close()
	h := sha256.New()
	buf := make([]byte, 1<<20)
	in := shards.Input{Name: filepath.Base(name)}
	for {
		if err := ctx.Err(); err != nil {
			return in, err
		}
		n, err := f.Read(buf)
		h.Write(buf[:n])
		in.Bytes += int64(n)
		if errors.Is(err, io.EOF) {
			h.Sum(in.SHA256[:0])
			return in, nil
		}
		if err != nil {
			return in, err
		}
	}
}
