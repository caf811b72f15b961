package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/term"

	"hgld/curate"
	"hgld/internal/atomicfile"
)

// isTerminal reports whether what is written to w is seen on a terminal.
func isTerminal(w io.Writer) bool {
	if o, ok := w.(*output); ok {
		w = o.to
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// pageLink tells the curator the link that opens the page once. On a terminal it is
// printed. What is printed elsewhere may be kept or sent on, so there it stands in a
// file that its owner alone can read, and that ends with the server.
type pageLink struct {
	j    *job
	base string // address of the page
	file string // "" on a terminal
}

func newPageLink(j *job, base, log string) *pageLink {
	l := &pageLink{j: j, base: base}
	if !isTerminal(j.stdout) {
		l.file = log + ".link"
	}
	return l
}

// show tells the link of a key. The key stands behind the #: no request carries it.
func (l *pageLink) show(what, key string) error {
	link := fmt.Sprintf("%s/#key=%s", l.base, key)
	if l.file == "" {
		l.j.print("%s: %s\n", what, link)
		return nil
	}
	if err := l.remove(); err != nil { // whatever mode or target it has
		return err
	}
	if err := atomicfile.WriteFileMode(l.file, []byte(link+"\n"), 0o600); err != nil {
		return err
	}
	l.j.print("%s: the link in %s\n", what, l.file)
	return nil
}

// remove takes the file of the link away.
func (l *pageLink) remove() error {
	if err := os.Remove(l.file); l.file != "" && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// queueName names a log in the browser's storage, where edits wait for the server.
// It is the same each time that the log is served, and another for a copy in
// another place.
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

// dropSecret removes the file by which an earlier hgld knew its browsers again. It
// opens nothing any more.
func (o *serveOptions) dropSecret() error {
	if err := os.Remove(o.log + ".secret"); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
