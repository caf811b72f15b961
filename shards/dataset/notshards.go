package dataset

import (
	"os"
	"path/filepath"
	"slices"
)

// NotShards returns a [NotShardsError] if data, which should be a folder of shards, are images, a
// table or an archive; nil otherwise.
func NotShards(data string) error {
	info, err := os.Stat(data)
	if err != nil {
		return nil
	}
	e := &NotShardsError{Path: data, Image: FirstImage(data)}
	if e.Image == "" && info.IsDir() {
		return nil
	}
	e.Buildable = e.Image != "" ||
		slices.Contains([]string{".csv", ".tsv", ".zip", ".tar", ".parquet"}, filepath.Ext(data))
	return e
}
