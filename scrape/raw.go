package scrape

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"hgld/internal/atomicfile"
)

// rawStore keeps bodies by their content: equal bodies are one file, and a file
// that does not match its name is damaged.
type rawStore struct{ dir string }

// maxRaw bounds what a damaged or foreign file can make us decompress.
const maxRaw = 64 << 20

func (s rawStore) path(sum string) string { return filepath.Join(s.dir, sum[:2], sum+".gz") }

// put writes body, unless it is there and whole, and returns its sha256. It is on
// disk when put returns.
func (s rawStore) put(body []byte) (string, error) {
	hash := sha256.Sum256(body)
	sum := hex.EncodeToString(hash[:])
	path := s.path(sum)
	if _, err := os.Stat(path); err == nil {
		if _, err := s.get(sum); err == nil {
			return sum, nil
		}
	}
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	} else if err == nil {
		if err := atomicfile.SyncDir(s.dir); err != nil {
			return "", err
		}
	}
	return sum, atomicfile.Write(path, func(w io.Writer) error {
		z := gzip.NewWriter(w)
		if _, err := z.Write(body); err != nil {
			return err
		}
		return z.Close()
	})
}

// get returns the body with the given sha256. An error means that it is missing
// or not what was kept.
func (s rawStore) get(sum string) ([]byte, error) {
	if len(sum) != 2*sha256.Size {
		return nil, fmt.Errorf("%q is no sha256", sum)
	}
	body, err := gunzip(s.path(sum))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.path(sum), err)
	}
	if hash := sha256.Sum256(body); hex.EncodeToString(hash[:]) != sum {
		return nil, fmt.Errorf("%s: the content does not match the name", s.path(sum))
	}
	return body, nil
}

func gunzip(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
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

// sweep removes what a killed process left half-written.
func (s rawStore) sweep() error {
	return atomicfile.Sweep(s.dir, "*/.*.tmp-*")
}
