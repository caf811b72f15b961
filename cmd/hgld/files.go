package main

import (
	"fmt"

	"hgld/internal/download"
	"hgld/internal/filelock"
	"hgld/internal/objectstore"
	"hgld/internal/objectstore/address"
	"hgld/internal/regular"
)

// filesAdvice has the exit codes and next steps for errors of files, downloads and object stores, which every command
// can meet.
var filesAdvice = []advice{
	kind(exitLocked, func(*filelock.LockedError) string { return "end that process, or wait for it" }),
	kind(exitFailed, func(*download.AnswerError) string {
		return "open the address in a browser: it may have moved, or need a login"
	}),
	kind(exitTemporary, func(e *download.TemporaryError) string {
		return fmt.Sprintf("run the same command again: it continues after %d bytes", e.Bytes)
	}),
	kind(exitUsage, addressHint),
	kind[*address.Error](exitUsage, nil),
	objectStoreAdvice,
	kind(exitIntegrity, func(*objectstore.ChecksumError) string {
		return "another program has changed it, or the store has damaged it: `hgld shards check` shows the extent"
	}),
}

// addressHint is the hint for an address in place of a path.
func addressHint(e *regular.AddressError) string {
	if path := e.Local(); path != "" {
		return "leave out file://: " + word(path)
	}
	mount := "copy what it is to read, or mount the storage as a folder (rclone mount, s3fs, gcsfuse), and name that"
	if address.Is(e.Path) {
		return address.Scheme + " is a place for shards (shards.out, train.data, eval.data) and for checkpoints " +
			"(train.store) alone; " + mount
	}
	return "hgld reads and writes files of this machine, and shards at " + address.Scheme + ": " + mount
}

// objectStoreAdvice is the row of the errors of object stores.
func objectStoreAdvice(err error) (code int, hint string, ok bool) {
	e, ok := err.(*objectstore.Error)
	if !ok {
		return 0, "", false
	}
	switch e.Kind {
	case objectstore.Temporary:
		return exitTemporary, "run the same command again: it continues; AWS_MAX_ATTEMPTS sets the number of tries", true
	case objectstore.Changed:
		return exitTemporary, "run the same command again: it reads what is there now", true
	case objectstore.NoBucket:
		return exitUsage, "make it (aws s3 mb), or check its name, AWS_REGION and AWS_ENDPOINT_URL", true
	case objectstore.Denied:
		if !e.Signed {
			return exitUsage, "no credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
				true
		}
		return exitUsage, "check the credentials and what they allow: " + objectstore.Rights, true
	}
	return exitFailed, "", true
}
