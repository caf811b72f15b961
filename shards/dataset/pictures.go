package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"hgld/internal/img"
	"hgld/internal/regular"
	"hgld/shards"
)

// Pictures are image files in the order in which they were named.
type Pictures struct {
	Names []string                 // paths
	Open  []func() ([]byte, error) // bytes of each
	Notes []string                 // what was left out

	decoder *img.Decoder
	opens   []io.Closer
}

// OpenPictures lists image files: those that paths name, and those in folders that they name. If the
// only image cannot be read, OpenPictures fails. A path
// that does not exist is a [NoPictureError].
func OpenPictures(ctx context.Context, decoder *img.Decoder, paths []string) (*Pictures, error) {
	p := &Pictures{decoder: decoder}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir():
			err = p.folder(ctx, path)
		case err == nil:
			p.add(path, func() ([]byte, error) { return regular.ReadAtMost(path, shards.MaxImageBytes) })
		default:
			err = &NoPictureError{path, err}
		}
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	if len(p.Names) != 1 {
		return p, nil
	}
	data, err := p.Open[0]()
	if err == nil {
		if _, err = decoder.Info(data); err != nil {
			err = fmt.Errorf("%s cannot be read as an image: %w", p.Names[0], err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Pictures) add(name string, open func() ([]byte, error)) {
	p.Names, p.Open = append(p.Names, name), append(p.Open, open)
}

func (p *Pictures) folder(ctx context.Context, path string) error {
	d, err := OpenImages(ctx, path, img.HEIFExtensions(p.decoder.HEIF)...)
	if err != nil {
		return err
	}
	p.opens, p.Notes = append(p.opens, d), append(p.Notes, d.Notes()...)
	for i := range d.Len() {
		p.add(filepath.Join(path, d.ID(i)), func() ([]byte, error) { return d.Image(ctx, i) })
	}
	return nil
}

// Close closes the folders.
func (p *Pictures) Close() (err error) {
	for _, c := range p.opens {
		err = errors.Join(err, c.Close())
	}
	return err
}
