package shards

import (
	"fmt"
	"os"
	"path/filepath"

	"hgld/internal/atomicfile"
)

// IsDataSet reports whether dir holds a data set. It also returns true if that cannot be
// determined; [Open] then returns the reason.
func IsDataSet(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, ManifestFile))
	return err == nil || !atomicfile.IsMissing(err)
}

// CheckSizes compares the sizes of the files in dir with the manifest, without reading
// them, so that it finds missing and truncated files at once. The first difference is a
// *DamageError. Verify reads everything.
func CheckSizes(dir string) error {
	if err := checkSizes(dir); err != nil {
		return fmt.Errorf("shards: %s: %w", dir, err)
	}
	return nil
}

func checkSizes(dir string) error {
	m, err := readSound(dir)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	check := func(name string, want int64) {
		if err == nil {
			err = checkSizeIn(root, name, want)
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
