// Package fakes3 is an object store in memory that speaks the part of Amazon S3's protocol that hgld uses. It can
// fail in the ways that real stores and networks fail. scripts/check_s3 checks against real servers.
package fakes3

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Fault is what goes wrong with a request.
type Fault struct {
	Status int    // the answer has this status and Code, and nothing is done; 0: none
	Code   string // such as "SlowDown"
	After  int    // with Cut: the connection ends after so many bytes of the answer's body
	Cut    bool   // the connection ends in the answer
	Lost   bool   // the request is done, but the connection ends before the answer
	Short  int    // the body of an answer lacks so many bytes, though its length says so
	ETag   string // the answer names this ETag; "none": it names none
	Flip   bool   // a byte of the answer's body is wrong
	Chunks bool   // the answer comes in chunks, without Content-Length

	// Stall, if not nil, is sent to, and then no answer comes, or none after the first After bytes of its body,
	// until the client goes.
	Stall chan<- struct{}
}

// Object is an object of the store.
type Object struct {
	Data []byte      // its bytes
	Meta http.Header // Content-Type and X-Amz-Meta-…
	ETag string      // of its bytes
}

type multipart struct {
	key   string
	meta  http.Header
	parts map[int][]byte
	began time.Time
}

// Server is the store. The bucket is called "bucket".
type Server struct {
	URL string // of the server, for AWS_ENDPOINT_URL

	// NoConditions makes the server answer requests with If-None-Match by NotImplemented.
	NoConditions bool
	// NoBulk makes it answer requests that remove many objects in the same way.
	NoBulk bool

	mu      sync.Mutex
	fault   func(r *http.Request, n int) Fault
	objects map[string]*Object
	uploads map[string]*multipart
	n       int
	log     []string
}

// SetFault sets what is asked for every request, by one goroutine at a time; n counts the requests from 1. nil: nothing
// goes wrong.
func (s *Server) SetFault(fault func(r *http.Request, n int) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// Start starts a store on loopback, and points the AWS tools' environment variables to it. It ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := New()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	for _, pair := range s.Environment(t.TempDir()) {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	return s
}

// The credentials of the store. No message may show them.
const (
	KeyID  = "AKIDFAKEFAKEFAKEFAKE"
	Secret = "secretsecretsecretsecretsecretsecretsecr"
)

// New returns a store without a server.
func New() *Server { return &Server{objects: map[string]*Object{}, uploads: map[string]*multipart{}} }

// Environment returns the variables that lead to the store. The cache lies in a folder.
func (s *Server) Environment(cache string) []string {
	return []string{"AWS_ENDPOINT_URL=" + s.URL, "AWS_ACCESS_KEY_ID=" + KeyID, "AWS_SECRET_ACCESS_KEY=" + Secret,
		"AWS_SESSION_TOKEN=", "AWS_REGION=us-east-1", "AWS_PROFILE=", "AWS_ENDPOINT_URL_S3=", "AWS_MAX_ATTEMPTS=4",
		"AWS_CONFIG_FILE=" + cache + "/none", "AWS_SHARED_CREDENTIALS_FILE=" + cache + "/none",
		"AWS_EC2_METADATA_DISABLED=true", "HGLD_S3_CACHE=" + cache + "/cache", "HGLD_S3_CACHE_SIZE="}
}

// Keys returns the keys of all objects, sorted.
func (s *Server) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys("")
}

func (s *Server) keys(prefix string) (list []string) {
	for _, k := range slices.Sorted(maps.Keys(s.objects)) {
		if strings.HasPrefix(k, prefix) {
			list = append(list, k)
		}
	}
	return list
}

// Get returns the bytes of an object, nil if there is none.
func (s *Server) Get(key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[key]; o != nil {
		return slices.Clone(o.Data)
	}
	return nil
}

// Put writes an object as another program does, without metadata. With keep, those of the object that was there stay.
func (s *Server) Put(key string, data []byte, keep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	meta := http.Header{}
	if was := s.objects[key]; was != nil && keep {
		meta = was.Meta
	}
	s.objects[key] = &Object{data, meta, etagOf(data)}
}

// Remove removes an object, as another program does.
func (s *Server) Remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key)
}

// Uploads returns the number of unfinished uploads.
func (s *Server) Uploads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.uploads)
}

// Log returns the requests since the last call, such as "PUT bucket/a?partNumber=1".
func (s *Server) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

func etagOf(data []byte) string {
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	f, answer := s.answer(r, body)
	if f.Stall != nil {
		f.stall(w, r, answer)
	} else {
		f.send(w, answer)
	}
}

// answer returns what goes wrong with a request, and its answer.
func (s *Server) answer(r *http.Request, body []byte) (f Fault, answer *httptest.ResponseRecorder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	line := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/")
	if id := r.URL.Query().Get("partNumber"); id != "" {
		line += "?partNumber=" + id
	}
	s.log = append(s.log, line)
	if s.fault != nil {
		f = s.fault(r, s.n)
	}
	answer = httptest.NewRecorder()
	if f.Status != 0 {
		fail(answer, f.Status, f.Code)
		return f, answer
	}
	if !strings.Contains(r.Header.Get("Authorization"), "Credential="+KeyID+"/") {
		fail(answer, http.StatusForbidden, "InvalidAccessKeyId")
	} else {
		s.serve(answer, r, body)
	}
	return f, answer
}

// stall sends the beginning of an answer, and waits for the client's end.
func (f Fault) stall(w http.ResponseWriter, r *http.Request, answer *httptest.ResponseRecorder) {
	if out := answer.Body.Bytes(); f.After > 0 {
		maps.Copy(w.Header(), answer.Header())
		w.Header().Set("Content-Length", strconv.Itoa(len(out)))
		w.WriteHeader(answer.Code)
		w.Write(out[:min(f.After, len(out))])
		w.(http.Flusher).Flush()
	}
	f.Stall <- struct{}{}
	<-r.Context().Done()
}

// send sends an answer, or what the fault leaves of it.
func (f Fault) send(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	out := answer.Body.Bytes()
	maps.Copy(w.Header(), answer.Header())
	if f.ETag != "" {
		w.Header().Set("ETag", `"`+f.ETag+`"`)
	}
	if f.ETag == "none" {
		w.Header().Del("ETag")
	}
	if f.Lost {
		panic(http.ErrAbortHandler)
	}
	if w.Header().Get("Content-Length") == "" {
		w.Header().Set("Content-Length", strconv.Itoa(len(out)))
	}
	if f.Chunks {
		w.Header().Del("Content-Length")
	}
	w.WriteHeader(answer.Code)
	if f.Chunks {
		w.(http.Flusher).Flush()
	}
	if f.Flip && len(out) > 0 {
		out = slices.Clone(out)
		out[len(out)/2] ^= 1
	}
	if f.Cut || f.Short > 0 {
		n := f.After
		if f.Short > 0 {
			n = len(out) - f.Short
		}
		w.Write(out[:max(0, min(n, len(out)))])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	w.Write(out)
}

func fail(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s of %s</Message></Error>", code, code, Secret)
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/xml")
	xml.NewEncoder(w).Encode(v)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	q := r.URL.Query()
	switch {
	case bucket != "bucket":
		fail(w, http.StatusNotFound, "NoSuchBucket")
	case key == "" && q.Has("uploads"):
		s.listUploads(w, q.Get("prefix"))
	case key == "" && q.Has("delete"):
		s.removeMany(w, r, body)
	case key == "":
		s.list(w, q.Get("prefix"), q.Get("delimiter"))
	case r.Method == http.MethodPost && q.Has("uploads"):
		id := strconv.Itoa(s.n)
		s.uploads[id] = &multipart{key, metaOf(r.Header), map[int][]byte{}, time.Now()}
		reply(w, struct {
			XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
			UploadID string   `xml:"UploadId"`
		}{UploadID: id})
	case q.Has("uploadId"):
		s.upload(w, r, key, q.Get("uploadId"), body)
	case r.Method == http.MethodPut && r.Header.Get("X-Amz-Copy-Source") != "":
		s.copy(w, r, key)
	case r.Method == http.MethodPut:
		s.put(w, r, key, body)
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		s.get(w, r, key)
	}
}

// removeMany answers a request that removes many objects.
func (s *Server) removeMany(w http.ResponseWriter, r *http.Request, body []byte) {
	type object struct{ Key string }
	var in struct{ Object []object }
	if xml.Unmarshal(body, &in) != nil || len(in.Object) == 0 || len(in.Object) > 1000 {
		fail(w, http.StatusBadRequest, "MalformedXML")
		return
	}
	if s.NoBulk {
		fail(w, http.StatusNotImplemented, "NotImplemented")
		return
	}
	if !sound(w, r, body) {
		return
	}
	var out struct {
		XMLName xml.Name `xml:"DeleteResult"`
		Deleted []object
	}
	for _, o := range in.Object {
		delete(s.objects, o.Key)
		out.Deleted = append(out.Deleted, o)
	}
	reply(w, out)
}

func metaOf(from http.Header) http.Header {
	meta := http.Header{}
	for k, v := range from {
		if k == "Content-Type" || strings.HasPrefix(k, "X-Amz-Meta-") {
			meta[k] = v
		}
	}
	return meta
}

func (s *Server) put(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	if r.Header.Get("If-None-Match") != "" {
		if s.NoConditions {
			fail(w, http.StatusNotImplemented, "NotImplemented")
			return
		}
		if s.objects[key] != nil {
			fail(w, http.StatusPreconditionFailed, "PreconditionFailed")
			return
		}
	}
	if !sound(w, r, body) {
		return
	}
	s.objects[key] = &Object{body, metaOf(r.Header), etagOf(body)}
	w.Header().Set("ETag", `"`+etagOf(body)+`"`)
}

// sound compares a body with its Content-MD5.
func sound(w http.ResponseWriter, r *http.Request, body []byte) bool {
	sum := md5.Sum(body)
	if want := r.Header.Get("Content-Md5"); want != "" && want != base64.StdEncoding.EncodeToString(sum[:]) {
		fail(w, http.StatusBadRequest, "BadDigest")
		return false
	}
	return true
}

func (s *Server) copy(w http.ResponseWriter, r *http.Request, key string) {
	from := s.objects[strings.TrimPrefix(strings.TrimPrefix(r.Header.Get("X-Amz-Copy-Source"), "/"), "bucket/")]
	if from == nil {
		fail(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	s.objects[key] = from
	reply(w, struct {
		XMLName xml.Name `xml:"CopyObjectResult"`
		ETag    string
	}{ETag: from.ETag})
}

func (s *Server) get(w http.ResponseWriter, r *http.Request, key string) {
	o := s.objects[key]
	if o == nil {
		fail(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	maps.Copy(w.Header(), o.Meta)
	w.Header().Set("ETag", `"`+o.ETag+`"`)
	http.ServeContent(w, r, key, time.Unix(1e9, 0), bytes.NewReader(o.Data))
}

type content struct {
	Key          string
	Size         int
	ETag         string
	LastModified string
}

type folder struct{ Prefix string }

func (s *Server) list(w http.ResponseWriter, prefix, delimiter string) {
	var out struct {
		XMLName        xml.Name `xml:"ListBucketResult"`
		Contents       []content
		CommonPrefixes []folder
	}
	for _, k := range s.keys(prefix) {
		if i := strings.Index(k[len(prefix):], "/"); delimiter != "" && i >= 0 {
			if f := (folder{k[:len(prefix)+i+1]}); !slices.Contains(out.CommonPrefixes, f) {
				out.CommonPrefixes = append(out.CommonPrefixes, f)
			}
			continue
		}
		o := s.objects[k]
		out.Contents = append(out.Contents, content{k, len(o.Data), o.ETag, "2001-09-09T01:46:40Z"})
	}
	reply(w, out)
}

func (s *Server) listUploads(w http.ResponseWriter, prefix string) {
	type upload struct {
		Key       string
		UploadID  string `xml:"UploadId"`
		Initiated string
	}
	var out struct {
		XMLName xml.Name `xml:"ListMultipartUploadsResult"`
		Upload  []upload
	}
	for id, u := range s.uploads {
		if strings.HasPrefix(u.key, prefix) {
			out.Upload = append(out.Upload, upload{u.key, id, u.began.UTC().Format(time.RFC3339)})
		}
	}
	slices.SortFunc(out.Upload, func(a, b upload) int { return strings.Compare(a.UploadID, b.UploadID) })
	reply(w, out)
}

// upload answers requests about one upload.
func (s *Server) upload(w http.ResponseWriter, r *http.Request, key, id string, body []byte) {
	u := s.uploads[id]
	if u == nil || u.key != key {
		fail(w, http.StatusNotFound, "NoSuchUpload")
		return
	}
	switch r.Method {
	case http.MethodPut:
		n, _ := strconv.Atoi(r.URL.Query().Get("partNumber"))
		if sound(w, r, body) {
			u.parts[n] = body
			w.Header().Set("ETag", `"`+etagOf(body)+`"`)
		}
	case http.MethodGet:
		type part struct {
			PartNumber   int
			ETag         string
			Size         int
			LastModified string
		}
		var out struct {
			XMLName xml.Name `xml:"ListPartsResult"`
			Part    []part
		}
		for n := range 10001 {
			if data, ok := u.parts[n]; ok {
				out.Part = append(out.Part, part{n, `"` + etagOf(data) + `"`, len(data), "2001-09-09T01:46:40Z"})
			}
		}
		reply(w, out)
	case http.MethodDelete:
		delete(s.uploads, id)
		w.WriteHeader(http.StatusNoContent)
	case http.MethodPost:
		var in struct {
			Part []struct {
				PartNumber int
				ETag       string
			}
		}
		xml.Unmarshal(body, &in)
		var data []byte
		for _, p := range in.Part {
			part, ok := u.parts[p.PartNumber]
			if !ok || strings.Trim(p.ETag, `"`) != etagOf(part) {
				fail(w, http.StatusBadRequest, "InvalidPart")
				return
			}
			data = append(data, part...)
		}
		delete(s.uploads, id)
		tag := fmt.Sprintf("%s-%d", etagOf(data), len(in.Part))
		s.objects[key] = &Object{data, u.meta, tag}
		reply(w, struct {
			XMLName xml.Name `xml:"CompleteMultipartUploadResult"`
			Bucket  string
			Key     string
			ETag    string
		}{Bucket: "bucket", Key: key, ETag: tag})
	}
}
