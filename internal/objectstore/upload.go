package objectstore

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"

	"hgld/internal/crash"
)

const (
	partBytes    = 16 << 20 // of a part; an object has at most mostParts
	mostParts    = 10000
	partsAtOnce  = 4
	uploadsAnew  = 3 // how often an upload is begun that another process ended
	uploadsShown = 1000
)

// Upload writes size bytes of from, which have the given SHA-256, by parts. Parts that an interrupted upload of the
// object has left, and that have the right hash, are not sent again.
func (s *Store) Upload(ctx context.Context, name string, from io.ReaderAt, size int64, sum [sha256.Size]byte) error {
	if size <= s.part {
		data := make([]byte, size)
		if _, err := from.ReadAt(data, 0); err != nil && err != io.EOF {
			return err
		}
		return s.Write(ctx, name, data)
	}
	for try := 1; ; try++ {
		err := s.uploadParts(ctx, name, from, size, sum)
		if !errors.Is(err, errGone) {
			return err
		}
		// Another process that writes the same object has completed the upload, or given it up.
		if there, err := s.Stat(ctx, name); err == nil && there.Size == size && there.SHA256 == hex.EncodeToString(sum[:]) {
			return nil
		}
		if try == uploadsAnew {
			return &Error{Op: "write", URL: s.URL(name), Kind: Temporary, Tries: try, Signed: s.signed(),
				What: "its upload was ended by another process"}
		}
	}
}

// errGone says that there is no such upload, or no longer what was sent of it.
var errGone = errors.New("no such upload")

// gone turns an error about an upload that is no longer there into errGone.
func gone(err error) error {
	if answer, ok := asResponse(err); ok {
		switch answer.Code {
		case "NoSuchUpload", "InvalidPart", "InvalidPartOrder", "EntityTooSmall":
			return &LocalError{errGone}
		}
	}
	return err
}

func (s *Store) uploadParts(ctx context.Context, name string, from io.ReaderAt, size int64,
	sum [sha256.Size]byte) error {
	length := s.part
	for size/length >= mostParts {
		length *= 2
	}
	count := int((size + length - 1) / length)
	id, there, err := s.continueUpload(ctx, name, from, size, length, sum)
	if err != nil {
		return err
	}
	parts := make([]minio.CompletePart, count)
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(partsAtOnce)
	for i := range parts {
		g.Go(func() error {
			defer crash.Guard()
			at := int64(i) * length
			etag, err := s.uploadPart(within, name, id, from, at, min(length, size-at), i+1, there[i+1])
			parts[i] = minio.CompletePart{PartNumber: i + 1, ETag: etag}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	err = s.do(ctx, "write", name, func(ctx context.Context) error {
		_, err := s.core.CompleteMultipartUpload(ctx, s.bucket, s.key(name), id, parts, minio.PutObjectOptions{})
		return gone(err)
	})
	if err != nil {
		if errors.Is(err, errGone) { // the parts are not as the server said, or the upload is another process's
			s.abort(ctx, name, id)
		}
		return err
	}
	info, err := s.Stat(ctx, name)
	if err == nil && (info.Size != size || info.SHA256 != hex.EncodeToString(sum[:])) {
		return errGone // it was the upload of other bytes that begin with the same parts
	}
	return err
}

// uploadPart sends a part, unless the server has it, and returns its ETag.
func (s *Store) uploadPart(ctx context.Context, name, id string, from io.ReaderAt, at, length int64, number int,
	there minio.ObjectPart) (etag string, err error) {
	if there.ETag != "" {
		return there.ETag, nil
	}
	data := make([]byte, length)
	if n, err := from.ReadAt(data, at); n < len(data) {
		return "", err
	}
	sum := sha256.Sum256(data)
	err = s.do(ctx, "write", name, func(ctx context.Context) error {
		p, err := s.core.PutObjectPart(ctx, s.bucket, s.key(name), id, number, bytes.NewReader(data), length,
			minio.PutObjectPartOptions{Md5Base64: md5Of(data),
				Sha256Hex: hex.EncodeToString(sum[:]), DisableContentSha256: true}) // it is signed with its hash
		etag = p.ETag
		return gone(err)
	})
	return etag, err
}

// continueUpload returns the newest unfinished upload of an object whose parts are those of the bytes to send,
// and its parts, or begins one. It gives up all others.
func (s *Store) continueUpload(ctx context.Context, name string, from io.ReaderAt, size, length int64,
	sum [sha256.Size]byte) (id string, there map[int]minio.ObjectPart, err error) {
	uploads, err := s.uploads(ctx, name)
	if err != nil {
		return "", nil, err
	}
	for i := len(uploads) - 1; i >= 0; i-- {
		if uploads[i].Key != s.key(name) {
			continue
		}
		parts, err := s.parts(ctx, name, uploads[i].UploadID)
		if err != nil && !errors.Is(err, errGone) {
			return "", nil, err
		}
		if id != "" || len(parts) == 0 || !same(parts, from, size, length) {
			s.abort(ctx, name, uploads[i].UploadID)
			continue
		}
		id, there = uploads[i].UploadID, map[int]minio.ObjectPart{}
		for _, p := range parts {
			there[p.PartNumber] = p
		}
	}
	if id != "" {
		return id, there, nil
	}
	err = s.do(ctx, "write", name, func(ctx context.Context) error {
		id, err = s.core.NewMultipartUpload(ctx, s.bucket, s.key(name), s.options(name, sum))
		return err
	})
	return id, nil, err
}

// same reports whether parts that a server has are those of the bytes to send, by their MD5. Where the server encrypts
// with keys of its own, its ETags are no MD5, and no upload is continued.
func same(parts []minio.ObjectPart, from io.ReaderAt, size, length int64) bool {
	for _, p := range parts {
		at := int64(p.PartNumber-1) * length
		if p.PartNumber < 1 || at >= size || p.Size != min(length, size-at) {
			return false
		}
		h := md5.New()
		if _, err := io.Copy(h, io.NewSectionReader(from, at, p.Size)); err != nil ||
			strings.Trim(p.ETag, `"`) != hex.EncodeToString(h.Sum(nil)) {
			return false
		}
	}
	return true
}

// uploads lists the unfinished uploads of objects whose names begin so. A server that cannot list them has none to
// continue.
func (s *Store) uploads(ctx context.Context, name string) (list []minio.ObjectMultipartInfo, err error) {
	err = s.do(ctx, "list", name, func(ctx context.Context) error {
		r, err := s.core.ListMultipartUploads(ctx, s.bucket, s.key(name), "", "", "", uploadsShown)
		list = r.Uploads
		if answer, ok := asResponse(err); ok && (answer.Code == "NotImplemented" || answer.Code == "AccessDenied") {
			list, err = nil, nil
		}
		return err
	})
	return list, err
}

func (s *Store) parts(ctx context.Context, name, id string) (list []minio.ObjectPart, err error) {
	for marker := 0; ; {
		var r minio.ListObjectPartsResult
		err = s.do(ctx, "list", name, func(ctx context.Context) error {
			r, err = s.core.ListObjectParts(ctx, s.bucket, s.key(name), id, marker, 1000)
			return gone(err)
		})
		if err != nil {
			return nil, err
		}
		list = append(list, r.ObjectParts...)
		if !r.IsTruncated || r.NextPartNumberMarker <= marker {
			return list, nil
		}
		marker = r.NextPartNumberMarker
	}
}

// abort gives up an upload. It is no error if that fails: the upload only takes room until the bucket's rules end it.
func (s *Store) abort(ctx context.Context, name, id string) {
	_ = s.core.AbortMultipartUpload(ctx, s.bucket, s.key(name), id)
}

// AbortUploads gives up the unfinished uploads of all objects of the store.
func (s *Store) AbortUploads(ctx context.Context) error {
	uploads, err := s.uploads(ctx, "")
	for _, u := range uploads {
		s.abort(ctx, strings.TrimPrefix(u.Key, s.prefix+"/"), u.UploadID)
	}
	return err
}
