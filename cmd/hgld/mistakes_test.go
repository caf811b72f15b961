package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
)

// mistake is a command line that a newcomer has typed, and what it must say.
type mistake struct {
	line, args string
	code       int
	want       []string
}

// readMistakes reads testdata/mistakes.txt:
//
//	$ command line
//	exit code
//	> part of the message
func readMistakes(t *testing.T) (list []mistake) {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("testdata", "mistakes.txt")))(t)
	for n, line := range strings.Split(string(text), "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "$ "):
			list = append(list, mistake{line: "testdata/mistakes.txt:" + strconv.Itoa(n+1),
				args: strings.TrimPrefix(line, "$ ")})
		case strings.HasPrefix(line, "> "):
			m := &list[len(list)-1]
			m.want = append(m.want, strings.TrimPrefix(line, "> "))
		default:
			code, err := strconv.Atoi(line)
			if err != nil {
				t.Fatalf("testdata/mistakes.txt:%d: %q", n+1, line)
			}
			list[len(list)-1].code = code
		}
	}
	return list
}

// newcomersFolder has pictures, shards, a finished run, vectors, and weights of
// several kinds.
func newcomersFolder(t *testing.T) {
	t.Helper()
	pictureShards(t)
	succeeds(t, tinyRun("--out", "runs/a", "--query", "test")...)
	succeeds(t, "train", "export", "--run", "runs/a", "net.safetensors")
	succeeds(t, "train", "export", "--run", "runs/a", "--backbone", "backbone.safetensors")
	succeeds(t, "embed-images", "--run", "runs/a", "--split", "query", "--out", "e.npy")
	if err := os.Link("e.npy", "lone.npy"); err != nil { // without the labels in e.csv
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"net.pth": "PK\x03\x04", "e.txt": "1 2 3\n", "photos.csv": "path,fine,coarse\n1.png,a,b\n", "photos.zip": "",
		"notes.txt": "notes\n", "addresses.csv": "url,fine\nhttps://example.org/1.png,a\n",
		"flat/1.png": "", "uneven/a/1.png": "", "uneven/b/c/1.png": "", "outward/a/1.png": "",
		"run.yaml": "optim: {learning_rate: 1}\n", "learning.yaml": "optim:\n  learning_rate: 1\n",
		"tau.yaml":   "loss: {name: happier, settings: {tau: 0.1}}\n",
		"twice.yaml": "seed: 1\nseed: 2\n", "text.yaml": "just a text\n", "net.bin": "",
	} {
		testfile.Write(t, ".", name, text)
	}
	must.Do(t, os.Symlink("../pictures", "outward/b"))
	tensors, _, err := tensorfile.ReadAll("backbone.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	for i := range tensors {
		tensors[i].Name = "module." + tensors[i].Name
	}
	f := must.Get(os.Create("module.safetensors"))(t)
	must.Do(t, tensorfile.WriteSafetensors(f, tensors, nil))
	must.Do(t, f.Close())
	zero := tensorfile.NewF32("", []int{3, 2}, []float32{0, 0, 1, 0, 0, 1})
	if f, err = os.Create("zero.npy"); err != nil {
		t.Fatal(err)
	}
	must.Do(t, tensorfile.WriteNPY(f, zero))
	must.Do(t, f.Close())
	must.Do(t, os.WriteFile("zero.csv", []byte("id,fine\nx,a\ny,a\nz,b\n"), 0o644))
}

var flagInText = regexp.MustCompile("(?:^|[\\s`'\"(;:,])(--[a-z][a-z-]*)")

// A newcomer's mistakes: each message says what is wrong and what to type instead.
func TestNewcomersMistakesAreExplained(t *testing.T) {
	mistakes := readMistakes(t)
	if len(mistakes) < 100 {
		t.Errorf("%d mistakes, want 100", len(mistakes))
	}
	newcomersFolder(t)
	for _, m := range mistakes {
		args := strings.Fields(m.args)
		code, out, errs := run(t, args[1:]...)
		if code != m.code {
			t.Errorf("%s: %s: exit code %d, want %d\n%s%s", m.line, m.args, code, m.code, errs, out)
		}
		for _, want := range m.want {
			if !strings.Contains(errs, want) && !strings.Contains(out, want) {
				t.Errorf("%s: %s: no %q in\n%s%s", m.line, m.args, want, errs, out)
			}
		}
		if strings.Contains(errs, "panic") || strings.Contains(errs, "goroutine") {
			t.Errorf("%s: %s: %s", m.line, m.args, errs)
		}
	}
}
