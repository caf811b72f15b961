package regular

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	store "hgld/internal/objectstore/address"
)

// AddressError is the error for an address, such as https://host/file, in place of a path. The system would take
// it for a path below a folder called "https:".
type AddressError struct{ Path string }

// Error states the address, without a password.
func (e *AddressError) Error() string {
	return fmt.Sprintf("%s is an address; want a path of this machine", store.WithoutSecret(e.Path))
}

// Unwrap returns fs.ErrInvalid.
func (e *AddressError) Unwrap() error { return fs.ErrInvalid }

// Local returns the path that an address of the form file:///path names, or "".
func (e *AddressError) Local() string {
	if rest, ok := strings.CutPrefix(e.Path, "file://"); ok && strings.HasPrefix(rest, "/") {
		return rest
	}
	return ""
}

// address matches a scheme, as in RFC 3986. One letter is a drive of Windows.
var address = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+://`)

// CheckPath returns an [*AddressError] for an address.
func CheckPath(path string) error {
	if address.MatchString(filepath.ToSlash(path)) {
		return &AddressError{path}
	}
	return nil
}
