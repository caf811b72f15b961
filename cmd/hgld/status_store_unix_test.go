//go:build unix

package main

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hgld/internal/testing/fakes3"
	"hgld/internal/testing/testfile"
)

// A store that does not answer cannot hold up a status that is stopped.
func TestStatusOfASilentStoreEndsWithASignal(t *testing.T) {
	dir, store := t.TempDir(), fakes3.Start(t)
	testfile.Write(t, dir, projectFile, "shards: {dataset: folder, input: pictures, out: \"s3://bucket/set\"}\n")
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	for _, class := range []string{"a", "b"} {
		at := filepath.Join(dir, "pictures", class)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		testfile.Write(t, at, "0.png", picture.String())
	}
	if code, _, errs := run(t, "shards", "build", "-C", dir); code != 0 {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	release, first := make(chan bool), true
	defer close(release)
	store.SetFault(func(*http.Request, int) fakes3.Fault {
		if first {
			first = false
			hangUp(t)
		}
		<-release
		return fakes3.Fault{}
	})
	ended := make(chan int)
	go func() {
		code, _, _ := run(t, "status", "-C", dir)
		ended <- code
	}()
	select {
	case code := <-ended:
		if code != exitInterrupted {
			t.Errorf("exit code %d, want %d", code, exitInterrupted)
		}
	case <-time.After(30 * time.Second):
		t.Error("it goes on")
	}
}
