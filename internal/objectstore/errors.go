package objectstore

import (
	"context"
	"crypto/x509"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"
)

// Kind classifies an error by how a caller can respond.
type Kind int

// Rights names what the credentials must allow.
const Rights = "reading needs s3:GetObject and s3:ListBucket, writing also s3:PutObject, s3:DeleteObject and " +
	"s3:AbortMultipartUpload"

// The kinds of errors.
const (
	Temporary Kind = iota // the network or the server failed for the moment, and again at every try
	Denied                // the credentials do not allow it, or there are none
	NoBucket              // there is no such bucket
	Changed               // the object was replaced while it was read
	Refused               // the server does not accept the request
)

// Error is an error of a store. An object that does not exist is fs.ErrNotExist instead, and one that exists against a
// condition fs.ErrExist. No part of an Error holds credentials.
type Error struct {
	Op     string // "read", "write", "list" …
	URL    string // of the object, or of the prefix
	Kind   Kind   // what it means
	Tries  int    // how often it was tried
	Signed bool   // credentials were found
	What   string // what the server or the network says
}

// Error names the address, what was done, and what the server says.
func (e *Error) Error() string {
	after := ""
	if e.Tries > 1 {
		after = fmt.Sprintf(" (%d tries)", e.Tries)
	}
	return fmt.Sprintf("%s: cannot %s it: %s%s", e.URL, e.Op, e.What, after)
}

// asResponse returns the server's answer in an error.
func asResponse(err error) (minio.ErrorResponse, bool) {
	var value minio.ErrorResponse
	var pointer *minio.ErrorResponse
	switch {
	case errors.As(err, &value):
		return value, true
	case errors.As(err, &pointer):
		return *pointer, true
	}
	return value, false
}

// passes reports whether an error may pass, so that the request is to be repeated.
func passes(err error) bool {
	if answer, ok := asResponse(err); ok {
		switch answer.Code {
		case "SlowDown", "SlowDownRead", "SlowDownWrite", "RequestTimeout", "InternalError", "ServiceUnavailable",
			"Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequests", "BadDigest",
			"IncompleteBody", "XMinioServerNotInitialized", "OperationAborted":
			return true
		case "NotImplemented":
			return false
		}
		return answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests ||
			answer.StatusCode == http.StatusRequestTimeout
	}
	var name *net.DNSError
	switch {
	case errors.As(err, new(*x509.UnknownAuthorityError)), errors.As(err, new(x509.UnknownAuthorityError)),
		errors.As(err, new(x509.HostnameError)), errors.As(err, new(x509.CertificateInvalidError)):
		return false
	case errors.As(err, &name):
		return !name.IsNotFound
	case errors.As(err, new(*LocalError)), errors.Is(err, context.Canceled):
		return false
	}
	return errors.As(err, new(*url.Error)) || errors.As(err, new(net.Error)) || errors.As(err, new(*xml.SyntaxError)) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, errShort) ||
		errors.Is(err, errStalled)
}

var (
	errShort   = errors.New("the answer ended early")
	errStalled = errors.New("the server sent nothing for a minute")
)

// LocalError is an error of this machine in reading an object, such as that of a full disk: neither the store nor the
// object is at fault.
type LocalError struct{ Err error }

// Error returns the text of the fault.
func (e *LocalError) Error() string { return e.Err.Error() }

// Unwrap returns the fault.
func (e *LocalError) Unwrap() error { return e.Err }

// explain turns the last error of a request into the package's own.
func (s *Store) explain(op, name string, tries int, err error) error {
	if errors.As(err, new(*LocalError)) || errors.Is(err, context.Canceled) {
		return err
	}
	e := &Error{Op: op, URL: s.URL(name), Kind: Refused, Tries: tries, Signed: s.signed()}
	answer, ok := asResponse(err)
	if !ok {
		if e.What = s.scrub(short(err)); passes(err) || errors.As(err, new(*net.DNSError)) {
			e.Kind = Temporary
		}
		return e
	}
	switch {
	case answer.Code == "NoSuchBucket":
		e.Kind, e.What = NoBucket, "there is no such bucket"
		return e
	case answer.Code == "NoSuchKey" || answer.StatusCode == http.StatusNotFound && answer.Code != "NoSuchUpload":
		return &fs.PathError{Op: op, Path: e.URL, Err: fs.ErrNotExist}
	case answer.StatusCode == http.StatusPreconditionFailed || answer.Code == "ConditionalRequestConflict":
		if op == "read" {
			e.Kind, e.What = Changed, "it was replaced while it was read"
			return e
		}
		return &fs.PathError{Op: op, Path: e.URL, Err: fs.ErrExist}
	case passes(err):
		e.Kind = Temporary
	case answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusUnauthorized ||
		answer.Code == "InvalidAccessKeyId" || answer.Code == "ExpiredToken" || answer.Code == "InvalidToken":
		e.Kind = Denied
	}
	e.What = s.scrub(strings.TrimSpace(fmt.Sprintf("the server answers %d %s: %.200s", answer.StatusCode, answer.Code,
		answer.Message)))
	return e
}

// short is an error without the address of the request, which its user did not type.
func short(err error) string {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	if err == io.EOF || strings.HasPrefix(err.Error(), "Connection closed by foreign host") {
		return "the server closed the connection"
	}
	return err.Error()
}

// scrub removes credentials from a text of the server.
func (s *Store) scrub(text string) string {
	value, _ := s.config.creds.GetWithContext(nil)
	for _, secret := range []string{value.SessionToken, value.SecretAccessKey, value.AccessKeyID} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return text
}

func (s *Store) signed() bool {
	value, _ := s.config.creds.GetWithContext(nil)
	return value.AccessKeyID != ""
}
