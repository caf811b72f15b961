package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"hgld/curate"
	"hgld/internal/atomicfile"
	"hgld/internal/regular"
)

// Link gives the curator the link that opens the page once.
type Link struct {
	Base string // address of the page
	// File is the file for the link, "" if it may be shown. Output that is not a terminal's
	// may be kept or forwarded, so the link then goes to a file that only its owner can read.
	File string
}

// Give returns the link of a key, or writes it to the file and returns where it is. The
// key is after the #, so no request carries it.
func (l Link) Give(key string) (string, error) {
	link := fmt.Sprintf("%s/#key=%s", l.Base, key)
	if l.File == "" {
		return link, nil
	}
	if err := l.checkOurs(); err != nil {
		return "", err
	}
	if err := l.Remove(); err != nil { // it may have another mode, or be a link
		return "", err
	}
	return "the link in " + l.File, atomicfile.WriteFileMode(l.File, []byte(link+"\n"), 0o600)
}

// linkForm is the content of a file that Give writes.
var linkForm = regexp.MustCompile(`^http://127\.0\.0\.1:[0-9]+/#key=[^\s]+\n$`)

// checkOurs returns an error if the file exists and holds anything but a link.
func (l Link) checkOurs() error {
	info, err := os.Lstat(l.File)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil
	}
	if err == nil && info.Mode().IsRegular() && info.Size() < 1000 {
		var text []byte
		if text, err = regular.ReadFile(l.File); linkForm.Match(text) || err == nil && len(text) == 0 {
			return nil
		}
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%s holds something other than the link to the page, which would be written there: move it away",
		l.File)
}

// Remove removes the file of the link, if there is one.
func (l Link) Remove() error {
	if err := os.Remove(l.File); l.File != "" && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// QueueName returns the key of a log in the browser's storage, where edits wait for the
// server; see Config.Queue. It stays the same while the log keeps its path, and a copy
// elsewhere has another.
func QueueName(path string, h curate.Header) (string, error) {
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
