package main

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
	"hgld/internal/testing/smalldisk"
	"hgld/scrape/testing/fakecommons"
	"hgld/scrape/testing/sourcetest"
)

// TestFullDiskEndsAScrapeWithItsExitCode meets the end of the disk through the
// command, with either source: exit code 12 and its hint, and then the tags of an
// undisturbed run.
func TestFullDiskEndsAScrapeWithItsExitCode(t *testing.T) {
	places := sourcetest.Places(30)
	server := httptest.NewServer(fakecommons.New(places))
	defer server.Close()
	t.Chdir(t.TempDir())
	must.Do(t, writeCategories("train_categories.csv", places))
	run := func(dir, source string) (int, string) {
		return scrapeRun(server.URL, "-o", "wikidata_url="+server.URL,
			"--source", source, "--state", filepath.Join(dir, source),
			"--out", filepath.Join(dir, source+".jsonl"))
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1767323045")
	want := map[string][]byte{}
	for _, source := range sourcetest.Sources {
		code, out := run(".", source.Name)
		tags, err := os.ReadFile(source.Name + ".jsonl")
		if code != exitOK || err != nil {
			t.Fatalf("exit code %d, %v\n%s", code, err, out)
		}
		want[source.Name] = tags
	}
	each := func(dir string, check func(name string, code int, out string) error) error {
		for _, source := range sourcetest.Sources {
			code, out := run(dir, source.Name)
			if err := check(source.Name, code, out); err != nil {
				return err
			}
		}
		return nil
	}
	step := 144
	if effort.Exhaustive() {
		step = 36
	}
	smalldisk.Run(t, 4, step,
		func(dir string) error {
			return each(dir, func(_ string, code int, out string) error {
				switch {
				case code == exitOK:
					return nil
				case code == exitDiskFull && strings.Contains(out, "the disk is full"):
					return syscall.ENOSPC
				}
				return fmt.Errorf("exit code %d\n%s", code, out)
			})
		},
		func(dir string) {
			_ = each(dir, func(_ string, code int, out string) error {
				if code != exitOK {
					t.Errorf("with more room: exit code %d\n%s", code, out)
				}
				return nil
			})
		},
		func(dir string) {
			for name, tags := range want {
				if got, err := os.ReadFile(filepath.Join(dir, name+".jsonl")); err != nil || !bytes.Equal(got, tags) {
					t.Errorf("%s: the tags differ from those of an undisturbed run (%v)", name, err)
				}
			}
		})
}
