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
	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
)

// A store that does not answer cannot hold up a status that is stopped.
func TestStatusOfASilentStoreEndsWithASignal(t *testing.T) {
	dir, store := t.TempDir(), fakes3.Start(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir()) // where consent is remembered
	testfile.Write(t, dir, projectFile, "shards: {dataset: folder, input: pictures, out: \"s3://bucket/set\"}\n")
	var picture bytes.Buffer
	must.Do(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))))
	for _, class := range []string{"a", "b"} {
		at := filepath.Join(dir, "pictures", class)
		must.Do(t, os.MkdirAll(at, 0o755))
		testfile.Write(t, at, "0.png", picture.String())
	}
	succeeds(t, "shards", "build", "--allow-store", "-C", dir)
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
	case <-time.After(5 * time.Minute):
		t.Error("it goes on")
	}
}
