// Package objectstore reads and writes objects of Amazon S3 and of servers that speak its protocol (MinIO, Ceph,
// Google Cloud Storage, Cloudflare R2 and others). An object appears at once and whole, so nothing half-written is ever
// seen. Requests that fail for the moment are repeated; large objects are sent by parts, and an upload that was
// interrupted continues. Ranges are read through a cache on disk.
//
// Endpoint, region and credentials are found as the AWS tools find them: see [Open].
package objectstore

import (
	"bytes"
	"cmp"
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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/s3utils"
	"golang.org/x/sync/errgroup"

	"hgld/internal/budget"
	"hgld/internal/crash"
	"hgld/internal/metrics"
	"hgld/internal/objectstore/address"
	"hgld/internal/retry"
)

// Store is a place in a bucket. Names of objects are below its address, with slashes. It is safe for concurrent use.
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
// The error is an [*address.Error] or a usage error.
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
	tries := 0
	rule := retry.Rule{Tries: s.config.tries, First: s.wait, Longest: longestWait,
		Draw: func(int) float64 { return rand.Float64() }}
	err := rule.Do(ctx, func(time.Duration) (retry.Next, error) {
		tries++
		metrics.Add("hgld_store_requests_total", 1)
		if tries > 1 {
			metrics.Add("hgld_store_retries_total", 1)
		}
		within, cancel := context.WithTimeoutCause(ctx, budget.Time, errStalled)
		defer cancel()
		err := request(within)
		if cause := context.Cause(within); err != nil && ctx.Err() == nil && cause != nil {
			err = cause
		}
		return retry.Next{Again: passes(err) && ctx.Err() == nil}, err
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return s.explain(op, name, tries, err)
}

// Stat returns the size and the hash of an object.
func (s *Store) Stat(ctx context.Context, name string) (info Info, err error) {
	err = s.do(ctx, "read", name, func(ctx context.Context) error {
		o, err := s.core.StatObject(ctx, s.bucket, s.key(name), minio.StatObjectOptions{})
		if err == nil {
			o.Size, err = s.length(ctx, name, o)
			info = s.info(o)
		}
		return err
	})
	return info, err
}

// length returns the size of an object. A proxy that sends answers in chunks states it only if it is asked without the
// object, or for a range.
func (s *Store) length(ctx context.Context, name string, of minio.ObjectInfo) (int64, error) {
	if of.Size >= 0 {
		return of.Size, nil
	}
	asked, err := s.core.StatObject(ctx, s.bucket, s.key(name), minio.StatObjectOptions{})
	if err != nil || asked.Size >= 0 {
		return asked.Size, err
	}
	var o minio.GetObjectOptions
	if err := o.SetRange(0, 0); err != nil {
		return 0, err
	}
	body, _, head, err := s.core.GetObject(ctx, s.bucket, s.key(name), o)
	if answer, ok := asResponse(err); ok && answer.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		return 0, nil // it is empty
	}
	if err != nil {
		return 0, err
	}
	defer body.Close()
	_, total, _ := strings.Cut(head.Get("Content-Range"), "/")
	if size, err := strconv.ParseInt(total, 10, 64); err == nil && size >= 0 {
		return size, nil
	}
	if _, err := body.Read(make([]byte, 1)); err == io.EOF {
		return 0, nil
	}
	return 0, errors.New("the server does not state its size; does a proxy change the server's answers?")
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

// List returns the objects directly in a folder, by name.
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
		seen := map[string]bool{}
		limit, _ := budget.Of(0)
		for o := range s.core.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix}) {
			if o.Err != nil {
				return o.Err
			}
			if seen[o.Key] {
				return fmt.Errorf("the server lists %.200s a second time", o.Key)
			}
			seen[o.Key] = true
			if err := limit.Item("the list has"); err != nil {
				return err
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

// Read returns a whole object of at most limit bytes. An object that records its SHA-256 must have it.
func (s *Store) Read(ctx context.Context, name string, limit int64) (data []byte, err error) {
	var buf bytes.Buffer
	_, err = s.copy(ctx, name, &buf, limit)
	return buf.Bytes(), err
}

// ChecksumError reports an object whose bytes are not those that its writer sent.
type ChecksumError struct {
	URL      string // of the object
	SHA256   string // of its bytes
	Recorded string // by its writer
}

// Error states both hashes.
func (e *ChecksumError) Error() string {
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

// Download writes a whole object to w, past the cache, and returns its size. If the connection breaks, it goes on
// where it was.
func (s *Store) Download(ctx context.Context, name string, w io.Writer) (int64, error) {
	return s.copy(ctx, name, w, -1)
}

// copy writes a whole object to w and returns its size; a limit below 0 is none.
func (s *Store) copy(ctx context.Context, name string, w io.Writer, limit int64) (int64, error) {
	sum, hash := "", sha256.New()
	r := span{end: -1, opened: func(info Info) error {
		if sum = info.SHA256; limit >= 0 && info.Size > limit {
			return &TooLargeError{s.URL(name), info.Size, limit}
		}
		return nil
	}}
	if err := s.stream(ctx, name, &r, local{w, hash}); err != nil {
		return r.at, err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); sum != "" && got != sum {
		return r.at, &ChecksumError{s.URL(name), got, sum}
	}
	return r.at, nil
}

// span is what remains to be read of an object.
type span struct {
	at, end int64            // bytes; an end of -1 is that of the object
	etag    string           // of the version; "": the one that the first answer has
	opened  func(Info) error // is told of the first answer, of an object whose etag and end are not known; else nil

	answered func(Info) // may be nil: is told of every answer
}

// stream writes a part of an object to w. If the connection breaks, it goes on where it was. All bytes are of one
// version of the object.
func (s *Store) stream(ctx context.Context, name string, r *span, w io.Writer) error {
	for range 1000 {
		before := r.at
		err := s.do(ctx, "read", name, func(ctx context.Context) error {
			var o minio.GetObjectOptions
			if r.etag != "" {
				if err := o.SetMatchETag(r.etag); err != nil {
					return err
				}
			}
			if r.at > 0 || r.end > 0 {
				if err := o.SetRange(r.at, max(r.end-1, 0)); err != nil {
					return err
				}
			}
			body, info, head, err := s.core.GetObject(ctx, s.bucket, s.key(name), o)
			if err != nil {
				return err
			}
			defer body.Close()
			if err := checkRange(head, r.at); err != nil {
				return err
			}
			if r.answered != nil {
				r.answered(s.info(info))
			}
			if r.opened != nil {
				if info.Size, err = s.length(ctx, name, info); err != nil {
					return err
				}
				r.etag, r.end = info.ETag, info.Size
				if err := r.opened(s.info(info)); err != nil {
					return &LocalError{err}
				}
				r.opened = nil
			}
			n, err := io.Copy(w, &watch{io.LimitReader(body, r.end-r.at), body})
			if r.at += n; err == nil && r.at < r.end {
				err = errShort
			}
			if r.at > before && err != nil && passes(err) {
				return errProgress // which is no failed try
			}
			return err
		})
		if !errors.Is(err, errProgress) {
			return err
		}
	}
	return &Error{Op: "read", URL: s.URL(name), Kind: Temporary, Signed: s.signed(),
		What: "the connection breaks again and again"}
}

// checkRange reports an answer that does not begin at a byte: some servers ignore the range that was asked for.
func checkRange(head http.Header, at int64) error {
	if got := head.Get("Content-Range"); at > 0 && !strings.HasPrefix(got, fmt.Sprintf("bytes %d-", at)) {
		return fmt.Errorf("the server was asked for the bytes from %d on, and answers %.80q", at, got)
	}
	return nil
}

// errProgress says that a connection broke after some bytes. It is a LocalError, so that do returns it.
var errProgress = &LocalError{errors.New("broken after some bytes")}

// local writes to a file of this machine and to a hash. It marks the file's errors as this machine's.
type local struct{ to, hash io.Writer }

func (l local) Write(p []byte) (int, error) {
	n, err := l.to.Write(p)
	l.hash.Write(p[:n])
	if err != nil {
		err = &LocalError{err}
	}
	return n, err
}

// stalledAfter is how long an answer may pause.
const stalledAfter = time.Minute

// watch reads r, whose body is closed if nothing comes for long.
type watch struct {
	r    io.Reader
	body io.Closer
}

func (w *watch) Read(p []byte) (int, error) {
	timer := time.AfterFunc(stalledAfter, func() { w.body.Close() })
	n, err := w.r.Read(p)
	if late := !timer.Stop(); late && err != nil && err != io.EOF {
		err = errStalled
	}
	return n, err
}

// Write writes an object, which appears whole.
func (s *Store) Write(ctx context.Context, name string, data []byte) error {
	return s.put(ctx, name, data, false)
}

// WriteNew writes an object that must not exist. If it does, the error is fs.ErrExist. Where the server supports no
// conditions, two writers at the same moment may both succeed.
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

// Move gives an object another name. It has both names for a moment.
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

// removedAtOnce is the number of objects that one request may remove.
const removedAtOnce = 1000

// Remove removes objects, of which some may not exist: the first before all others, and these by requests for many.
// What such a request leaves is removed one by one, since not every store understands it.
func (s *Store) Remove(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	if err := s.removeOne(ctx, names[0]); err != nil {
		return err
	}
	for batch := range slices.Chunk(names[1:], removedAtOnce) {
		left := batch
		if len(batch) > 1 && !s3utils.IsGoogleEndpoint(*s.core.EndpointURL()) {
			var err error
			left, err = s.removeMany(ctx, batch)
			if e := (*Error)(nil); ctx.Err() != nil || errors.As(err, &e) && e.Kind == Temporary {
				return err
			}
		}
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(16)
		for _, name := range left {
			g.Go(func() error {
				defer crash.Guard()
				return s.removeOne(ctx, name)
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) removeOne(ctx context.Context, name string) error {
	err := s.do(ctx, "remove", name, func(ctx context.Context) error {
		return s.core.RemoveObject(ctx, s.bucket, s.key(name), minio.RemoveObjectOptions{})
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeMany removes objects by one request. It returns those of which the server does not say that they are removed.
func (s *Store) removeMany(ctx context.Context, names []string) (left []string, err error) {
	left = names
	err = s.do(ctx, "remove", names[0], func(ctx context.Context) (err error) {
		wanted := make(chan minio.ObjectInfo, len(left))
		for _, name := range left {
			wanted <- minio.ObjectInfo{Key: s.key(name)}
		}
		close(wanted)
		gone := map[string]bool{}
		for r := range s.core.RemoveObjectsWithResult(ctx, s.bucket, wanted, minio.RemoveObjectsOptions{}) {
			gone[r.ObjectName] = r.Err == nil
			err = cmp.Or(err, r.Err)
		}
		left = slices.DeleteFunc(slices.Clone(left), func(name string) bool { return gone[s.key(name)] })
		return err
	})
	return left, err
}
