package dataset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/longdata"
	"hgld/internal/testing/must"
)

func TestErrorsQuoteLittleOfAList(t *testing.T) {
	replace := func(by Importer, dir, name string, s Settings) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		sample := must.Get(os.ReadFile(file))(t)
		t.Run(name, func(t *testing.T) {
			longdata.Replace(t, sample, func(data []byte) error {
				if err := os.WriteFile(file, data, 0o644); err != nil {
					return err
				}
				src, err := by.Open(t.Context(), s)
				if err != nil {
					return err
				}
				defer src.Close()
				for _, err := range src.Items(t.Context()) {
					if err != nil {
						return err
					}
				}
				return nil
			})
		})
		must.Do(t, os.WriteFile(file, sample, 0o644))
	}
	for _, c := range publishedCases(t) {
		if c.levels != nil {
			continue
		}
		dir := c.files.folder(t)
		lists, _ := c.files.parted()
		for name := range lists {
			if strings.HasPrefix(name, "bmk_") { // of a benchmark, and read with its level alone
				continue
			}
			replace(c.by, dir, name, Settings{Input: dir})
		}
	}
	table := tree{"t.csv": "path,split,a,b\nx/1.jpg,train,apple,fruit\n", "x/1.jpg": string(picture(t, 1))}
	dir := table.folder(t)
	replace(CSV{}, dir, "t.csv", Settings{Input: filepath.Join(dir, "t.csv"), Images: dir, Levels: []string{"a", "b"}})
}
