package labels

import (
	"bufio"
	"fmt"
	"io"
	"os"
)

// OpenTags is ReadTags of the file at path, without the header.
func OpenTags(path string) ([]Record, error) {
	return open(path, func(r io.Reader, name string) ([]Record, error) {
		_, records, err := ReadTags(r, name)
		return records, err
	})
}

// EachTag passes the records of the tags.jsonl at path to use, one after another. It rejects what ReadTags rejects,
// after it has passed the records before.
func EachTag(path string, use func(*Record)) error {
	_, err := open(path, func(r io.Reader, name string) (TagsHeader, error) { return eachTag(r, name, use) })
	return err
}

// OpenItems is ReadItems of the file at path, without the header.
func OpenItems(path string) ([]Item, error) {
	return open(path, func(r io.Reader, name string) ([]Item, error) {
		_, items, err := ReadItems(r, name)
		return items, err
	})
}

// OpenDraft is ReadDraft of the file at path.
func OpenDraft(path string) (*Draft, error) { return open(path, ReadDraft) }

// OpenHierarchy is ReadHierarchy of the file at path.
func OpenHierarchy(path string) (*Hierarchy, error) { return open(path, ReadHierarchy) }

// Open is Read of the file at path.
func Open(path string, o ReadOptions) (*Table, error) {
	return open(path, func(r io.Reader, name string) (*Table, error) { return Read(r, name, o) })
}

// OpenImageCounts is ReadImageCounts of the file at path.
func OpenImageCounts(path string, o ReadOptions) (map[LandmarkKey]int, error) {
	return open(path, func(r io.Reader, name string) (map[LandmarkKey]int, error) { return ReadImageCounts(r, name, o) })
}

// open reads the file at path, whose name errors begin with. Opening a named pipe could wait for
// ever, and reading a device never end.
func open[T any](path string, read func(io.Reader, string) (T, error)) (none T, err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return none, fmt.Errorf("%s is not a regular file (%s)", path, info.Mode())
	}
	f, err := os.Open(path)
	if err != nil {
		return none, err
	}
	defer f.Close()
	return read(bufio.NewReader(f), path)
}
