package objectstore

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hgld/internal/objectstore/address"
	"hgld/internal/testing/fakes3"
	"hgld/internal/testing/must"
	"hgld/internal/usage"
)

func open(t *testing.T) *Store {
	t.Helper()
	s := must.Get(Open("s3://bucket/some/place/"))(t)
	s.part, s.wait = testPart, time.Millisecond
	return s
}

// testPart is smaller than a real store allows.
const testPart = 1 << 20

// noise returns n bytes of a seed.
func noise(n int, seed uint64) []byte {
	data := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(seed)})
	r.Read(data)
	return data
}

func upload(t *testing.T, s *Store, name string, data []byte) error {
	t.Helper()
	return s.Upload(t.Context(), name, bytes.NewReader(data), int64(len(data)), sha256.Sum256(data))
}

func TestObjectsAreWrittenReadListedMovedAndRemoved(t *testing.T) {
	server := fakes3.Start(t)
	s, ctx := open(t), t.Context()
	small, large := noise(1000, 1), noise(3*testPart+5, 2)
	err := errors.Join(s.Write(ctx, "a/small", small), upload(t, s, "a/large", large), s.Write(ctx, "b", nil))
	must.Do(t, err)
	if got, err := s.Read(ctx, "a/small", 1000); err != nil || !bytes.Equal(got, small) {
		t.Errorf("%d bytes, error %v", len(got), err)
	}
	if _, err := s.Read(ctx, "a/small", 999); !errors.As(err, new(*TooLargeError)) {
		t.Errorf("error %v, want that it is too large", err)
	}
	var out bytes.Buffer
	n, err := s.Download(ctx, "a/large", &out)
	if err != nil || n != int64(len(large)) || !bytes.Equal(out.Bytes(), large) {
		t.Errorf("%d bytes, error %v", n, err)
	}
	info, err := s.Stat(ctx, "a/large")
	if err != nil || info.Size != int64(len(large)) || info.SHA256 != fmt.Sprintf("%x", sha256.Sum256(large)) {
		t.Errorf("%+v, error %v", info, err)
	}
	list, err := s.List(ctx, "a")
	if err != nil || len(list) != 2 || list[0].Name != "a/large" || list[1].Size != 1000 {
		t.Errorf("%+v, error %v", list, err)
	}
	must.Do(t, errors.Join(s.Move(ctx, "a/large", "c"), s.Remove(ctx, "b", "missing")))
	if info, err := s.Stat(ctx, "c"); err != nil || info.SHA256 == "" {
		t.Errorf("%+v, error %v, want the hash that was recorded", info, err)
	}
	if got, want := server.Keys(), []string{"some/place/a/small", "some/place/c"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := s.Read(ctx, "b", 9); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want that it does not exist", err)
	}
}

func TestConditionalWrite(t *testing.T) {
	for _, without := range []bool{false, true} {
		server := fakes3.Start(t)
		server.NoConditions = without
		s := open(t)
		must.Do(t, s.WriteNew(t.Context(), "m", []byte("one")))
		if err := s.WriteNew(t.Context(), "m", []byte("two")); !errors.Is(err, fs.ErrExist) {
			t.Errorf("error %v, want that it exists", err)
		}
		if got := server.Get("some/place/m"); string(got) != "one" {
			t.Errorf("%q was overwritten", got)
		}
	}
	// The answer to the first try is lost: the second meets the object of the first.
	server := fakes3.Start(t)
	server.SetFault(func(_ *http.Request, n int) fakes3.Fault { return fakes3.Fault{Lost: n == 1} })
	if err := open(t).WriteNew(t.Context(), "m", []byte("one")); err != nil {
		t.Error(err)
	}
}

// faults are what passes: every request succeeds at its second try.
func faults() map[string]fakes3.Fault {
	return map[string]fakes3.Fault{
		"SlowDown":     {Status: 503, Code: "SlowDown"},
		"500":          {Status: 500, Code: "InternalError"},
		"429":          {Status: 429, Code: "TooManyRequests"},
		"no answer":    {Lost: true},
		"cut":          {Cut: true, After: 100},
		"cut at once":  {Cut: true},
		"short":        {Short: 3},
		"slow request": {Status: 408, Code: "RequestTimeout"},
	}
}

func TestWhatPassesIsTriedAgain(t *testing.T) {
	for name, fault := range faults() {
		server := fakes3.Start(t)
		before := map[string]bool{}
		server.SetFault(func(r *http.Request, _ int) fakes3.Fault {
			request := r.Method + r.URL.String()
			before[request] = !before[request]
			if before[request] {
				return fault
			}
			return fakes3.Fault{}
		})
		s, ctx := open(t), t.Context()
		data := noise(5*testPart+7, 3)
		if err := upload(t, s, "o", data); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var out bytes.Buffer
		if _, err := s.Download(ctx, "o", &out); err != nil || !bytes.Equal(out.Bytes(), data) {
			t.Errorf("%s: %v", name, err)
		}
		o, err := s.Open(ctx, "o")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		piece := make([]byte, 3*blockBytes)
		if _, err := o.ReadAt(piece, blockBytes-9); err != nil || !bytes.Equal(piece, data[blockBytes-9:][:len(piece)]) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrorsSayWhatToDoAndShowNoCredentials(t *testing.T) {
	for name, c := range map[string]struct {
		fault fakes3.Fault
		kind  Kind
		want  string
	}{
		"always slow":   {fakes3.Fault{Status: 503, Code: "SlowDown"}, Temporary, "503 SlowDown"},
		"always cut":    {fakes3.Fault{Lost: true}, Temporary, "closed the connection (4 tries)"},
		"forbidden":     {fakes3.Fault{Status: 403, Code: "AccessDenied"}, Denied, "403 AccessDenied"},
		"expired":       {fakes3.Fault{Status: 400, Code: "ExpiredToken"}, Denied, "400 ExpiredToken"},
		"no bucket":     {fakes3.Fault{Status: 404, Code: "NoSuchBucket"}, NoBucket, "no such bucket"},
		"not supported": {fakes3.Fault{Status: 400, Code: "InvalidRequest"}, Refused, "400 InvalidRequest"},
	} {
		server := fakes3.Start(t)
		server.SetFault(func(*http.Request, int) fakes3.Fault { return c.fault })
		_, err := open(t).Read(t.Context(), "o", 9)
		var e *Error
		if !errors.As(err, &e) || e.Kind != c.kind || !e.Signed || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "s3://bucket/some/place/o") {
			t.Errorf("%s: %v", name, err)
		}
		if text := fmt.Sprint(err); strings.Contains(text, fakes3.Secret) || strings.Contains(text, fakes3.KeyID) {
			t.Errorf("%s: %q shows credentials", name, text)
		}
	}
}

func TestAnInterruptedUploadContinues(t *testing.T) {
	server := fakes3.Start(t)
	s := open(t)
	data := noise(5*testPart, 4)
	server.SetFault(func(r *http.Request, _ int) fakes3.Fault {
		if r.URL.Query().Get("partNumber") == "5" { // it is sent when another part has arrived
			return fakes3.Fault{Status: 403, Code: "AccessDenied"} // as good as a kill
		}
		return fakes3.Fault{}
	})
	if err := upload(t, s, "o", data); err == nil || server.Uploads() != 1 {
		t.Fatalf("error %v, %d uploads", err, server.Uploads())
	}
	server.SetFault(nil)
	server.Log()
	if err := upload(t, s, "o", data); err != nil || server.Uploads() != 0 {
		t.Fatalf("error %v, %d uploads", err, server.Uploads())
	}
	sent := strings.Count(strings.Join(server.Log(), "\n"), "partNumber=")
	if sent == 0 || sent > 4 {
		t.Errorf("%d of 5 parts were sent again", sent)
	}
	if !bytes.Equal(server.Get("some/place/o"), data) {
		t.Error("the object has other bytes")
	}
	// Parts of other bytes are not taken.
	server.SetFault(func(r *http.Request, _ int) fakes3.Fault {
		if r.URL.Query().Get("partNumber") == "5" {
			return fakes3.Fault{Status: 403, Code: "AccessDenied"}
		}
		return fakes3.Fault{}
	})
	upload(t, s, "o", noise(5*testPart, 5))
	server.SetFault(nil)
	err := upload(t, s, "o", data)
	if err != nil || !bytes.Equal(server.Get("some/place/o"), data) || server.Uploads() != 0 {
		t.Errorf("error %v, %d uploads", err, server.Uploads())
	}
}

// Two processes write the same object: one completes the upload while the other is at it.
func TestTwoWritersOfTheSameBytes(t *testing.T) {
	server := fakes3.Start(t)
	s := open(t)
	data := noise(4*testPart, 6)
	var both sync.WaitGroup
	for range 3 {
		both.Go(func() {
			if err := upload(t, s, "o", data); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if err := s.AbortUploads(t.Context()); err != nil || server.Uploads() != 0 {
		t.Errorf("error %v, %d uploads", err, server.Uploads())
	}
	if !bytes.Equal(server.Get("some/place/o"), data) {
		t.Error("the object has other bytes")
	}
}

func TestReadsComeFromTheCache(t *testing.T) {
	server := fakes3.Start(t)
	s := open(t)
	data := noise(10*blockBytes+77, 7)
	must.Do(t, upload(t, s, "o", data))
	read := func(at, n int) {
		t.Helper()
		o := must.Get(s.Open(t.Context(), "o"))(t)
		p := make([]byte, n)
		got, err := o.ReadAt(p, int64(at))
		want := data[at:min(at+n, len(data))]
		if got != len(want) || !bytes.Equal(p[:got], want) || (err == io.EOF) != (at+n > len(data)) ||
			err != nil && err != io.EOF {
			t.Errorf("%d at %d: %d bytes, error %v", n, at, got, err)
		}
	}
	gets := func() int { return strings.Count(strings.Join(server.Log(), "\n"), "GET ") }
	gets()
	read(5, 100)
	read(blockBytes-1, 2)
	read(0, 4*blockBytes)
	if n := gets(); n != 3 {
		t.Errorf("%d ranges were read, want 3", n)
	}
	read(0, 4*blockBytes)
	if n := gets(); n != 0 {
		t.Errorf("%d ranges were read that the cache has", n)
	}
	read(len(data)-10, 100) // beyond the end
	// A block that was damaged on disk is read again.
	blocks, _ := filepath.Glob(filepath.Join(os.Getenv(CacheVariable), "??", "*"))
	for _, path := range blocks {
		text, _ := os.ReadFile(path)
		text[len(text)/2] ^= 1
		os.WriteFile(path, text, 0o600)
	}
	read(0, 3*blockBytes)
	// Another version of the object has other blocks.
	data = noise(10*blockBytes+77, 8)
	must.Do(t, upload(t, s, "o", data))
	read(100, 2*blockBytes)
}

func TestAnObjectThatIsReplacedIsNotMixed(t *testing.T) {
	server := fakes3.Start(t)
	s := open(t)
	must.Do(t, upload(t, s, "o", noise(4*blockBytes, 9)))
	o := must.Get(s.Open(t.Context(), "o"))(t)
	server.Put("some/place/o", noise(4*blockBytes, 10), false)
	var e *Error
	if _, err := o.ReadAt(make([]byte, 9), 0); !errors.As(err, &e) || e.Kind != Changed {
		t.Errorf("error %v, want that it changed", err)
	}
}

func TestBytesThatAreNotThoseWrittenAreAnError(t *testing.T) {
	server := fakes3.Start(t)
	s := open(t)
	must.Do(t, s.Write(t.Context(), "o", []byte("right")))
	server.Put("some/place/o", []byte("wrong"), true)
	if _, err := s.Read(t.Context(), "o", 9); !errors.As(err, new(*ChecksumError)) {
		t.Errorf("error %v, want that the hash differs", err)
	}
	// A part whose ETag is not that of the bytes makes the upload begin again.
	wrong := true
	server.SetFault(func(r *http.Request, _ int) fakes3.Fault {
		if r.URL.Query().Get("partNumber") == "2" && wrong {
			wrong = false
			return fakes3.Fault{ETag: strings.Repeat("0", 32)}
		}
		return fakes3.Fault{}
	})
	data := noise(2*testPart, 11)
	if err := upload(t, s, "p", data); err != nil || !bytes.Equal(server.Get("some/place/p"), data) {
		t.Errorf("error %v", err)
	}
}

// Each of many readers asks for two halves of neighbouring blocks, so that each block is asked for by three readers
// in three ranges.
func TestReadersAtTheSameTimeFetchEachBlockOnce(t *testing.T) {
	server := fakes3.Start(t)
	s := open(t)
	data := noise(8*blockBytes, 14)
	must.Do(t, upload(t, s, "o", data))
	var asked atomic.Int64
	server.SetFault(func(r *http.Request, _ int) fakes3.Fault {
		var from, to int64
		if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); n == 2 {
			asked.Add(to + 1 - from)
		}
		return fakes3.Fault{}
	})
	o := must.Get(s.Open(t.Context(), "o"))(t)
	var all sync.WaitGroup
	for i := range 15 {
		all.Go(func() {
			p, at := make([]byte, blockBytes), i*blockBytes/2
			if _, err := o.ReadAt(p, int64(at)); err != nil || !bytes.Equal(p, data[at:][:blockBytes]) {
				t.Error(i, err)
			}
		})
	}
	all.Wait()
	if asked.Load() != 8*blockBytes {
		t.Errorf("%d bytes were fetched, want those of 8 blocks: %d", asked.Load(), 8*blockBytes)
	}
}

func TestTheCacheKeepsItsSize(t *testing.T) {
	t.Setenv(CacheSizeVariable, "")
	fakes3.Start(t)
	t.Setenv(CacheSizeVariable, "8MB")
	s := open(t)
	data := noise(30*blockBytes, 12)
	must.Do(t, upload(t, s, "o", data))
	var all sync.WaitGroup
	for range 4 { // as processes that share the folder
		all.Go(func() {
			o, err := s.Open(t.Context(), "o")
			if err != nil {
				t.Error(err)
				return
			}
			for b := range 30 {
				p := make([]byte, 1000)
				if _, err := o.ReadAt(p, int64(b)*blockBytes); err != nil || !bytes.Equal(p, data[b*blockBytes:][:1000]) {
					t.Error(b, err)
				}
			}
		})
	}
	all.Wait()
	s.cache.tidy()
	var size int64
	filepath.Walk(os.Getenv(CacheVariable), func(_ string, info fs.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	if size > 8e6 {
		t.Errorf("the cache has %d bytes", size)
	}
}

func TestAddressesAndSettingsAreChecked(t *testing.T) {
	fakes3.Start(t)
	for place, want := range map[string]string{
		"s3://bucket":              "names a whole bucket",
		"s3://":                    "no bucket is called",
		"s3://key:secret@bucket/x": "has a name or password",
		"s3://key:x/secret@b/x":    "s3://…@b/x has a name or password",
		"s3://key:x/secret/y":      "s3://… has a name or password",
		"s3://bucket/a/../b":       "a part . or ..",
		"s3://bucket/a//b":         "has an empty part",
	} {
		_, err := Open(place)
		if !errors.As(err, new(*address.Error)) || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", place, err)
		}
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "config")
	os.WriteFile(config, []byte("[profile far]\nendpoint_url = http://localhost:1\nregion = r\n"+
		"aws_access_key_id = hidden-id\naws_secret_access_key = hidden-secret\n[profile empty]\nregion = r\n"), 0o600)
	t.Setenv("AWS_CONFIG_FILE", config)
	for variable, c := range map[string]struct{ value, want string }{
		"AWS_ENDPOINT_URL":    {"http://u:hidden@localhost", "has a name or password"},
		"AWS_ENDPOINT_URL_S3": {"localhost:9000", "want https://host"},
		"AWS_MAX_ATTEMPTS":    {"hidden", "want 1 or more"},
		"AWS_PROFILE":         {"nobody", "no such profile"},
		"AWS_CA_BUNDLE":       {config, "has no certificate"},
		CacheSizeVariable:     {"hidden", "want a number of bytes"},
		"AWS_ACCESS_KEY_ID":   {"", "only one is set"},
	} {
		was := os.Getenv(variable)
		os.Setenv(variable, c.value)
		_, err := Open("s3://bucket/fresh")
		os.Setenv(variable, was)
		if !errors.As(err, new(*usage.Error)) || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", variable, err)
		}
	}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_REGION"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_PROFILE", "far")
	c, err := configure()
	if err != nil || c.host != "localhost:1" || c.secure || c.region != "r" {
		t.Errorf("%+v, error %v", c, err)
	} else if v, err := c.creds.GetWithContext(nil); err != nil || v.AccessKeyID != "hidden-id" {
		t.Errorf("error %v", err)
	}
	t.Setenv("AWS_PROFILE", "empty")
	if _, err := configure(); err == nil || !strings.Contains(err.Error(), "no credentials") {
		t.Errorf("error %v, want that the profile has none", err)
	}
}

// A proxy that sends answers in chunks states no length, and some leave out the ETag or do not know ranges: objects are
// read whole all the same, and a broken connection is noticed.
func TestObjectsAreReadThroughProxies(t *testing.T) {
	for name, fault := range map[string]func(r *http.Request) fakes3.Fault{
		"no lengths": func(*http.Request) fakes3.Fault { return fakes3.Fault{Chunks: true} },
		"no ranges": func(r *http.Request) fakes3.Fault {
			if r.Header.Get("Range") == "bytes=0-0" {
				r.Header.Del("Range")
			}
			return fakes3.Fault{Chunks: r.Method == http.MethodGet}
		},
		"no ETag": func(*http.Request) fakes3.Fault { return fakes3.Fault{ETag: "none"} },
	} {
		server := fakes3.Start(t)
		s, ctx := open(t), t.Context()
		for _, data := range [][]byte{nil, noise(1000, 1), noise(3*blockBytes+5, 2)} {
			must.Do(t, s.Write(ctx, "o", data))
			cut := len(data) > blockBytes
			server.SetFault(func(r *http.Request, _ int) fakes3.Fault {
				f := fault(r)
				f.Cut = cut && r.Header.Get("Range") == "" && r.Method == http.MethodGet
				f.After, cut = 100, cut && !f.Cut
				return f
			})
			got, err := s.Read(ctx, "o", int64(len(data)))
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s: %d bytes of %d, error %v", name, len(got), len(data), err)
			}
			o := must.Get(s.Open(ctx, "o"))(t)
			part := make([]byte, len(data))
			if n, err := o.ReadAt(part, 0); err != nil || n != len(data) || !bytes.Equal(part, data) {
				t.Errorf("%s: %d bytes of %d at once, error %v", name, n, len(data), err)
			}
			if _, err := s.Read(ctx, "o", 0); len(data) > 0 && !errors.As(err, new(*TooLargeError)) {
				t.Errorf("%s: error %v, want that it is too large", name, err)
			}
			server.SetFault(nil)
		}
	}
}

// A server that states no size at all is at fault, not the object.
func TestAnObjectWithoutSizeIsAnErrorOfTheServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"x"`)
		w.Header().Set("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
		w.(http.Flusher).Flush()
		fmt.Fprint(w, "some bytes")
	}))
	defer server.Close()
	fakes3.Start(t)
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	_, err := must.Get(Open("s3://bucket/sets"))(t).Read(t.Context(), "a", 100)
	if refused := (*Error)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), "does not state its size") {
		t.Errorf("error %v", err)
	}
}

// A server that answers every request for a list with the same page has a list without end.
func TestListsWithoutEndAreErrors(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		fmt.Fprint(w, `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken>`+
			`<Contents><Key>sets/a</Key><Size>1</Size></Contents></ListBucketResult>`)
	}))
	defer server.Close()
	fakes3.Start(t)
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	_, err := must.Get(Open("s3://bucket/sets"))(t).List(t.Context(), "")
	var refused *Error
	if !errors.As(err, &refused) || refused.Kind != Refused || asked > 3 ||
		!strings.Contains(err.Error(), "lists sets/a a second time") {
		t.Errorf("%d requests, error %v", asked, err)
	}
}

func TestManyObjectsAreRemovedByFewRequests(t *testing.T) {
	server := fakes3.Start(t)
	s := open(t)
	for name, c := range map[string]struct {
		spoil func()
		most  int
	}{
		"bulk":            {func() {}, 3},
		"busy":            {func() { server.SetFault(once(fakes3.Fault{Status: 503, Code: "SlowDown"})) }, 4},
		"no bulk":         {func() { server.NoBulk = true }, 1 + 2 + 1101},
		"a lost response": {func() { server.SetFault(once(fakes3.Fault{Lost: true})) }, 4},
	} {
		var names []string
		for i := range 1101 {
			names = append(names, fmt.Sprintf("many/%d", i))
			server.Put(s.key(names[i]), nil, false)
		}
		names = append(names, "many/none")
		c.spoil()
		server.Log()
		if err := s.Remove(t.Context(), names...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if log := server.Log(); len(log) > c.most {
			t.Errorf("%s: %d requests, want at most %d", name, len(log), c.most)
		}
		if left := server.Keys(); len(left) > 0 {
			t.Errorf("%s: %d objects are left", name, len(left))
		}
		server.SetFault(nil)
		server.NoBulk = false
	}
}

// once is a fault of the first of many removals alone.
func once(f fakes3.Fault) func(*http.Request, int) fakes3.Fault {
	return func(r *http.Request, _ int) fakes3.Fault {
		if now := f; r.Method == http.MethodPost {
			f = fakes3.Fault{}
			return now
		}
		return fakes3.Fault{}
	}
}
