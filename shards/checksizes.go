package shards

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"hgld/internal/atomicfile"
	"hgld/internal/objectstore/address"
	"hgld/internal/regular"
)

// IsDataSet reports whether dir holds a data set. It also returns true if that cannot be
// determined; [Open] then returns the reason.
func IsDataSet(ctx context.Context, dir string) bool {
	if !address.Is(dir) {
		_, err := os.Stat(filepath.Join(dir, ManifestFile))
		return err == nil || !atomicfile.IsMissing(err)
	}
	at, err := folderAt(ctx, dir)
	if err == nil {
		_, err = at.size(ManifestFile)
	}
	return !errors.Is(err, fs.ErrNotExist)
}

// IsPart reports whether a file belongs to a finished data set of this machine: the SHA256SUMS beside it, or in the
// folder above, is that of a data set and names it.
func IsPart(path string) bool {
	dir, name := filepath.Dir(path), filepath.Base(path)
	for range 2 {
		sums, err := regular.ReadAtMost(filepath.Join(dir, SumsFile), maxManifest)
		if err == nil && sumsName(sums, ManifestFile) && (name == SumsFile || sumsName(sums, name)) {
			return true
		}
		dir, name = filepath.Dir(dir), filepath.Base(dir)+"/"+name
	}
	return false
}

// sumsName reports whether SHA256SUMS has a line for a file.
func sumsName(sums []byte, name string) bool { return bytes.Contains(sums, []byte("  "+name+"\n")) }

// CheckSizes compares the sizes of the files in dir with the manifest, without reading
// them, so that it finds missing and truncated files at once. The first difference is a
// *DamageError. Verify reads everything.
func CheckSizes(ctx context.Context, dir string) (err error) {
	defer nameFolder(&err, dir)
	at, err := folderAt(ctx, dir)
	if err != nil {
		return err
	}
	m, err := readSound(at)
	if err != nil {
		return err
	}
	at = withList(at, nil)
	check := func(name string, want int64) {
		if err == nil {
			err = checkSize(at, name, want)
		}
	}
	check(HierarchyFile, m.Hierarchy.Bytes)
	check(FailuresFile, m.Failures.Bytes)
	for _, c := range m.Companions {
		check(c.Name, c.Bytes)
	}
	for _, f := range m.Files {
		check(f.Name, f.Bytes)
		check(indexName(f.Name), f.IndexBytes)
	}
	return err
}
