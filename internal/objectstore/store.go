package objectstore

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"

	"hgld/internal/objectstore/address"
)

// Reader is what a reader of a data set needs of a store. Names are below the store's address, with slashes.
type Reader interface {
	// Stat returns the size and the hash of an object.
	Stat(ctx context.Context, name string) (Info, error)
	// List returns the objects directly in a folder, by name.
	List(ctx context.Context, folder string) ([]Info, error)
	// Read returns a whole object of at most limit bytes.
	Read(ctx context.Context, name string, limit int64) ([]byte, error)
	// Open opens an object for reading at any place, through the cache.
	Open(ctx context.Context, name string) (*Object, error)
	// Download writes a whole object to w, past the cache. It returns its size.
	Download(ctx context.Context, name string, w io.Writer) (int64, error)
}

// Writer is what a writer of a data set needs of a store. An object appears whole.
type Writer interface {
	// Write writes an object.
	Write(ctx context.Context, name string, data []byte) error
	// WriteNew writes an object that must not exist. If it does, the error is fs.ErrExist.
	WriteNew(ctx context.Context, name string, data []byte) error
	// Upload writes size bytes of from, which have the given SHA-256, by parts. An upload of the same bytes that was
	// interrupted continues.
	Upload(ctx context.Context, name string, from io.ReaderAt, size int64, sum [sha256.Size]byte) error
	// Move gives an object another name.
	Move(ctx context.Context, from, to string) error
	// Remove removes objects, of which some may not exist.
	Remove(ctx context.Context, names ...string) error
	// AbortUploads gives up the unfinished uploads of all objects of the store.
	AbortUploads(ctx context.Context) error
}

// Store is a place in a bucket. It is a Reader and a Writer, and safe for concurrent use.
type Store struct {
	address string // without a slash at the end
	bucket  string
	prefix  string
	config  *config
	core    *minio.Core
	cache   *cache
	part    int64         // bytes of a part of an upload
	wait    time.Duration // before the second try of a request
}

var (
	_ Reader = (*Store)(nil)
	_ Writer = (*Store)(nil)
)

// Info describes an object.
type Info struct {
	Name   string // below the store's address
	Size   int64  // in bytes
	SHA256 string // in hexadecimal, as its writer recorded it; "" if none did, and in a list
	etag   string
}

// hashKey is the key of the metadata that holds the SHA-256 of an object's bytes.
const hashKey = "Sha256"

var opened struct {
	sync.Mutex
	stores map[string]*Store
}

// Open returns the store at an address. It sends no request. Environment variables and files are those of the AWS
// tools:
//
//	AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, endpoint_url of the profile   default: Amazon's
//	AWS_REGION, AWS_DEFAULT_REGION, region of the profile
//	AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, else
//	AWS_PROFILE in ~/.aws/credentials and ~/.aws/config, else a web identity or the role of the container or instance
//	AWS_CA_BUNDLE, AWS_MAX_ATTEMPTS, HTTPS_PROXY
//
// The error is an [*address.Error] or a [*ConfigError].
func Open(place string) (*Store, error) {
	bucket, prefix, err := address.Split(place)
	if err != nil {
		return nil, err
	}
	opened.Lock()
	defer opened.Unlock()
	c, err := configure()
	if err != nil {
		return nil, err
	}
	// The credentials are not part of the key: nobody changes them within a process but tests, which change the host.
	key := fmt.Sprintf("%s %t %s %d %s/%s", c.host, c.secure, c.region, c.tries, bucket, prefix)
	if s := opened.stores[key]; s != nil {
		return s, nil
	}
	s := &Store{address: address.Scheme + bucket + "/" + prefix, bucket: bucket, prefix: prefix, config: c,
		part: partBytes, wait: firstWait}
	if s.core, err = c.client(); err != nil {
		return nil, err
	}
	if s.cache, err = openCache(); err != nil {
		return nil, err
	}
	if opened.stores == nil {
		opened.stores = map[string]*Store{}
	}
	opened.stores[key] = s
	return s, nil
}

// URL returns the address of a name; "" is the store itself.
func (s *Store) URL(name string) string {
	if name == "" {
		return s.address
	}
	return s.address + "/" + name
}

func (s *Store) key(name string) string { return s.prefix + "/" + name }

// Waits between the tries of a request: the first, which doubles, and the longest. A random part of each is left out,
// so that many processes do not come back at once.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = 15 * time.Second
)

// do makes a request until it succeeds, fails for good or has failed for the moment too often.
func (s *Store) do(ctx context.Context, op, name string, request func(ctx context.Context) error) error {
	wait := s.wait
	for try := 1; ; try++ {
		within, cancel := context.WithTimeoutCause(ctx, 10*time.Minute, errStalled)
		err := request(within)
		if cause := context.Cause(within); err != nil && ctx.Err() == nil && cause != nil {
			err = cause
		}
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !passes(err) || try >= s.config.tries {
			return s.explain(op, name, try, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait/2 + rand.N(wait/2)):
		}
		wait = min(2*wait, longestWait)
	}
}

// Stat implements Reader.
func (s *Store) Stat(ctx context.Context, name string) (info Info, err error) {
	err = s.do(ctx, "read", name, func(ctx context.Context) error {
		o, err := s.core.StatObject(ctx, s.bucket, s.key(name), minio.StatObjectOptions{})
		if err == nil {
			info = s.info(o)
		}
		return err
	})
	return info, err
}

func (s *Store) info(o minio.ObjectInfo) Info {
	info := Info{Name: strings.TrimPrefix(o.Key, s.prefix+"/"), Size: o.Size, etag: o.ETag}
	for key, value := range o.UserMetadata {
		if strings.EqualFold(key, hashKey) {
			info.SHA256 = value
		}
	}
	return info
}

// List implements Reader.
func (s *Store) List(ctx context.Context, folder string) ([]Info, error) {
	objects, _, err := s.list(ctx, folder)
	return objects, err
}

// Folders returns the names of the folders directly in a folder, sorted.
func (s *Store) Folders(ctx context.Context, folder string) ([]string, error) {
	_, folders, err := s.list(ctx, folder)
	return folders, err
}

func (s *Store) list(ctx context.Context, folder string) (list []Info, folders []string, err error) {
	prefix := s.prefix + "/"
	if folder != "" {
		prefix += folder + "/"
	}
	err = s.do(ctx, "list", folder, func(ctx context.Context) error {
		list, folders = nil, nil
		for o := range s.core.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix}) {
			if o.Err != nil {
				return o.Err
			}
			if strings.HasSuffix(o.Key, "/") {
				folders = append(folders, path.Base(o.Key))
			} else {
				list = append(list, s.info(o))
			}
		}
		return nil
	})
	slices.Sort(folders)
	return list, folders, err
}

// Read implements Reader. An object that records its SHA-256 must have it.
func (s *Store) Read(ctx context.Context, name string, limit int64) (data []byte, err error) {
	var buf bytes.Buffer
	_, err = s.copy(ctx, name, &buf, limit)
	return buf.Bytes(), err
}

// SumError reports an object whose bytes are not those that its writer sent.
type SumError struct {
	URL      string // of the object
	SHA256   string // of its bytes
	Recorded string // by its writer
}

// Error states both hashes.
func (e *SumError) Error() string {
	return fmt.Sprintf("%s has the sha256 %s; its writer recorded %s", e.URL, e.SHA256, e.Recorded)
}

// TooLargeError reports an object that is larger than expected.
type TooLargeError struct {
	URL   string // of the object
	Size  int64  // in bytes
	Limit int64  // of what was expected
}

// Error states both sizes.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s has %d bytes; want at most %d", e.URL, e.Size, e.Limit)
}

// Download implements Reader. If the connection breaks, it goes on where it was.
func (s *Store) Download(ctx context.Context, name string, w io.Writer) (int64, error) {
	return s.copy(ctx, name, w, -1)
}

// copy writes an object to w; a limit below 0 is none. All parts are of one version of the object.
func (s *Store) copy(ctx context.Context, name string, w io.Writer, limit int64) (at int64, err error) {
	etag, size, sum := "", int64(-1), ""
	hash := sha256.New()
	for tries := 0; ; {
		before := at
		err := s.do(ctx, "read", name, func(ctx context.Context) error {
			var o minio.GetObjectOptions
			if etag != "" {
				if err := o.SetMatchETag(etag); err != nil {
					return err
				}
			}
			if at > 0 {
				if err := o.SetRange(at, 0); err != nil {
					return err
				}
			}
			body, info, head, err := s.core.GetObject(ctx, s.bucket, s.key(name), o)
			if err != nil {
				return err
			}
			defer body.Close()
			if err := checkRange(head, at); err != nil {
				return err
			}
			if etag == "" {
				etag, size, sum = info.ETag, info.Size, s.info(info).SHA256
			}
			if limit >= 0 && size > limit {
				return errors.Join(errLocal, &TooLargeError{s.URL(name), size, limit})
			}
			n, err := io.Copy(local{w, hash}, watched(io.LimitReader(body, size-at), body))
			at += n
			if err == nil && at < size {
				err = errShort
			}
			if at > before && err != nil && passes(err) {
				return errProgress // which is no failed try
			}
			return err
		})
		switch tries++; {
		case errors.Is(err, errProgress) && tries < 1000:
			continue
		case errors.Is(err, errProgress):
			return at, s.brokenAgain(name)
		case err != nil:
			return at, unmark(err)
		}
		if got := hex.EncodeToString(hash.Sum(nil)); sum != "" && got != sum {
			return at, &SumError{s.URL(name), got, sum}
		}
		return at, nil
	}
}

// checkRange reports an answer that does not begin at a byte: some servers ignore the range that was asked for.
func checkRange(head http.Header, at int64) error {
	if got := head.Get("Content-Range"); at > 0 && !strings.HasPrefix(got, fmt.Sprintf("bytes %d-", at)) {
		return fmt.Errorf("the server was asked for the bytes from %d on, and answers %.80q", at, got)
	}
	return nil
}

// errProgress says that a connection broke after some bytes. It carries errLocal, so that do returns it.
var errProgress = fmt.Errorf("%w: broken after some bytes", errLocal)

// brokenAgain is the error after very many broken connections.
func (s *Store) brokenAgain(name string) error {
	return &Error{Op: "read", URL: s.URL(name), Kind: Temporary, Signed: s.signed(),
		What: "the connection breaks again and again"}
}

// local writes to a file of this machine and to a hash. It marks the file's errors as this machine's.
type local struct{ to, hash io.Writer }

func (l local) Write(p []byte) (int, error) {
	n, err := l.to.Write(p)
	l.hash.Write(p[:n])
	if err != nil {
		err = errors.Join(errLocal, err)
	}
	return n, err
}

// unmark removes errLocal from an error.
func unmark(err error) error {
	if list, ok := err.(interface{ Unwrap() []error }); ok && errors.Is(err, errLocal) {
		for _, e := range list.Unwrap() {
			if e != errLocal {
				return e
			}
		}
	}
	return err
}

// stalledAfter is how long an answer may pause.
const stalledAfter = time.Minute

// watched is r, whose body is closed if nothing comes for long.
func watched(r io.Reader, body io.Closer) io.Reader { return &watch{r: r, body: body} }

type watch struct {
	r    io.Reader
	body io.Closer
}

func (w *watch) Read(p []byte) (int, error) {
	var late bool
	timer := time.AfterFunc(stalledAfter, func() { w.body.Close() })
	n, err := w.r.Read(p)
	late = !timer.Stop()
	if err != nil && err != io.EOF && late {
		err = errStalled
	}
	return n, err
}

// Write implements Writer.
func (s *Store) Write(ctx context.Context, name string, data []byte) error {
	return s.put(ctx, name, data, false)
}

// WriteNew implements Writer. Where the server knows no conditions, two writers at the same moment may both succeed.
func (s *Store) WriteNew(ctx context.Context, name string, data []byte) error {
	err := s.put(ctx, name, data, true)
	var e *Error
	if !errors.As(err, &e) || e.Kind != Refused || !strings.Contains(e.What, "NotImplemented") {
		return err
	}
	if _, err := s.Stat(ctx, name); err == nil || !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = &fs.PathError{Op: "write", Path: s.URL(name), Err: fs.ErrExist}
		}
		return err
	}
	return s.put(ctx, name, data, false)
}

// put writes an object by one request. If a condition is not met because an earlier try of the same request had
// arrived, it succeeded.
func (s *Store) put(ctx context.Context, name string, data []byte, only bool) error {
	sum := sha256.Sum256(data)
	o := s.options(name, sum)
	if only {
		o.SetMatchETagExcept("*")
	}
	tries := 0
	err := s.do(ctx, "write", name, func(ctx context.Context) error {
		tries++
		_, err := s.core.PutObject(ctx, s.bucket, s.key(name), bytes.NewReader(data), int64(len(data)), md5Of(data),
			hex.EncodeToString(sum[:]), o)
		return err
	})
	if errors.Is(err, fs.ErrExist) && tries > 1 {
		if there, other := s.Stat(ctx, name); other == nil && there.SHA256 == hex.EncodeToString(sum[:]) {
			return nil
		}
	}
	return err
}

// options are the metadata of an object.
func (s *Store) options(name string, sum [sha256.Size]byte) minio.PutObjectOptions {
	kind := map[string]string{".json": "application/json", ".jsonl": "application/x-ndjson", ".ttl": "text/turtle",
		".md": "text/markdown", ".parquet": "application/vnd.apache.parquet", "": "text/plain"}[path.Ext(name)]
	if kind == "" {
		kind = "application/octet-stream"
	}
	return minio.PutObjectOptions{ContentType: kind, DisableContentSha256: true, // it is signed with its hash
		UserMetadata: map[string]string{hashKey: hex.EncodeToString(sum[:])}}
}

func md5Of(data []byte) string {
	sum := md5.Sum(data)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// copyLimit is the size up to which one request copies an object.
const copyLimit = 5 << 30

// Move implements Writer. The object has both names for a moment.
func (s *Store) Move(ctx context.Context, from, to string) error {
	info, err := s.Stat(ctx, from)
	if err != nil {
		return err
	}
	src := minio.CopySrcOptions{Bucket: s.bucket, Object: s.key(from), MatchETag: info.etag}
	dst := minio.CopyDestOptions{Bucket: s.bucket, Object: s.key(to)}
	err = s.do(ctx, "write", to, func(ctx context.Context) (err error) {
		if info.Size <= copyLimit {
			_, err = s.core.Client.CopyObject(ctx, dst, src)
			return err
		}
		dst.ReplaceMetadata, dst.UserMetadata = true, map[string]string{hashKey: info.SHA256}
		_, err = s.core.ComposeObject(ctx, dst, src)
		return err
	})
	if err != nil {
		return err
	}
	return s.Remove(ctx, from)
}

// Remove implements Writer.
func (s *Store) Remove(ctx context.Context, names ...string) error {
	for _, name := range names {
		err := s.do(ctx, "remove", name, func(ctx context.Context) error {
			return s.core.RemoveObject(ctx, s.bucket, s.key(name), minio.RemoveObjectOptions{})
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
