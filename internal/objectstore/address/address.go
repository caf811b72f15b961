// Package address knows the addresses of places in an object store, s3://bucket/prefix, and nothing of their contents.
package address

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Scheme begins the addresses: s3://bucket/prefix.
const Scheme = "s3://"

// Is reports whether path is an address of an object store.
func Is(path string) bool {
	return len(path) >= len(Scheme) && strings.EqualFold(path[:len(Scheme)], Scheme)
}

// Error reports an address that names no place in a bucket.
type Error struct {
	Address string // without what may be a password
	What    string // what is wrong with it
}

// Error names the address and what is expected.
func (e *Error) Error() string {
	return fmt.Sprintf("%s %s; want s3://bucket/prefix", e.Address, e.What)
}

// bucketName matches the names of buckets: 3 to 63 small letters, digits, dots and hyphens; old ones have more.
var bucketName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$`)

// Check returns a [*Error] for an address that names no place in a bucket.
func Check(address string) error {
	_, _, err := Split(address)
	return err
}

// Split returns the bucket and the prefix, which has no slash at either end.
func Split(address string) (bucket, prefix string, err error) {
	if !Is(address) {
		return "", "", &Error{address, "is no address of an object store"}
	}
	bucket, prefix, _ = strings.Cut(address[len(Scheme):], "/")
	if at := strings.LastIndexByte(bucket, '@'); at >= 0 {
		return "", "", &Error{Scheme + "…@" + bucket[at+1:],
			"has a name or password; the credentials are found as the AWS tools find them"}
	}
	if !bucketName.MatchString(bucket) {
		return "", "", &Error{address, fmt.Sprintf("has the bucket %.80q, which no bucket is called", bucket)}
	}
	prefix = strings.Trim(prefix, "/")
	if prefix == "" {
		return "", "", &Error{address, "names a whole bucket"}
	}
	if path.Clean(prefix) != prefix || strings.HasPrefix(prefix, "../") || prefix == ".." {
		return "", "", &Error{address, "has an empty part, or a part . or .. of the prefix"}
	}
	return bucket, prefix, nil
}

// Join returns the address of a name below an address.
func Join(address, name string) string { return strings.TrimRight(address, "/") + "/" + name }

// Base returns the last part of an address.
func Base(address string) string { return path.Base(strings.TrimRight(address, "/")) }
