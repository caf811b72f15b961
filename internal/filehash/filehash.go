// Package filehash computes checksums of whole files. It reads them in pieces and
// stops when its context ends, so that a large file never blocks an interrupt.
package filehash

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"sync"

	"hgld/internal/regular"
)

// pieceBytes is the number of bytes read between two checks of the context.
const pieceBytes = 1 << 20

// pieces holds buffers for reuse: to allocate one takes longer than to hash a small file.
var pieces = sync.Pool{New: func() any { buf := make([]byte, pieceBytes); return &buf }}

// SHA256 returns the SHA-256 of a file in hexadecimal, and its size in bytes.
func SHA256(ctx context.Context, path string) (sum string, size int64, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = Copy(ctx, h, f)
	if err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

// Copy writes all of in to h, which is a hash or several of them. It returns the number of bytes.
// It returns the error of ctx as soon as ctx has ended.
func Copy(ctx context.Context, h io.Writer, in io.Reader) (size int64, err error) {
	piece := pieces.Get().(*[]byte)
	defer pieces.Put(piece)
	buf := *piece
	for {
		if err := ctx.Err(); err != nil {
			return size, err
		}
		n, err := in.Read(buf)
		size += int64(n)
		if _, err := h.Write(buf[:n]); err != nil {
			return size, err
		}
		if err == io.EOF {
			return size, nil
		}
		if err != nil {
			return size, err
		}
	}
}

// Text returns the SHA-256 of a text in hexadecimal.
func Text(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
