// Package objectstore reads and writes objects of Amazon S3 and of servers that speak its protocol (MinIO, Ceph,
// Google Cloud Storage, Cloudflare R2 and others). An object appears at once and whole, so nothing half-written is ever
// seen. Requests that fail for the moment are repeated; large objects are sent by parts, and an upload that was
// interrupted continues. Ranges are read through a cache on disk.
//
// Endpoint, region and credentials are found as the AWS tools find them: see [Open].
package objectstore

import (
	"net/url"
	"strings"
)

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
