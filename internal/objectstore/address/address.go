// Package address reads the addresses of places in an object store, s3://bucket/prefix. It opens nothing. Other code
// takes the scheme from here.
package address

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Scheme begins the addresses, and Form shows one.
const (
	Scheme = "s3://"
	Form   = Scheme + "bucket/prefix"
)

// Is reports whether path is an address of an object store.
func Is(path string) bool {
	return len(path) >= len(Scheme) && strings.EqualFold(path[:len(Scheme)], Scheme)
}

// Error reports an address that names no place in a bucket.
type Error struct {
	Address string // which may hold a password
	What    string // what is wrong with it
}

// Error names the address and what is expected.
func (e *Error) Error() string {
	return fmt.Sprintf("%s %s; want %s", WithoutSecret(e.Address), e.What, Form)
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
		return "", "", &Error{address, "is not the address of an object store"}
	}
	bucket, prefix, _ = strings.Cut(address[len(Scheme):], "/")
	if strings.ContainsAny(bucket, "@:") { // a password may hold a slash, too
		return "", "", &Error{address, "has a name or password; the credentials are found as the AWS tools find them"}
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

// WithoutSecret returns an address of any scheme without what may be a name and a password, whatever characters they
// have: all that stands before the last @, if there is a colon or another @ in the host, or all if the host has a colon
// that no port follows.
func WithoutSecret(address string) string {
	scheme, rest, found := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(rest, '@'); found && at >= 0 && strings.ContainsAny(host, "@:") {
		return scheme + "://…@" + rest[at+1:]
	}
	if port := strings.LastIndexByte(host, ':'); found && port >= 0 && host[0] != '[' &&
		(strings.EqualFold(scheme+"://", Scheme) || strings.Trim(host[port+1:], "0123456789") != "") {
		return scheme + "://…"
	}
	return address
}

// inText matches addresses in a text, without the punctuation behind them.
var inText = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://\S*[^\s"'.,;:)]`)

// Scrub returns a text with [WithoutSecret] of each address in it.
func Scrub(text string) string { return inText.ReplaceAllStringFunc(text, WithoutSecret) }

// Join returns the address of a name below an address.
func Join(address, name string) string { return strings.TrimRight(address, "/") + "/" + name }

// Base returns the last part of an address.
func Base(address string) string { return path.Base(strings.TrimRight(address, "/")) }
