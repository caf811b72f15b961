package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hgld/internal/atomicfile"
	"hgld/internal/filehash"
	"hgld/internal/regular"
)

// WholeFile is the largest size in bytes of a file, or of a folder in total, that is
// identified by its SHA-256. Larger ones are identified by size and modification time, so that
// status stays fast.
const WholeFile = 64 << 20

// Folder describes how to identify the contents of a known kind of folder.
type Folder struct {
	// Manifest is a file in the folder that holds the hashes of the others, or "".
	Manifest string
	// Damage describes a missing or truncated file. It is "" if the folder is complete.
	Damage string
	// Files lists the relevant files of a folder without a manifest, relative to the folder.
	Files []string
}

// damaged is the prefix of the fingerprint of a folder with a missing or truncated file,
// followed by the file's description. It never matches a stamp, since no stage leaves such a
// folder.
const damaged = "damaged: "

// Fingerprint identifies the contents of files and folders by path. The fingerprint of a path
// that does not exist is "". It skips empty paths.
func (l *Pipeline) Fingerprint(paths []string) (map[string]string, error) {
	prints := map[string]string{}
	for _, path := range paths {
		if path == "" {
			continue
		}
		print, err := l.fingerprint(path)
		if err != nil && !IsMissing(err) {
			return nil, err
		}
		prints[path] = print
	}
	return prints, nil
}

// Missing lists the paths that do not exist. It skips empty paths and addresses, whose readers look for them.
func Missing(paths []string) []string {
	var list []string
	for _, path := range paths {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); IsMissing(err) && regular.CheckPath(path) == nil {
			list = append(list, path)
		}
	}
	return list
}

// IsMissing is [atomicfile.IsMissing].
func IsMissing(err error) bool { return atomicfile.IsMissing(err) }

func (l *Pipeline) fingerprint(path string) (string, error) {
	if regular.CheckPath(path) != nil && l.Address != nil {
		return l.Address(path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		if !info.Mode().IsRegular() { // reading a named pipe could block forever
			return "no plain file: " + info.Mode().String(), nil
		}
		if info.Size() > WholeFile {
			return fmt.Sprintf("size %d, changed %s", info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano)), nil
		}
		return hashOf(path)
	}
	known, is := Folder{}, false
	if l.Folder != nil {
		if known, is, err = l.Folder(path); err != nil {
			return "", err
		}
	}
	if is && known.Manifest != "" {
		print, err := l.fingerprint(filepath.Join(path, known.Manifest))
		switch {
		case err == nil && known.Damage != "":
			return damaged + known.Damage, nil
		case err == nil || !IsMissing(err):
			return print, err
		}
	}
	if is && len(known.Files) > 0 {
		return hashFiles(path, known.Files)
	}
	return folderPrint(path)
}

// folderPrint identifies a folder by names and contents. If these are large, it uses names,
// sizes and modification times. It skips a file that vanishes meanwhile.
func folderPrint(dir string) (string, error) {
	var files []string
	var size int64
	h := sha256.New()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if IsMissing(err) && name != dir {
				return nil
			}
			return err
		}
		info, err := os.Stat(name)
		if IsMissing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s %d %d\n", filepath.ToSlash(rel), info.Size(), info.ModTime().UnixNano())
		if info.Mode().IsRegular() { // skips links to folders, and pipes
			files, size = append(files, filepath.ToSlash(rel)), size+info.Size()
		}
		return nil
	})
	if err != nil || size > WholeFile {
		return hex.EncodeToString(h.Sum(nil)), err
	}
	return hashFiles(dir, files)
}

// hashFiles returns the SHA-256 of the names and contents of files in a folder, in hex.
func hashFiles(dir string, names []string) (string, error) {
	h := sha256.New()
	for _, name := range names {
		sum, err := hashOf(filepath.Join(dir, filepath.FromSlash(name)))
		if IsMissing(err) || errors.As(err, new(*regular.Error)) {
			continue
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %s\n", name, sum)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// hashOf returns the SHA-256 of a file, in hex.
func hashOf(path string) (string, error) {
	sum, _, err := filehash.SHA256(context.Background(), path)
	return sum, err
}
