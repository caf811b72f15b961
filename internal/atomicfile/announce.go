package atomicfile

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"sync"
)

// announced holds what Announce was given, by the target of a file.
var announced sync.Map // absolute path → func(sum string) error

// Announce makes every Commit of a file at path, in this process, call note with the SHA-256 of the content, in hex,
// before the file gets its name. If note fails, so does Commit.
func Announce(path string, note func(sum string) error) { announced.Store(absolute(path), note) }

// note calls what was announced for the target.
func (f *File) note() error {
	note, ok := announced.Load(absolute(f.target))
	if !ok {
		return nil
	}
	h := sha256.New()
	info, err := f.Stat()
	if err != nil {
		return f.nameTarget(err)
	}
	if _, err := io.Copy(h, io.NewSectionReader(f.File, 0, info.Size())); err != nil {
		return f.nameTarget(err)
	}
	return note.(func(string) error)(hex.EncodeToString(h.Sum(nil)))
}
