package shards

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"io"
	"io/fs"
	"strings"
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
	whole    wholeImages
}

func newPreparer(o Options) *preparer {
	limits := img.Limits{Bytes: MaxImageBytes, Memory: decodeMemory}
	return &preparer{
		settings: o.Settings,
		decoder:  &img.Decoder{Limits: limits, HEIF: o.HEIF, JPEG: o.JPEG, GoFirst: true},
		workers:  semaphore.NewWeighted(int64(o.Workers)),
		memory:   semaphore.NewWeighted(decodeMemory),
		whole:    wholeImages{most: o.Workers},
	}
}

// MaxImageBytes is the size of the largest image file that is read.
const MaxImageBytes = 64 << 20

const (
	// decodeMemory is shared by all workers. The largest image allowed takes all of it, and a HEIC or AVIF
	// image that needs more is decoded while no other is.
	decodeMemory = 288e6

	// defaultQuality is the quality of JPEG where the settings name none.
	defaultQuality = 95
)

// prepared is the result for one item: a row or a failure.
type prepared struct {
	row     *Row
	failure *Failure
	heif    bool // the row was converted from HEIC or AVIF
}

// prepare returns a failure for a fault of one image. Its error is a *ReadError, an
// *InputError, or the error of a cancelled context.
func (p *preparer) prepare(ctx context.Context, item *Item, path labels.Path) (prepared, error) {
	row := &Row{ID: item.ID, Path: item.Path, Split: item.Split, Labels: path, Landmark: item.Landmark,
		Attributes: item.Attributes}
	heif, class, err := p.fill(ctx, row, item)
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
	return prepared{row: row, heif: heif}, nil
}

// fill sets the image of a row. heif reports that it was converted from HEIC or AVIF.
func (p *preparer) fill(ctx context.Context, row *Row, item *Item) (heif bool, class FailureClass, err error) {
	a := item.Attributes
	if p.settings.Attribution && item.Split == labels.Train && (a.Author == "" || a.License == "") {
		return false, LicenceFailure, fmt.Errorf("author is %.80q and licence %.80q; training images need both", a.Author,
			a.License)
	}
	if p.settings.MarkUnattributed && item.Split == labels.Train {
		row.Attributes.Author = cmp.Or(a.Author, Unattributed)
		row.Attributes.License = cmp.Or(a.License, Unattributed)
	}
	data, class, err := read(item)
	if err != nil {
		return false, class, err
	}
	sum := sha256.Sum256(data)
	if item.SHA256 != "" && hex.EncodeToString(sum[:]) != item.SHA256 {
		return false, HashFailure, fmt.Errorf("sha256 %x, want %s", sum, item.SHA256)
	}
	info, err := p.decoder.Info(data)
	if err != nil {
		return false, imageClass(err), err
	}
	row.Image, row.SHA256, row.W, row.H = data, sum, info.W, info.H
	part, err := item.Part.within(info)
	if err != nil {
		return false, DecodeFailure, err
	}
	short := min(info.W, info.H)
	if part != nil {
		short = min(part.Dx(), part.Dy())
	}
	shrink := p.settings.ShortSide > 0 && short > p.settings.ShortSide
	if shrink || info.NeedsHEIF() || part != nil || !p.settings.HeadersOnly {
		memory := min(int64(info.Memory), decodeMemory)
		if err := p.memory.Acquire(ctx, memory); err != nil {
			return false, ReadFailure, err
		}
		err := p.decode(row, info, part, shrink)
		p.memory.Release(memory)
		if err != nil {
			return false, imageClass(err), err
		}
	}
	return info.NeedsHEIF(), "", nil
}

// decode checks that all pixels can be read. If the row is a part of the image, is to be made smaller, or is HEIC or
// AVIF, which few readers of shards know, it replaces the image by a JPEG.
func (p *preparer) decode(row *Row, info img.Info, part *image.Rectangle, shrink bool) error {
	decode := func() (*img.RGB, error) { return p.decoder.Decode(row.Image) }
	if part != nil {
		whole := decode
		decode = func() (*img.RGB, error) { return p.whole.decode(row.SHA256, info, whole) }
	}
	m, err := decode()
	if err != nil || !shrink && !info.NeedsHEIF() && part == nil {
		return err
	}
	var changes string
	if info.NeedsHEIF() {
		changes = fmt.Sprintf("converted from %s (sha256 %x) by %s, ", strings.ToUpper(info.Format), row.SHA256,
			p.decoder.HEIF.Version())
	}
	w, h := info.W, info.H
	if part != nil {
		w, h = part.Dx(), part.Dy()
		changes += fmt.Sprintf("cut to %d×%d at %d,%d of %d×%d, ", w, h, part.Min.X, part.Min.Y, info.W, info.H)
		m = img.Crop(m, img.Reduced(*part, info.Reduction))
	}
	if shrink {
		changes += fmt.Sprintf("resized from %d×%d, ", w, h)
	}
	if info.Reduction > 1 {
		changes += fmt.Sprintf("decoded at 1/%d, ", info.Reduction)
	}
	if shrink {
		changes += "bicubic, "
		if w, h := img.ShortSide(w, h, p.settings.ShortSide); w < m.W {
			m = img.Resize(m, w, h, img.Bicubic)
		}
	}
	quality := p.settings.Quality
	if quality == 0 {
		quality = defaultQuality
	}
	changes += fmt.Sprintf("JPEG quality %d", quality)
	profile, err := img.Profile(row.Image)
	if err != nil {
		changes += fmt.Sprintf("%s (%v)", profileLeftOut, err)
	}
	out, err := img.EncodeJPEG(m, quality, profile)
	if err != nil {
		return err
	}
	row.Image, row.SHA256, row.W, row.H = out, sha256.Sum256(out), m.W, m.H
	if before := row.Attributes.Modifications; before != "" {
		changes = before + "; " + changes
	}
	row.Attributes.Modifications = changes
	return nil
}

// profileLeftOut is in the modifications of an image that was encoded without its ICC profile. The reason follows.
const profileLeftOut = ", ICC profile left out"

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
		return nil, MissingFailure, item.missing()
	case errors.Is(err, zip.ErrChecksum):
		return nil, HashFailure, err
	case errors.Is(err, fs.ErrNotExist), errors.As(err, new(syscall.Errno)) && !Unreadable(err):
		return nil, "", &ReadError{item.Path, item.Where, err}
	}
	return nil, ReadFailure, err
}
