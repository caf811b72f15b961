package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// MkdirAll makes the folder path and the parents that are missing, as os.MkdirAll
// does, and makes their names durable: each folder that gets a new one is synced.
// A file that is synced in a new folder is otherwise lost with the folder's name
// when the power fails.
func MkdirAll(path string, perm fs.FileMode) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return nil
	}
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return os.MkdirAll(path, perm) // it says what is in the way
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
	return SyncDir(parent(path)) // another process made it, and may not have synced it yet
}

// Mkdir makes the folder path as os.Mkdir does, and makes its name durable.
func Mkdir(path string, perm fs.FileMode) error {
	if err := os.Mkdir(path, perm); err != nil {
		return err
	}
	return SyncDir(parent(path))
}

// parent is the folder that holds path. The path is not cleaned: .. behind a link is
// not what precedes the link.
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
