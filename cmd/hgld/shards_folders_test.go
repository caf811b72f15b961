package main

import (
	"image/png"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/testing/sketch"
	"hgld/internal/testing/testfile"
)

// drawings writes a drawing to each path below a new folder, which becomes the
// current one.
func drawings(t *testing.T, paths ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for i, path := range paths {
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		f := must.Get(os.Create(path))(t)
		must.Do(t, png.Encode(f, sketch.Picture(0, i, 0, 20)))
		must.Do(t, f.Close())
	}
}

func TestShardsOfFoldersAsPublished(t *testing.T) {
	drawings(t, "omniglot/Greek/character01/1.png", "omniglot/Greek/character02/1.png",
		"omniglot/Latin/character01/1.png",
		"near/training/a/1.png", "near/testing/b/2.png", "1.png", "2.png")
	must.Do(t, os.WriteFile("turned.csv", []byte("path,group,product\n1.png,fruit,apple\n2.png,fruit,pear\n"),
		0o644))
	for _, c := range []struct {
		args string
		code int
		want []string
	}{
		{"--dataset folder --input omniglot --levels character,alphabet", 0,
			[]string{"named by their path (Greek/character01)", "character: 3 classes", "alphabet: 2 classes"}},
		{"--dataset folder --input omniglot --levels alphabet,character --out other", exitUsage,
			[]string{"alphabet is coarser than character: the levels alphabet,character seem to be coarsest first",
				"--levels character,alphabet"}},
		{"--input turned.csv --levels group,product --out turned", 0,
			[]string{`group "fruit" has two parents: "apple" (turned.csv:2) and "pear" (turned.csv:3)`,
				"note: the levels are read as product,group, finest first", "product: 2 classes", "group: 1 class"}},
		{"--dataset folder --input near --out other", exitFailed,
			[]string{"the folders testing, training may be splits or classes; say which",
				"-o split_folders=testing=test,training=train"}},
		{"--dataset folder --input near -o split_folders=testing=test,training=train --out other", 0,
			[]string{"train: 1 image ", "test: 1 image "}},
		{"--dataset folder --input omniglot --out omniglot/shards", exitUsage,
			[]string{"out is omniglot/shards, which is inside input, omniglot", "--out omniglot-shards"}},
		{"--dataset folder --input omniglot --out omniglot", exitUsage,
			[]string{"omniglot is an input of the same command and would get more files"}},
	} {
		code, out, errs := run(t, append([]string{"shards", "build"}, strings.Fields(c.args)...)...)
		for _, want := range c.want {
			if !strings.Contains(out+errs, want) {
				t.Errorf("%s: no %q in\n%s%s", c.args, want, out, errs)
			}
		}
		if code != c.code {
			t.Errorf("%s: exit code %d, want %d\n%s", c.args, code, c.code, errs)
		}
	}
	if _, err := os.Stat("omniglot/shards"); err == nil {
		t.Error("the data set was written among its images")
	}
}

// More levels than can be compared are no data set: 2,000 gave one that could not be
// opened.
func TestTooManyLevelsAreRefused(t *testing.T) {
	drawings(t, "1.png")
	var names []string
	for l := range 2000 {
		names = append(names, "l"+strconv.Itoa(l))
	}
	list := strings.Join(names, ",")
	must.Do(t, os.WriteFile("t.csv", []byte("path,"+list+"\n1.png"+strings.Repeat(",a", len(names))+"\n"),
		0o644))
	code, _, errs := run(t, "shards", "build", "--input", "t.csv", "--levels", list)
	if _, err := os.Stat("shards"); code != exitUsage || err == nil ||
		!strings.Contains(errs, "there are 2000 levels; want at most 126") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

func TestImageFoldersOfATableAreInputs(t *testing.T) {
	dir := t.TempDir()
	testfile.Write(t, dir, "images.csv", "landmark_id,path\n1,photos/a/1.jpg\n2,more/2.jpg\n3,flat.jpg\n"+
		"4,../up/4.jpg\n5,gone/5.jpg\n6,photos/6.jpg\n")
	testfile.Write(t, dir, "photos/a/1.jpg", "x")
	testfile.Write(t, dir, "more/2.jpg", "x")
	s := &shardsSettings{Dataset: "csv", Input: filepath.Join(dir, "images.csv")}
	got, err := s.imageFolders()
	if err != nil || len(got) != 2 || got[0] != filepath.Join(dir, "more") || got[1] != filepath.Join(dir, "photos") {
		t.Errorf("folders %q, want more and photos; error %v", got, err)
	}
	s.Columns.Path = "file"
	if got, err := s.imageFolders(); got != nil || err != nil {
		t.Errorf("folders %q of a table without the column", got)
	}
	s.Columns.Path, s.Images = "", "photos.zip"
	if got, err := s.imageFolders(); got != nil || err != nil {
		t.Errorf("folders %q, and the images are in an archive", got)
	}
}
