package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hgld/curate"
	"hgld/internal/atomicfile"
	"hgld/internal/terminal"
)

// pageLink gives the curator the link that opens the page once. It is printed on a
// terminal. Other output may be kept or forwarded, so the link is then written to a
// file that only its owner can read and that is removed when the server ends.
type pageLink struct {
	j    *job
	base string // address of the page
	file string // "" for a terminal
}

func newPageLink(j *job, base, log string) *pageLink {
	l := &pageLink{j: j, base: base}
	if !terminal.Is(j.stdout) {
		l.file = log + ".link"
	}
	return l
}

// show gives the link of a key. The key is after the #, so no request carries it.
func (l *pageLink) show(what, key string) error {
	link := fmt.Sprintf("%s/#key=%s", l.base, key)
	if l.file == "" {
		l.j.print("%s: %s\n", what, link)
		return nil
	}
	if err := l.remove(); err != nil { // it may have another mode, or be a link
		return err
	}
	if err := atomicfile.WriteFileMode(l.file, []byte(link+"\n"), 0o600); err != nil {
		return err
	}
	l.j.print("%s: the link in %s\n", what, l.file)
	return nil
}

// remove removes the file of the link.
func (l *pageLink) remove() error {
	if err := os.Remove(l.file); l.file != "" && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// queueName returns the key of a log in the browser's storage, where edits wait for the
// server. It stays the same while the log keeps its path, and a copy elsewhere has another.
func queueName(path string, h curate.Header) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	header, err := h.MarshalJSON()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append(append([]byte(path), 0), header...))
	return hex.EncodeToString(sum[:16]), nil
}

// dropSecret removes the file by which an earlier hgld recognised its browsers. It is
// no longer used.
func (o *serveOptions) dropSecret() error {
	if err := os.Remove(o.log + ".secret"); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
