package shards

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"golang.org/x/sync/semaphore"

	"hgld/internal/img"
	"hgld/labels"
)

// preparer turns items into rows: it reads, checks and decodes an image, and shrinks it
// if asked to. It serves several goroutines at once.
type preparer struct {
	settings Settings
	decoder  *img.Decoder
	workers  *semaphore.Weighted // how many images at once
	memory   *semaphore.Weighted // bytes that decoding them may hold together
}

func newPreparer(o Options) *preparer {
	limits := img.Limits{Bytes: MaxImageBytes, Memory: decodeMemory}
	return &preparer{
		settings: o.Settings,
		decoder:  &img.Decoder{Limits: limits},
		workers:  semaphore.NewWeighted(int64(o.Workers)),
		memory:   semaphore.NewWeighted(decodeMemory),
	}
}

// MaxImageBytes is the size of the largest image file that is read.
const MaxImageBytes = 64 << 20

const (
	decodeMemory = 288e6 // shared by all workers; the largest image allowed takes all of it
)

// prepared is the result for one item: a row or a failure.
type prepared struct {
	row     *Row
	failure *Failure
}

// prepare returns a failure for a fault of one image. Its error is a *ReadError, an
// *InputError, or the error of a cancelled context.
func (p *preparer) prepare(ctx context.Context, item *Item, path labels.Path) (prepared, error) {
	row := &Row{ID: item.ID, Path: item.Path, Split: item.Split, Labels: path, Landmark: item.Landmark,
		Attributes: item.Attributes}
	class, err := p.fill(ctx, row, item)
	if ctx.Err() != nil {
		return prepared{}, ctx.Err()
	}
	if errors.As(err, new(*ReadError)) || errors.As(err, new(*InputError)) {
		return prepared{}, err
	}
	if err != nil {
		failure := item.failure(class, err)
		return prepared{failure: &failure}, nil
	}
	return prepared{row: row}, nil
}

func (p *preparer) fill(ctx context.Context, row *Row, item *Item) (FailureClass, error) {
	a := item.Attributes
	if p.settings.Attribution && item.Split == labels.Train && (a.Author == "" || a.License == "") {
		return LicenceFailure, fmt.Errorf("author is %.80q and licence %.80q; training images need both", a.Author, a.License)
	}
	data, class, err := read(item)
	if err != nil {
		return class, err
	}
	if sum := sha256.Sum256(data); item.SHA256 != "" && hex.EncodeToString(sum[:]) != item.SHA256 {
		return HashFailure, fmt.Errorf("sha256 %x, want %s", sum, item.SHA256)
	}
	info, err := p.decoder.Info(data)
	if err != nil {
		return imageClass(err), err
	}
	row.Image, row.W, row.H = data, info.W, info.H
	shrink := p.settings.ShortSide > 0 && min(info.W, info.H) > p.settings.ShortSide
	if shrink || !p.settings.HeadersOnly {
		if err := p.memory.Acquire(ctx, int64(info.Memory)); err != nil {
			return ReadFailure, err
		}
		err := p.decode(row, shrink)
		p.memory.Release(int64(info.Memory))
		if err != nil {
			return imageClass(err), err
		}
	}
	row.SHA256 = sha256.Sum256(row.Image)
	return "", nil
}

// decode checks that all pixels can be read. If the image is to be made smaller, it
// replaces it by a JPEG.
func (p *preparer) decode(row *Row, shrink bool) error {
	m, err := p.decoder.Decode(row.Image)
	if err != nil || !shrink {
		return err
	}
	w, h := img.ShortSide(m.W, m.H, p.settings.ShortSide)
	small := img.Resize(m, w, h, img.Bicubic)
	var out bytes.Buffer
	if err := img.EncodeJPEG(&out, small, p.settings.Quality); err != nil {
		return err
	}
	row.Image, row.W, row.H = out.Bytes(), w, h
	row.Attributes.Modifications = fmt.Sprintf("resized from %d×%d, bicubic, JPEG quality %d", m.W, m.H,
		p.settings.Quality)
	return nil
}

func imageClass(err error) FailureClass {
	if errors.Is(err, img.ErrTooBig) {
		return TooBigFailure
	}
	return DecodeFailure
}

// read reads the bytes of an item. Its messages leave out the folder of the input, so
// that a shard does not depend on where the input lies. A fault of the system is a
// *ReadError, unless it lies in this file and lasts.
func read(item *Item) ([]byte, FailureClass, error) {
	if item.Size > MaxImageBytes {
		return nil, TooBigFailure, fmt.Errorf("%d bytes, limit %d", item.Size, MaxImageBytes)
	}
	r, err := item.Open()
	if err == nil {
		defer r.Close()
		buf := bytes.NewBuffer(make([]byte, 0, item.Size+bytes.MinRead))
		_, err = buf.ReadFrom(io.LimitReader(r, MaxImageBytes+1))
		if err == nil && buf.Len() > MaxImageBytes {
			return nil, TooBigFailure, fmt.Errorf("more than %d bytes", MaxImageBytes)
		}
		if err == nil && item.Size > 0 && int64(buf.Len()) != item.Size {
			err = &ReadError{item.Path, item.Where, fmt.Errorf("%d bytes, but %d when the build began", buf.Len(), item.Size)}
		}
		if err == nil {
			return buf.Bytes(), "", nil
		}
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && item.Size == 0:
		return nil, MissingFailure, errMissing
	case errors.Is(err, zip.ErrChecksum):
		return nil, HashFailure, err
	case errors.Is(err, fs.ErrNotExist), errors.As(err, new(syscall.Errno)) && !Unreadable(err):
		return nil, "", &ReadError{item.Path, item.Where, err}
	}
	return nil, ReadFailure, err
}
