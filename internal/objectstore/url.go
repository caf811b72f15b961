// Package objectstore reads and writes objects of Amazon S3 and of servers that speak its protocol (MinIO, Ceph,
// Google Cloud Storage, Cloudflare R2 and others). An object appears at once and whole, so nothing half-written is ever
// seen. Requests that fail for the moment are repeated; large objects are sent by parts, and an upload that was
// interrupted continues. Ranges are read through a cache on disk.
//
// Endpoint, region and credentials are found as the AWS tools find them: see [Open].
package objectstore

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// Scheme begins the addresses of this package: s3://bucket/prefix.
const Scheme = "s3://"

// IsURL reports whether path is an address of an object store.
func IsURL(path string) bool {
	return len(path) >= len(Scheme) && strings.EqualFold(path[:len(Scheme)], Scheme)
}

// URLError reports an address that names no place in a bucket.
type URLError struct {
	URL  string // without what may be a password
	What string // what is wrong with it
}

// Error names the address and what is expected.
func (e *URLError) Error() string {
	return fmt.Sprintf("%s %s; want s3://bucket/prefix", e.URL, e.What)
}

// bucketName matches the names of buckets: 3 to 63 small letters, digits, dots and hyphens; old ones have more.
var bucketName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$`)

// Check returns a [*URLError] for an address that names no place in a bucket.
func Check(address string) error {
	_, _, err := split(address)
	return err
}

// split returns the bucket and the prefix, which has no slash at either end.
func split(address string) (bucket, prefix string, err error) {
	if !IsURL(address) {
		return "", "", &URLError{address, "is no address of an object store"}
	}
	bucket, prefix, _ = strings.Cut(address[len(Scheme):], "/")
	if at := strings.LastIndexByte(bucket, '@'); at >= 0 {
		return "", "", &URLError{Scheme + "…@" + bucket[at+1:],
			"has a name or password; the credentials are found as the AWS tools find them"}
	}
	if !bucketName.MatchString(bucket) {
		return "", "", &URLError{address, fmt.Sprintf("has the bucket %.80q, which no bucket is called", bucket)}
	}
	prefix = strings.Trim(prefix, "/")
	if prefix == "" {
		return "", "", &URLError{address, "names a whole bucket"}
	}
	if path.Clean(prefix) != prefix || strings.HasPrefix(prefix, "../") || prefix == ".." {
		return "", "", &URLError{address, "has an empty part, or a part . or .. of the prefix"}
	}
	return bucket, prefix, nil
}

// Join returns the address of a name below an address.
func Join(address, name string) string { return strings.TrimRight(address, "/") + "/" + name }

// Base returns the last part of an address.
func Base(address string) string { return path.Base(strings.TrimRight(address, "/")) }

// endpointOf splits the address of a server.
func endpointOf(text, from string) (host string, secure bool, err error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", false, &ConfigError{from, "is no address of a server; want https://host or http://host:port"}
	case u.User != nil:
		return "", false, &ConfigError{from, "has a name or password; give the credentials in AWS_ACCESS_KEY_ID and " +
			"AWS_SECRET_ACCESS_KEY, or in a profile"}
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "":
		return "", false, &ConfigError{from, "has a path; want https://host or http://host:port"}
	}
	return u.Host, u.Scheme == "https", nil
}
