package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"hgld/internal/filehash"
	"hgld/shards"
)

// wholeFile is the size up to which a file, or a folder in all, is known by its
// sha256; larger ones are known by size and time of change, so that status stays
// instant.
const wholeFile = 64 << 20

// fingerprint identifies the contents of files and folders by path. A missing
// one is "".
func fingerprint(paths []string) (map[string]string, error) {
	prints := map[string]string{}
	for _, path := range paths {
		if path == "" {
			continue
		}
		p, err := fingerprintOf(path)
		if err != nil && !isMissing(err) {
			return nil, err
		}
		prints[path] = p
	}
	return prints, nil
}

// isMissing reports whether an error says that a path leads nowhere: there is no
// such name, or a file where a folder would have to be.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// spoiled begins the fingerprint of a data set with a file that is missing or cut; what
// follows says which. No stamp has it, for no stage leaves such a set.
const spoiled = "damaged: "

// described are files that stand for the folder they lie in: they have the hashes
// of the others.
var described = []string{"MANIFEST.json", "SHA256SUMS"}

func fingerprintOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		if !info.Mode().IsRegular() { // a named pipe would not end
			return "no plain file: " + info.Mode().String(), nil
		}
		if info.Size() > wholeFile {
			return fmt.Sprintf("size %d, changed %s", info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano)), nil
		}
		return sha256File(path)
	}
	for _, name := range described {
		if p, err := fingerprintOf(filepath.Join(path, name)); err == nil {
			var damage *shards.DamageError
			if errors.As(shards.Glance(path), &damage) && damage.File != shards.ManifestFile {
				return spoiled + damage.Error(), nil // else it is another's manifest, or its own hash tells
			}
			return p, nil
		}
	}
	if files := runFiles(path); len(files) > 0 {
		return hashFiles(path, files)
	}
	return folderPrint(path)
}

// runFiles lists what makes up a run directory: its settings, the sums of its
// checkpoints, and which is the best. The logs beside them grow whenever the run is
// looked at again. A folder without checkpoints has none.
func runFiles(dir string) []string {
	sums, err := fs.Glob(os.DirFS(dir), "checkpoints/*/SHA256SUMS")
	if err != nil || len(sums) == 0 {
		return nil
	}
	for _, name := range []string{settingsFile, "best.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			sums = append(sums, name)
		}
	}
	return sums
}

// folderPrint identifies a folder by names and contents or, if they are large, by
// names, sizes and times of change. A file that vanishes meanwhile is not there.
func folderPrint(dir string) (string, error) {
	var files []string
	var size int64
	h := sha256.New()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if isMissing(err) && name != dir {
				return nil
			}
			return err
		}
		info, err := os.Stat(name)
		if isMissing(err) {
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
		if info.Mode().IsRegular() { // and not a link to a folder, or a pipe
			files, size = append(files, filepath.ToSlash(rel)), size+info.Size()
		}
		return nil
	})
	if err != nil || size > wholeFile {
		return hex.EncodeToString(h.Sum(nil)), err
	}
	return hashFiles(dir, files)
}

// hashFiles is the sha256 of the names and contents of files in a folder.
func hashFiles(dir string, names []string) (string, error) {
	h := sha256.New()
	for _, name := range names {
		sum, err := sha256File(filepath.Join(dir, filepath.FromSlash(name)))
		if isMissing(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %s\n", name, sum)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// sha256File returns the hex sha256 of a file.
func sha256File(path string) (string, error) {
	sum, _, err := filehash.SHA256(context.Background(), path)
	return sum, err
}
