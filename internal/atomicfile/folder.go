package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hgld/internal/regular"
)

// MkdirAll creates the folder path and its missing parents, as os.MkdirAll does, and makes their
// names durable by syncing each parent. Otherwise a power cut could remove the folder with all
// synced files in it.
func MkdirAll(path string, perm fs.FileMode) error {
	if err := regular.CheckPath(path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return nil
	}
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return os.MkdirAll(path, perm) // its error names the obstacle
	}
	if above := parent(path); above != path {
		if err := MkdirAll(above, perm); err != nil {
			return err
		}
	}
	err = Mkdir(path, perm)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if info, e := os.Stat(path); e != nil || !info.IsDir() {
		return err
	}
	return SyncDir(parent(path)) // another process created it, and may not have synced it yet
}

// Mkdir creates the folder path, as os.Mkdir does, and makes its name durable.
func Mkdir(path string, perm fs.FileMode) error {
	if err := os.Mkdir(path, perm); err != nil {
		return err
	}
	return SyncDir(parent(path))
}

// parent returns the folder that holds path. It does not clean the path: .. after a link is not the
// folder before the link.
func parent(path string) string {
	volume := len(filepath.VolumeName(path))
	end := len(path)
	for end > volume+1 && os.IsPathSeparator(path[end-1]) {
		end--
	}
	dir, _ := filepath.Split(path[:end])
	if dir == "" {
		return "."
	}
	if trimmed := strings.TrimRight(dir, string(filepath.Separator)); len(trimmed) > volume {
		return trimmed
	}
	return dir
}
