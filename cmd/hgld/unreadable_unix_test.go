//go:build unix

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hgld/internal/pipeline"
	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
	"hgld/scrape"
)

// unreadable puts a link that leads to itself at a path. Looking at it is an error that
// says nothing of what would be there, as one of the disk, also for root.
func unreadable(t *testing.T, path string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, errors.Join(os.RemoveAll(path), os.Symlink(filepath.Base(path), path)))
}

func TestDiskErrorIsNotAUsageError(t *testing.T) {
	t.Chdir(t.TempDir())
	unreadable(t, "kept")
	for tags, want := range map[string]int{"kept/tags.jsonl": exitFailed, "nowhere/tags.jsonl": exitUsage} {
		if err := pipeline.SettingError(scrape.Output{Policy: "first", Tags: tags}.Check()); exitCode(err) != want {
			t.Errorf("%s: exit code %d, want %d: %v", tags, exitCode(err), want, err)
		}
	}
}

func TestUnreadableFileIsNotTreatedAsMissing(t *testing.T) {
	run := func(t *testing.T) string {
		dir := t.TempDir()
		testfile.Write(t, dir, "checkpoints/step-00000005/SHA256SUMS", "abc  model.safetensors\n")
		return dir
	}
	fingerprinted := func(dir string) error {
		_, err := stages().Fingerprint([]string{dir})
		return err
	}
	for name, try := range map[string]func(t *testing.T) (string, error){
		"hgld.yaml": func(t *testing.T) (string, error) {
			t.Chdir(t.TempDir())
			unreadable(t, "hgld.yaml")
			_, err := stages().Open("")
			return "hgld.yaml", err
		},
		"a manifest": func(t *testing.T) (string, error) {
			dir := t.TempDir()
			testfile.Write(t, dir, "SHA256SUMS", "")
			unreadable(t, filepath.Join(dir, "MANIFEST.json"))
			return "MANIFEST.json", fingerprinted(dir)
		},
		"the best checkpoint": func(t *testing.T) (string, error) {
			dir := run(t)
			unreadable(t, filepath.Join(dir, "best.json"))
			return "best.json", fingerprinted(dir)
		},
		"a checkpoint": func(t *testing.T) (string, error) {
			dir := run(t)
			unreadable(t, filepath.Join(dir, "checkpoints", "step-00000007"))
			return "step-00000007", fingerprinted(dir)
		},
		"all checkpoints": func(t *testing.T) (string, error) {
			dir := t.TempDir()
			unreadable(t, filepath.Join(dir, "checkpoints"))
			return "checkpoints", fingerprinted(dir)
		},
		"a table of images": func(t *testing.T) (string, error) {
			t.Chdir(t.TempDir())
			unreadable(t, "images.csv")
			_, err := (&shardsSettings{Dataset: "csv", Input: "images.csv"}).imageFolders()
			return "images.csv", err
		},
		"a folder of images": func(t *testing.T) (string, error) {
			t.Chdir(t.TempDir())
			testfile.Write(t, ".", "images.csv", "path\nphotos/1.jpg\n")
			unreadable(t, "photos")
			_, err := (&shardsSettings{Dataset: "csv", Input: "images.csv"}).imageFolders()
			return "photos", err
		},
		"the folder of the tags": func(t *testing.T) (string, error) {
			t.Chdir(t.TempDir())
			unreadable(t, "kept")
			return "kept", scrape.Output{Policy: "first", Tags: "kept/tags.jsonl"}.Check()
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := try(t)
			if !errors.Is(err, syscall.ELOOP) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want that of %s", err, path)
			}
		})
	}
}
