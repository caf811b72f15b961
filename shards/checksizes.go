package shards

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hgld/internal/atomicfile"
	"hgld/internal/objectstore/address"
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

// CheckSizes compares the sizes of the files in dir with the manifest, without reading
// them, so that it finds missing and truncated files at once. The first difference is a
// *DamageError. Verify reads everything.
func CheckSizes(ctx context.Context, dir string) error {
	if err := checkSizes(ctx, dir); err != nil {
		return fmt.Errorf("shards: %s: %w", dir, err)
	}
	return nil
}

func checkSizes(ctx context.Context, dir string) error {
	at, err := folderAt(ctx, dir)
	if err != nil {
		return err
	}
	m, err := readSound(at)
	if err != nil {
		return err
	}
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
