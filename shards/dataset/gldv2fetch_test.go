package dataset

import (
	"cmp"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hgld/internal/download"
	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
	"hgld/labels"
	"hgld/shards"
)

// gldv2Server publishes a made-up GLDv2 with two TARs of train and one of index, and can misbehave.
type gldv2Server struct {
	*httptest.Server
	mu     sync.Mutex
	files  map[string]string
	cut    int            // bytes after which an answer breaks off; 0: none does
	wrong  map[string]int // how many times a file is sent with a wrong byte
	asked  map[string]int
	broken bool // every answer is 503
}

func newGLDv2Server(t *testing.T) *gldv2Server {
	s := &gldv2Server{files: map[string]string{}, wrong: map[string]int{}, asked: map[string]int{}}
	for _, name := range gldv2Metadata {
		s.files["metadata/"+name] = cmp.Or(gldv2Tables["metadata/"+name], "landmark_id,category\n")
	}
	pack := func(split string, number int, lines ...string) {
		files := tree{}
		for i, line := range lines {
			name, _, _ := strings.Cut(line, " ")
			_, member, _ := strings.Cut(name, "/")
			files[member] = string(picture(t, number+i))
		}
		data := must.Get(os.ReadFile(files.tar(t)))(t)
		name := fmt.Sprintf("images_%03d", number)
		s.files[split+"/"+name+".tar"] = string(data)
		s.files["md5sum/"+split+"/md5."+name+".txt"] = fmt.Sprintf("%x  %s.tar\n", md5.Sum(data), name)
	}
	pack("train", 0, gldv2Want[0], gldv2Want[1])
	pack("train", 1, gldv2Want[2])
	pack("index", 0, gldv2Want[3])
	pack("index", 1, gldv2Want[4])
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

func (s *gldv2Server) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strings.TrimPrefix(r.URL.Path, "/google-landmark/")
	data, known := s.files[name]
	s.asked[name]++
	switch {
	case s.broken:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case !known:
		http.NotFound(w, r)
		return
	case s.wrong[name] > 0:
		s.wrong[name]--
		data = data[:len(data)/2] + "?" + data[len(data)/2+1:]
	}
	testfile.Serve(w, r, []byte(data), `"one"`, s.cut)
}

func (s *gldv2Server) fetch(dir string) Fetch {
	return Fetch{From: s.URL + "/google-landmark/", Dir: dir, Splits: []labels.Split{labels.Train, labels.Index}, First: 2,
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
}

// wantFetched compares the folder with what was published.
func (s *gldv2Server) wantFetched(t *testing.T, dir string) {
	t.Helper()
	for name, want := range s.files {
		if to, sum := strings.CutPrefix(name, "md5sum/"); sum {
			name = to
		}
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %d bytes, %v, want %d", name, len(got), err, len(want))
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", "*.part*")); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

func TestFetchedFilesAreAsPublished(t *testing.T) {
	for name, set := range map[string]func(s *gldv2Server){
		"whole":                 func(*gldv2Server) {},
		"broken connections":    func(s *gldv2Server) { s.cut = 700 },
		"a wrong byte, once":    func(s *gldv2Server) { s.wrong["train/images_001.tar"] = 1 },
		"wrong and broken off":  func(s *gldv2Server) { s.cut, s.wrong["index/images_000.tar"] = 3000, 1 },
		"a mirror without /":    func(s *gldv2Server) { s.URL = strings.TrimSuffix(s.URL, "/") },
		"by two, one at a time": nil,
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := newGLDv2Server(t), t.TempDir()
			f := s.fetch(dir)
			if set == nil {
				for n := 1; n <= 2; n++ {
					f.Slice, f.Of = n, 2
					must.Do(t, FetchGLDv2(t.Context(), f))
				}
			} else {
				set(s)
				must.Do(t, FetchGLDv2(t.Context(), f))
			}
			s.wantFetched(t, dir)
			asked, kept := maps.Clone(s.asked), 0
			f.Slice, f.Of = 1, 1
			f.Done = func(_ string, _ int64, there bool) {
				if there {
					kept++
				}
			}
			if err := FetchGLDv2(t.Context(), f); err != nil || kept != len(f.Files()) || !maps.Equal(asked, s.asked) {
				t.Errorf("again: %v, %d of %d kept, asked %v", err, kept, len(f.Files()), s.asked)
			}
			if got, err := items(t, GLDv2{}, Settings{Input: dir}); err != nil || len(got) != len(gldv2Want) {
				t.Errorf("the importer: %v, %q", err, got)
			}
		})
	}
}

// A TAR that is never as published is not kept, and the others are fetched all the same.
func TestWrongSumIsAnErrorAfterAllOtherFiles(t *testing.T) {
	s, dir := newGLDv2Server(t), t.TempDir()
	s.wrong["train/images_000.tar"] = 100
	err := FetchGLDv2(t.Context(), s.fetch(dir))
	wantError(t, err, "train/images_000.tar: its MD5 is", "after 2 transfers")
	if !errors.As(err, new(*shards.InputError)) {
		t.Errorf("%T", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "train", "images_000*")); len(left) > 0 {
		t.Errorf("kept: %q", left)
	}
	s.wrong = nil
	must.Do(t, FetchGLDv2(t.Context(), s.fetch(dir)))
	s.wantFetched(t, dir)
	if s.asked["index/images_001.tar"] != 1 {
		t.Errorf("asked %v", s.asked)
	}
}

// Calls that end in the middle of a file leave its bytes to the next one, which hashes them too.
func TestStoppedFetchContinues(t *testing.T) {
	s, dir := newGLDv2Server(t), t.TempDir()
	for stops := 0; ; stops++ {
		ctx, cancel := context.WithCancel(t.Context())
		f := s.fetch(dir)
		f.Progress = func(string, int64, int64) {
			if stops < 10 {
				cancel()
			}
		}
		err := FetchGLDv2(ctx, f)
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) || stops == 10 {
			t.Fatalf("%d stops: %v", stops, err)
		}
	}
	s.wantFetched(t, dir)
	s.broken = true
	if err := FetchGLDv2(t.Context(), s.fetch(t.TempDir())); !errors.As(err, new(*download.TemporaryError)) {
		t.Errorf("a server that fails: %v", err)
	}
}

func TestFetchKeepsToItsShareOfTheDisk(t *testing.T) {
	s, dir := newGLDv2Server(t), t.TempDir()
	all := int64(0)
	for name, data := range s.files {
		if !strings.HasSuffix(name, ".tar") {
			all += int64(len(data))
		}
	}
	f := s.fetch(dir)
	f.Disk = all + int64(len(s.files["train/images_000.tar"]))
	var disk *DiskError
	if err := FetchGLDv2(t.Context(), f); !errors.As(err, &disk) || disk.Name != "train/images_001.tar" ||
		disk.Bytes != int64(len(s.files[disk.Name])) || disk.Used+disk.Bytes <= disk.Most {
		t.Errorf("%v, %+v", err, disk)
	}
	if _, err := os.Stat(filepath.Join(dir, "train", "images_000.tar")); err != nil {
		t.Error(err)
	}
	f.Disk += all + int64(len(s.files["train/images_001.tar"])+len(s.files["index/images_000.tar"])+
		len(s.files["index/images_001.tar"]))
	if err := FetchGLDv2(t.Context(), f); err != nil {
		t.Error(err)
	}
	s.wantFetched(t, dir)
}

// The login page of a portal is neither a table nor a sum: nothing of it is kept, and the same fetch succeeds later. A
// table of an earlier version that is such a page is named.
func TestPagesOfAPortalAreNotKept(t *testing.T) {
	const page = "<html>log in</html>"
	for _, name := range []string{"metadata/train.csv", "metadata/retrieval_solution_v2.1.csv",
		"md5sum/train/md5.images_000.txt"} {
		s, dir := newGLDv2Server(t), t.TempDir()
		was := s.files[name]
		s.files[name] = page
		var wrong *download.AnswerError
		if err := FetchGLDv2(t.Context(), s.fetch(dir)); !errors.As(err, &wrong) || !strings.Contains(wrong.URL, name) ||
			!strings.Contains(wrong.Reason, "log in") {
			t.Errorf("%s: %v", name, err)
		}
		s.files[name] = was
		must.Do(t, FetchGLDv2(t.Context(), s.fetch(dir)))
		s.wantFetched(t, dir)
		must.Do(t, os.WriteFile(filepath.Join(dir, "metadata", "train.csv"), []byte(page), 0o600))
		if err := FetchGLDv2(t.Context(), s.fetch(dir)); !errors.As(err, new(*shards.InputError)) ||
			!strings.Contains(err.Error(), "remove it") {
			t.Errorf("a page in the place of a table: %v", err)
		}
	}
}

func TestTablesCutWithoutALengthAreNoticed(t *testing.T) {
	for text, want := range map[string]string{"id,landmark_id\n1,2\n": "", "id,landmark_id\n1,2": "cut",
		"id,landmark_id\n1,": "cut", "id;landmark_id\n": "is no table", "": "is no table"} {
		path := filepath.Join(t.TempDir(), "t.csv")
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		err := checkTable(path, false)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	must.Do(t, os.WriteFile(path, []byte("id,landmark_id\n1,2"), 0o600))
	if err := checkTable(path, true); err != nil {
		t.Errorf("of a stated length: %v", err)
	}
}

func TestFetchOfTablesTakesThoseOfLandmarks(t *testing.T) {
	s, dir := newGLDv2Server(t), t.TempDir()
	f := s.fetch(dir)
	f.Tables = true
	must.Do(t, FetchGLDv2(t.Context(), f))
	for name, asked := range s.asked {
		if !strings.Contains(name, "_label_to_") || asked != 1 {
			t.Errorf("%s was asked for %d times", name, asked)
		}
	}
	if len(s.asked) != 4 {
		t.Errorf("%d files were asked for", len(s.asked))
	}
}
