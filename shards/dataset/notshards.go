package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"hgld/internal/exitcode"
)

// NotShards returns an error with the right command if data, which should be a folder of
// shards, are images, a table or an archive; nil otherwise.
func NotShards(data string) error {
	info, err := os.Stat(data)
	if err != nil {
		return nil
	}
	image := FirstImage(data)
	switch {
	case image != "":
		return BuildFirst(usagef("%s contains images (%s), but training and evaluation read shards", data, image), data)
	case info.IsDir():
		return nil
	case slices.Contains([]string{".csv", ".tsv", ".zip", ".tar", ".parquet"}, filepath.Ext(data)):
		return BuildFirst(usagef("data is %s, but training and evaluation read a folder of shards", data), data)
	}
	return usagef("data is the file %s; want a folder of shards written by hgld shards build", data)
}

// BuildFirst adds the command that makes shards of images or of a table to an error.
func BuildFirst(err error, input string) error {
	switch Kind(input) {
	case "folder":
		return exitcode.Hint(err, "build shards from class folders: hgld shards build --dataset folder --input %s", input)
	case "parquet":
		return exitcode.Hint(err, "build shards from a Hugging Face data set: hgld shards build --dataset parquet --input %s",
			input)
	}
	return exitcode.Hint(err, "build shards from it: hgld shards build --input %s", input)
}

func usagef(format string, args ...any) error {
	return exitcode.With(exitcode.Usage, fmt.Errorf(format, args...))
}
