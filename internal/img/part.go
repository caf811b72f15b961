package img

import (
	"errors"
	"fmt"
	"image"
)

// Part is a part of an image, in memory that the next one reuses. The zero value is ready to use.
type Part struct {
	RGB             // the pixels
	At  image.Point // where they lie in the image

	stored RGB // before it is turned upright
}

// DecodePart is Decode for readers that need a part of an image. It calls wanted once, with the size
// of the upright image and its Info.Reduction. p then holds at least that part of the reduced image.
// With a library for JPEG it allocates nothing once p's memory is large enough. TurboJPEG 3 does not
// decode the rest of an image, and does not notice damage there, unless the end of the file is missing.
func (d *Decoder) DecodePart(p *Part, data []byte, wanted func(w, h, reduction int) image.Rectangle) error {
	info, jpeg, err := d.openJPEG(data)
	if err != nil {
		return err
	}
	if jpeg {
		part := wanted(info.W, info.H, info.Reduction)
		if err := d.partOfJPEG(p, data, info, part); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	m, err := d.Decode(data)
	if err != nil {
		return err
	}
	if !jpeg {
		wanted(m.W, m.H, 1)
	}
	p.RGB, p.At = *m, image.Point{}
	return nil
}

// Reduced returns a part of an image in the pixels of the image that is smaller by a reduction.
func Reduced(r image.Rectangle, reduction int) image.Rectangle {
	up := reduction - 1
	return image.Rect(r.Min.X/reduction, r.Min.Y/reduction, (r.Max.X+up)/reduction, (r.Max.Y+up)/reduction)
}

// openJPEG reads the header of a file that the library for JPEG may decode.
func (d *Decoder) openJPEG(data []byte) (info Info, jpeg bool, err error) {
	defer recoverAs(&err)
	if d.JPEG == nil || len(data) < 2 || data[0] != 0xff || data[1] != 0xd8 {
		return Info{}, false, nil
	}
	_, _, info, err = d.inspect(data)
	return info, true, err
}

// partOfJPEG decodes a part of a JPEG. part and p.At refer to the upright image.
func (d *Decoder) partOfJPEG(p *Part, data []byte, info Info, part image.Rectangle) (err error) {
	defer recoverAs(&err)
	if !info.cuttable {
		part = image.Rect(0, 0, info.W, info.H)
	}
	if info.Orientation == 1 {
		p.At, err = d.JPEG.DecodeJPEG(&p.RGB, data, info.W, info.H, info.Reduction, part)
	} else {
		w, h := turnedSize(info.W, info.H, info.Orientation)
		part = turnedPart(part, info.W, info.H, inverse(info.Orientation))
		p.At, err = d.JPEG.DecodeJPEG(&p.stored, data, w, h, info.Reduction, part)
		if err == nil {
			p.stored.turnTo(&p.RGB, info.Orientation)
			if info.Reduction == 1 {
				p.At = turnedPart(p.stored.Bounds().Add(p.At), w, h, info.Orientation).Min
			}
		}
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("jpeg: %w", err)
	}
	return err
}
