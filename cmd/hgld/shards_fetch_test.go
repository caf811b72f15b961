package main

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hgld/internal/testing/must"
)

// publishGLDv2 serves tables of one line and a TAR for each split. A TAR arrives in pieces, with pauses.
func publishGLDv2(t *testing.T, tar []byte) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data := []byte("id\n")
		switch {
		case strings.HasPrefix(r.URL.Path, "/md5sum/"):
			data = fmt.Appendf(nil, "%x  images_000.tar\n", md5.Sum(tar))
		case strings.HasSuffix(r.URL.Path, ".tar"):
			data = tar
		case !strings.HasPrefix(r.URL.Path, "/metadata/"):
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", `"one"`)
		http.ServeContent(&slowAnswer{w}, r, "", time.Time{}, bytes.NewReader(data))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

type slowAnswer struct{ http.ResponseWriter }

func (s *slowAnswer) Write(p []byte) (int, error) {
	time.Sleep(2 * time.Millisecond)
	return s.ResponseWriter.Write(p)
}

// Processes that are killed in the middle of a file leave its bytes to the next one.
func TestKilledFetchContinues(t *testing.T) {
	tar := make([]byte, 40<<20)
	for i := range tar {
		tar[i] = byte(i * i >> 7)
	}
	from, dir := publishGLDv2(t, tar), t.TempDir()
	args := []string{"shards", "fetch", "-q", "--from", from, "--out", dir, "--splits", "index", "--limit", "1", "gldv2"}
	file := filepath.Join(dir, "index", "images_000.tar")
	for kill := range 4 {
		cmd := exec.Command("hgld", args...)
		must.Do(t, cmd.Start())
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if info, err := os.Stat(file + ".part"); err == nil && info.Size() > int64(kill+1)*8<<20 {
				break
			}
		}
		must.Do(t, cmd.Process.Kill())
		if err := cmd.Wait(); err == nil {
			t.Error("the process ended before it was killed")
		}
	}
	code, out, errs := run(t, args...)
	if code != exitOK || !strings.Contains(out, "10 of 10 files") || !strings.Contains(out, "9 fetched before") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, tar) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestShardsFetchSaysWhatItDid(t *testing.T) {
	from := publishGLDv2(t, []byte("no image"))
	t.Chdir(t.TempDir())
	t.Setenv("SLURM_ARRAY_TASK_ID", "2")
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"gldv3", `unknown data set "gldv3": did you mean "gldv2"`, exitUsage},
		{"--splits tain gldv2", `unknown split "tain": did you mean "train"`, exitUsage},
		{"--disk much gldv2", `--disk: "much" is not a size`, exitUsage},
		{"--limit 1 --from s3://google-landmark --out other gldv2", "want an address", exitUsage},
		{"--limit 1 --disk 20B gldv2", "has 3 bytes, the folder holds 18 bytes, and it may hold 20 bytes", exitFailed},
		{"--limit 1 gldv2 --slice 1/2", "gldv2: 6 of 12 files", exitOK},
		{"--limit 1 gldv2 --slice auto/2", "gldv2: 6 of 12 files", exitOK},
		{"--limit 1 --json gldv2", `"kept": 12`, exitOK},
		{"--limit 1 --from " + from + "/x --out other gldv2", "404 Not Found\n  --from is the folder that has", exitFailed},
		{"gldv2 --slice 5/4", "want N/T", exitUsage},
	} {
		args := append([]string{"shards", "fetch", "--from", from}, strings.Fields(c.args)...)
		code, out, errs := run(t, args...)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%s: exit %d, want %d and %q\n%s%s", c.args, code, c.code, c.want, out, errs)
		}
	}
}
