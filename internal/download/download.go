// Package download fetches a file over HTTP. An interrupted transfer resumes where it stopped.
//
// The bytes are in a partial file. Beside it, NAME.json records the address, how many bytes are
// certainly on disk, and the validator of RFC 9110 (ETag or Last-Modified) that identifies the
// server's version of the file. The rest is requested with Range and If-Range, so that a server
// whose file has changed sends the new one completely.
//
// An address may hold secrets: a password, a signature. No file and no error contains them; see
// [Public].
package download

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"hgld/internal/atomicfile"
	"hgld/internal/filelock"
	"hgld/internal/regular"
	"hgld/internal/retry"
)

// Limits of one transfer.
const (
	attempts  = 4                // in a row without a new byte
	stall     = time.Minute      // without a byte
	syncBytes = 16 << 20         // between two records of what is on disk
	redirects = 10               // from one address to the next
	firstWait = time.Second      // before another attempt; doubles until a byte arrives
	connect   = 30 * time.Second // until the headers of an answer
	unsized   = 16 << 30         // bytes of a file whose size the server does not say
)

// Request says what to fetch, and where to store it.
type Request struct {
	// URL is the address, http or https.
	URL string

	// Part is the partial file. It is complete when Fetch returns without an error.
	Part string

	// Progress, if set, is called with the bytes so far and the size of the file, or 0 if the
	// server does not report it.
	Progress func(done, total int64)

	// Sleep waits between two attempts until the time has passed or ctx ends. nil means that of the
	// system's clock.
	Sleep func(ctx context.Context, d time.Duration) error

	// Sum, if set, has hashed the file when Fetch returns without an error. What an earlier transfer left is
	// read once; the rest is hashed as it arrives.
	Sum hash.Hash

	// Accept, if set, is called with the size of the file before bytes of an answer are written. Where the server does
	// not say it, stated is false, and Accept is called with the bytes that there will be before each write. An error
	// ends the transfer.
	Accept func(total int64, stated bool) error

	// Unsized is the largest file, in bytes, that is taken from a server that does not say its size.
	// 0 means 16 GiB.
	Unsized int64
}

// Result describes a completed transfer.
type Result struct {
	// Bytes is the size of the file.
	Bytes int64

	// Kept counts the bytes of earlier transfers that were not fetched again.
	Kept int64

	// Changed is set if the server's file was no longer the one of an earlier transfer.
	Changed bool

	// Whole is set if the server did not support ranges and sent the file from the start.
	Whole bool
}

// TemporaryError reports that a transfer may succeed if it is tried again.
type TemporaryError struct {
	// Bytes is the number of bytes on disk, which will not be fetched again.
	Bytes int64

	// Err is the cause.
	Err error
}

// Error returns the cause.
func (e *TemporaryError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *TemporaryError) Unwrap() error { return e.Err }

// AnswerError reports an answer of a server that breaks the rules of HTTP or leads elsewhere. To try
// again does not help.
type AnswerError struct {
	// URL is the public part of the address.
	URL string

	// Reason says what is wrong.
	Reason string
}

// Error names the address and the reason.
func (e *AnswerError) Error() string { return e.URL + ": " + e.Reason }

// StatusError reports an answer whose status is not that of a file.
type StatusError struct {
	// URL is the public part of the address, after redirects.
	URL string

	// Status is the code.
	Status int
}

// Error names the address and the status.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: the server answers %d %s", e.URL, e.Status, http.StatusText(e.Status))
}

// state is the content of NAME.json.
type state struct {
	URL       string `json:"url"`       // its public part
	Validator string `json:"validator"` // for If-Range; "": the server gave none
	Done      int64  `json:"done"`      // bytes on disk
	Total     int64  `json:"total"`     // 0: unknown
}

// transfer is a running Fetch.
type transfer struct {
	Request
	public string // the address without secrets
	whole  bool   // public is the whole address
	client *http.Client
	file   *os.File
	state  state
	result Result

	refused error // of Accept
}

// StatePath returns the path of the record beside a partial file.
func StatePath(part string) string { return part + ".json" }

// Size returns the size that a partial file will have, 0 if its record does not say it.
func Size(part string) int64 {
	var s state
	data, err := regular.ReadFile(StatePath(part))
	if err != nil || json.Unmarshal(data, &s) != nil {
		return 0
	}
	return s.Total
}

// Remove removes a partial file and its record.
func Remove(part string) error {
	for _, path := range []string{StatePath(part), part} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Fetch fetches a file, or the rest of it. It retries interrupted transfers a few times. Then it
// returns a *TemporaryError, or a *StatusError if the server did not send a file. Only one process
// can write a partial file; another gets a *filelock.LockedError.
func Fetch(ctx context.Context, r Request) (Result, error) {
	if err := checkURL(r.URL); err != nil {
		return Result{}, err
	}
	for _, path := range []string{r.Part, StatePath(r.Part)} {
		if err := checkOwn(path); err != nil {
			return Result{}, err
		}
	}
	f, err := os.OpenFile(r.Part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return Result{}, err
	}
	defer f.Close()
	if err := filelock.Take(f); err != nil {
		return Result{}, err
	}
	defer filelock.Release(f)
	t := &transfer{Request: r, file: f, client: newClient()}
	t.public, t.whole = Public(r.URL)
	if t.Unsized == 0 {
		t.Unsized = unsized
	}
	defer t.client.CloseIdleConnections()
	if err := t.begin(); err != nil {
		return Result{}, err
	}
	if err := t.fetchAll(ctx); err != nil {
		return t.result, err
	}
	t.result.Bytes = t.state.Done
	return t.result, nil
}

// checkOwn returns an error for a link, a pipe or a device in the place of a file of Fetch: writing through it would
// change what is elsewhere.
func checkOwn(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		return &regular.Error{Path: path, What: "a link"}
	case err == nil:
		err = regular.Check(path, info)
	}
	return err
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || !fetchable(u) {
		public, _ := Public(text)
		return fmt.Errorf("%.200q is not an address; want http://… or https://…", public)
	}
	return nil
}

func fetchable(u *url.URL) bool { return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" }

// newClient follows redirects, but not from https to http, and not out of HTTP.
func newClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = connect
	return &http.Client{Transport: transport, CheckRedirect: checkRedirect}
}

func checkRedirect(r *http.Request, via []*http.Request) error {
	r.Header.Del("Referer") // it would tell the next server the query of this address
	from, _ := Public(via[0].URL.String())
	to, _ := Public(r.URL.String())
	switch {
	case len(via) >= redirects:
		return &AnswerError{from, fmt.Sprintf("more than %d redirects, the last to %.200s", redirects, to)}
	case !fetchable(r.URL):
		return &AnswerError{from, fmt.Sprintf("a redirect to %.200s; want http://… or https://…", to)}
	case via[len(via)-1].URL.Scheme == "https" && r.URL.Scheme != "https":
		return &AnswerError{from, fmt.Sprintf("a redirect from https to %.200s, which is not encrypted", to)}
	}
	return nil
}

// begin reads the record of an earlier transfer, and truncates the partial file to the bytes that
// the record guarantees.
func (t *transfer) begin() error {
	data, err := regular.ReadFile(StatePath(t.Part))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	info, err := t.file.Stat()
	if err != nil {
		return err
	}
	// A record that cannot be read, or that has another address, guarantees nothing. Where a part of
	// the address is not recorded, only an ETag tells its file from another.
	if json.Unmarshal(data, &t.state) != nil || t.state.URL != t.public || t.state.Validator == "" ||
		!t.whole && !strings.HasPrefix(t.state.Validator, `"`) || t.state.Done < 0 || t.state.Done > info.Size() {
		t.state = state{URL: t.public}
	}
	t.result.Kept = t.state.Done
	if err := t.file.Truncate(t.state.Done); err != nil || t.Sum == nil {
		return err
	}
	t.Sum.Reset()
	_, err = io.Copy(t.Sum, io.NewSectionReader(t.file, 0, t.state.Done))
	return err
}

// fetchAll repeats parts until the file is complete.
func (t *transfer) fetchAll(ctx context.Context) error {
	most := t.state.Done // a file that begins anew brings no new byte before it has more than that
	rule := retry.Rule{Tries: attempts, First: firstWait, Sleep: t.Sleep}
	return rule.Do(ctx, func(time.Duration) (next retry.Next, err error) {
		if err = t.fetchPart(ctx); err == nil || ctx.Err() != nil {
			return next, errors.Join(err, ctx.Err())
		}
		next = retry.Next{Again: errors.As(err, new(*TemporaryError)), Fresh: t.state.Done > most}
		most = max(most, t.state.Done)
		return next, err
	})
}

func (t *transfer) temporary(err error) error { return &TemporaryError{t.state.Done, err} }

// fetchPart requests the missing bytes and writes them.
func (t *transfer) fetchPart(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "hgld")
	if t.state.Done > 0 && t.state.Validator != "" {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", t.state.Done))
		req.Header.Set("If-Range", t.state.Validator)
	}
	resp, err := t.client.Do(req)
	if err != nil {
		return t.unanswered(err)
	}
	defer resp.Body.Close()
	complete, upto, err := t.accept(resp)
	if complete || err != nil {
		return err
	}
	if err := t.acceptSize(t.state.Total); err != nil {
		return err
	}
	watch := time.AfterFunc(stall, func() { cancel(fmt.Errorf("no byte in %v", stall)) })
	defer watch.Stop()
	err = t.copy(resp.Body, upto, watch)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if errors.As(err, new(*AnswerError)) {
		return errors.Join(err, t.restart("", 0, true)) // what arrived cannot be trusted
	}
	if saved := t.save(); saved != nil {
		return saved
	}
	switch {
	case t.refused != nil:
		return t.refused
	case err != nil:
		return t.failed(err)
	case t.state.Total > 0 && t.state.Done != t.state.Total:
		return t.temporary(fmt.Errorf("%s: the transfer ended after %d of %d bytes", t.public, t.state.Done, t.state.Total))
	}
	return nil
}

// acceptSize calls Accept with the size of the file.
func (t *transfer) acceptSize(total int64) error {
	if t.Accept != nil {
		t.refused = t.Accept(total, t.state.Total > 0)
	}
	return t.refused
}

// unanswered is the error of a request without an answer. A *url.Error would quote the address.
func (t *transfer) unanswered(err error) error {
	var wrong *AnswerError
	if errors.As(err, &wrong) {
		return wrong
	}
	var whole *url.Error
	if errors.As(err, &whole) {
		err = whole.Err
	}
	if strings.Contains(err.Error(), "Location header") { // it would quote the header
		return &AnswerError{t.public, "a redirect to no address"}
	}
	return t.temporary(fmt.Errorf("%s: %w", t.public, err))
}

// failed distinguishes an error of the disk from one of the network.
func (t *transfer) failed(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return err
	}
	return t.temporary(fmt.Errorf("%s: after %d bytes: %w", t.public, t.state.Done, err))
}

// accept updates the state from the headers of an answer. complete is set if nothing is missing. upto
// is the size that the file must not exceed after the answer.
func (t *transfer) accept(resp *http.Response) (complete bool, upto int64, err error) {
	switch code := resp.StatusCode; {
	case code == http.StatusPartialContent:
		upto, err := t.checkRange(resp)
		return false, upto, err
	case code == http.StatusRequestedRangeNotSatisfiable && t.state.Done > 0:
		if resp.Header.Get("Content-Range") == fmt.Sprintf("bytes */%d", t.state.Done) {
			return true, 0, nil // an earlier transfer was interrupted after its last byte
		}
		return false, 0, t.discard("%s: the file on the server is shorter than the part that was already fetched",
			t.public)
	case code == http.StatusOK:
		if coding := resp.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
			return false, 0, &AnswerError{t.public,
				fmt.Sprintf("the server encodes the file as %.40q; hgld asked for plain bytes", coding)}
		}
		upto := resp.ContentLength
		if upto < 0 {
			upto = t.Unsized
		}
		return false, upto, t.restart(validator(resp.Header), max(resp.ContentLength, 0), false)
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		return false, 0, t.temporary(statusError(resp))
	default:
		return false, 0, statusError(resp)
	}
}

func statusError(resp *http.Response) error {
	public, _ := Public(resp.Request.URL.String())
	return &StatusError{public, resp.StatusCode}
}

// checkRange checks that the server sent the requested part, and returns where the part ends.
func (t *transfer) checkRange(resp *http.Response) (end int64, err error) {
	var from, upto, total int64
	header := resp.Header.Get("Content-Range")
	n, _ := fmt.Sscanf(header, "bytes %d-%d/%d", &from, &upto, &total)
	if n < 2 || from != t.state.Done || n == 3 && t.state.Total > 0 && total != t.state.Total {
		return 0, t.discard("%s: the server sent the part %.60q of a different file", t.public, header)
	}
	if upto < from || n == 3 && upto >= total || resp.ContentLength >= 0 && resp.ContentLength != upto-from+1 {
		return 0, errors.Join(&AnswerError{t.public, fmt.Sprintf("the server sent %d bytes as the part %.60q",
			resp.ContentLength, header)}, t.restart("", 0, true))
	}
	if now := validator(resp.Header); now != "" && now != t.state.Validator {
		return 0, t.discard("%s: the file on the server has changed", t.public)
	}
	t.state.Total = max(t.state.Total, total)
	return upto + 1, nil
}

// discard removes the bytes of a file that the server no longer has, and returns the reason.
func (t *transfer) discard(format string, args ...any) error {
	if err := t.restart("", 0, true); err != nil {
		return err
	}
	return t.temporary(fmt.Errorf(format, args...))
}

// restart starts the file from the beginning.
func (t *transfer) restart(now string, total int64, changed bool) error {
	if t.state.Done > 0 {
		if changed || now != t.state.Validator {
			t.result.Changed = true
		} else {
			t.result.Whole = true
		}
	}
	t.result.Kept = 0
	t.state = state{URL: t.public, Validator: now, Total: total}
	if t.Sum != nil {
		t.Sum.Reset()
	}
	if err := t.file.Truncate(0); err != nil {
		return err
	}
	return t.save()
}

// validator returns what identifies the version of a file on its server: a strong ETag, or the time
// of the last change.
func validator(h http.Header) string {
	if tag := h.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		return tag
	}
	return h.Get("Last-Modified")
}

// copy appends a body to the partial file. A body beyond upto, where the file or its part ends, is an
// *AnswerError.
func (t *transfer) copy(body io.Reader, upto int64, watch *time.Timer) error {
	if _, err := t.file.Seek(t.state.Done, io.SeekStart); err != nil {
		return err
	}
	buf, unsaved := make([]byte, 1<<18), 0
	for {
		n, err := body.Read(buf)
		watch.Reset(stall)
		if t.state.Done+int64(n) > upto {
			return &AnswerError{t.public, fmt.Sprintf("the server sends more than the %d bytes that hgld expects", upto)}
		}
		if t.state.Total == 0 && n > 0 {
			if err := t.acceptSize(t.state.Done + int64(n)); err != nil {
				return err
			}
		}
		if _, err := t.file.Write(buf[:n]); err != nil {
			return err
		}
		if t.Sum != nil {
			t.Sum.Write(buf[:n])
		}
		t.state.Done += int64(n)
		if unsaved += n; unsaved >= syncBytes {
			if err := t.save(); err != nil {
				return err
			}
			unsaved = 0
		}
		if t.Progress != nil && n > 0 {
			t.Progress(t.state.Done, t.state.Total)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// save records how much is on disk.
func (t *transfer) save() error {
	if err := t.file.Sync(); err != nil {
		return err
	}
	data, err := json.Marshal(t.state)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(StatePath(t.Part), append(data, '\n'))
}
