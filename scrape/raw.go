package scrape

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"hgld/internal/atomicfile"
	"hgld/internal/filehash"
	"hgld/internal/regular"
)

// rawStore stores bodies under the hash of their content. Equal bodies share one file, and
// a file that does not match its name is damaged.
type rawStore struct{ dir string }

// maxRaw limits what is decompressed of a damaged or foreign file, in bytes.
const maxRaw = 64 << 20

// compressors are gzip writers to use again.
var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func (s rawStore) path(sum string) string { return filepath.Join(s.dir, sum[:2], sum+".gz") }

// put stores body unless an intact copy exists, and returns its sha256. The body is on disk
// when put returns.
func (s rawStore) put(body []byte) (string, error) {
	sum := filehash.Text(body)
	path := s.path(sum)
	if _, err := os.Stat(path); err == nil {
		if _, err := s.get(sum); err == nil {
			return sum, nil
		}
	}
	if err := atomicfile.Mkdir(filepath.Dir(path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return sum, atomicfile.Write(path, func(w io.Writer) error {
		z := compressors.Get().(*gzip.Writer) // a new one takes 800 KiB
		defer compressors.Put(z)
		z.Reset(w)
		if _, err := z.Write(body); err != nil {
			return err
		}
		return z.Close()
	})
}

// errNotKept means that a file was read and does not match its hash.
var errNotKept = errors.New("the content does not match the name")

// get returns the body with the given sha256. An error that wraps errNotKept means that the
// file was read and is damaged. Any other error comes from reading; the file may be
// readable the next time.
func (s rawStore) get(sum string) ([]byte, error) {
	if len(sum) != 2*sha256.Size {
		return nil, fmt.Errorf("%w: %.80q is not a sha256", errNotKept, sum)
	}
	path := s.path(sum)
	data, err := readWhole(path)
	if err != nil {
		return nil, err
	}
	body, err := gunzip(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, errNotKept, err)
	}
	if filehash.Text(body) != sum {
		return nil, fmt.Errorf("%s: %w", path, errNotKept)
	}
	return body, nil
}

// readWhole reads a stored file.
func readWhole(path string) ([]byte, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxRaw))
}

func gunzip(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(z, maxRaw+1))
	if err == nil && len(body) > maxRaw {
		err = fmt.Errorf("more than %d bytes", maxRaw)
	}
	return body, err
}

// sweep removes the temporary files of killed processes.
func (s rawStore) sweep() error { return atomicfile.Sweep(s.dir, "*/.*.tmp-*") }
