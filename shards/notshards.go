package shards

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/atomicfile"
	"hgld/internal/exitcode"
)

// NotShards returns an error with the right command if the data are images, a table or
// an archive instead of shards; nil otherwise.
func NotShards(data string) error {
	info, err := os.Stat(data)
	if err != nil {
		return nil
	}
	build := "hgld shards build --input " + data + " makes shards of it"
	if !info.IsDir() {
		if slices.Contains([]string{".csv", ".zip", ".tar"}, filepath.Ext(data)) {
			if filepath.Ext(data) != ".csv" {
				build = "hgld shards build --dataset folder --input " + data + " makes shards of it"
			}
			return exitcode.Hint(usagef("data is %s, but training and evaluation read a folder of shards", data), "%s",
				build)
		}
		return usagef("data is %s, a file; want a folder of shards as hgld shards build writes it", data)
	}
	if _, err := os.Stat(filepath.Join(data, ManifestFile)); !atomicfile.IsMissing(err) {
		return nil
	}
	const looked = 1000
	image, seen := "", 0
	filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		seen++
		if err == nil && !d.IsDir() && slices.Contains([]string{".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp"},
			strings.ToLower(filepath.Ext(path))) {
			image = path
		}
		if image != "" || seen > looked {
			return fs.SkipAll
		}
		return nil
	})
	if image == "" {
		return nil
	}
	return exitcode.Hint(usagef("%s contains images (%s), but training and evaluation read shards", data, image),
		"hgld shards build --dataset folder --input %s makes shards of class folders", data)
}

func usagef(format string, args ...any) error {
	return exitcode.With(exitcode.Usage, fmt.Errorf(format, args...))
}
