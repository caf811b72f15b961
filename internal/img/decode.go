package img

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"io"
	"runtime/debug"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// ErrTooBig is wrapped by errors for images beyond the Limits, and for files that are too short for
// the pixels that they declare.
var ErrTooBig = errors.New("image too big")

// Limits bound the image that a file declares. They are checked before any pixel is decoded. A zero
// field means its default.
type Limits struct {
	Bytes  int // size of the file; default 64 MiB
	Pixels int // width × height; default 64 million
	Memory int // bytes held at once while decoding, estimated; default 288 million
	HEIF   int // the same for HEIC and AVIF; default 560 million
}

func (l Limits) orDefault() Limits {
	if l.Bytes == 0 {
		l.Bytes = 64 << 20
	}
	if l.Pixels == 0 {
		l.Pixels = 64e6
	}
	if l.Memory == 0 {
		l.Memory = 288e6 // 64 million pixels of 4:2:0 JPEG: planes of 1.5 bytes a pixel and RGB of 3
	}
	if l.HEIF == 0 {
		l.HEIF = 560e6 // 64 million pixels of 8 bits, or 44 million of more
	}
	return l
}

// JPEGDecoder replaces the standard library's JPEG decoder. It returns the pixels as stored, before
// orientation, and equal to those of libjpeg-turbo. It is called only for images of one or three
// channels with 8 bits, after the limits were checked. If an error wraps errors.ErrUnsupported, the
// standard library decodes the file.
type JPEGDecoder interface {
	// DecodeJPEG decodes at least a part of a file of w×h pixels into dst, whose memory it reuses. It
	// returns where the first pixel of dst lies in the image. It keeps no reference to data.
	DecodeJPEG(dst *RGB, data []byte, w, h int, part image.Rectangle) (at image.Point, err error)
}

// Decoder decodes JPEG, PNG, GIF and WebP (first frame), BMP and TIFF. With HEIF it also decodes HEIC
// and AVIF (primary image). The zero value has the default limits. It is safe for concurrent use.
type Decoder struct {
	Limits Limits      // zero fields are the defaults
	JPEG   JPEGDecoder // nil: image/jpeg; see OpenJPEG
	HEIF   HEIFDecoder // nil: errors of HEIC and AVIF wrap ErrNoHEIF; see OpenHEIF
}

// Info describes an image without its pixels.
type Info struct {
	Format      string // "jpeg", "png", "gif", "webp", "bmp", "tiff", "heic" or "avif"
	W, H        int    // as seen: after orientation
	Orientation int    // EXIF, 1 to 8; 1 if there is none, or if the decoder applies it
	Memory      int    // estimated bytes held at once while decoding

	cuttable bool // a JPEG of which a library may decode a part without the rest
}

// NeedsHEIF reports whether the file is HEIC or AVIF, which few programs read.
func (i Info) NeedsHEIF() bool { return i.Format == "heic" || i.Format == "avif" }

// format is one row of the table of known formats.
type format struct {
	name, magic string // "?" in magic stands for any byte
	config      func(io.Reader) (image.Config, error)
	decode      func(io.Reader) (image.Image, error)
	orientation func([]byte) int
}

var formats = [...]format{
	{"jpeg", "\xff\xd8", jpegConfig, jpegDecode, jpegOrientation},
	{"png", "\x89PNG\r\n\x1a\n", png.DecodeConfig, png.Decode, pngOrientation},
	{"gif", "GIF8?a", gif.DecodeConfig, gif.Decode, upright},
	{"webp", "RIFF????WEBP", webpConfig, webpDecode, webpOrientation},
	{"bmp", "BM", bmp.DecodeConfig, bmp.Decode, upright},
	{"tiff", "II*\x00", tiff.DecodeConfig, tiff.Decode, tiffOrientation},
	{"tiff", "MM\x00*", tiff.DecodeConfig, tiff.Decode, tiffOrientation},
	{"tiff", "II+\x00", bigTIFF, nil, upright},
	{"tiff", "MM\x00+", bigTIFF, nil, upright},
}

func sniff(data []byte) (format, error) {
	for _, f := range formats {
		if len(data) < len(f.magic) {
			continue
		}
		match := true
		for i := range len(f.magic) {
			match = match && (f.magic[i] == '?' || f.magic[i] == data[i])
		}
		if match {
			return f, nil
		}
	}
	return format{}, errors.New("not an image of a known format (jpeg, png, gif, webp, bmp, tiff, heic, avif)")
}

// Info reads the header and checks it against the limits. For an image beyond them, the error wraps
// ErrTooBig.
func (d *Decoder) Info(data []byte) (info Info, err error) {
	defer recoverAs(&err)
	if name := heifFormat(data); name != "" {
		info, _, err = d.inspectHEIF(name, data)
		return info, err
	}
	_, _, info, err = d.inspect(data)
	return info, err
}

func (l Limits) checkBytes(data []byte) error {
	if len(data) > l.Bytes {
		return fmt.Errorf("%w: %d bytes, limit %d", ErrTooBig, len(data), l.Bytes)
	}
	return nil
}

func checkMemory(w, h, memory, limit int) error {
	if memory > limit {
		return fmt.Errorf("%w: decoding %d×%d pixels takes about %d MB, limit %d MB", ErrTooBig, w, h, memory/1e6, limit/1e6)
	}
	return nil
}

func (d *Decoder) inspect(data []byte) (format, image.Config, Info, error) {
	limits := d.Limits.orDefault()
	if len(data) == 0 {
		return format{}, image.Config{}, Info{}, errors.New("the file is empty")
	}
	if err := limits.checkBytes(data); err != nil {
		return format{}, image.Config{}, Info{}, err
	}
	f, err := sniff(data)
	if err != nil {
		return f, image.Config{}, Info{}, err
	}
	h, common := jpegHeader{}, false
	var c image.Config
	if f.name == "jpeg" {
		h = readJPEGHeader(data)
		c, common = h.config()
	}
	if !common {
		c, err = f.config(bytes.NewReader(data))
	}
	if f.name == "tiff" && err != nil {
		err = cmp.Or(checkTIFF(data), err)
	}
	if err != nil {
		return f, c, Info{}, fmt.Errorf("%s: %w", f.name, err)
	}
	if c.Width <= 0 || c.Height <= 0 {
		return f, c, Info{}, fmt.Errorf("%s: size %d×%d", f.name, c.Width, c.Height)
	}
	info := Info{Format: f.name, W: c.Width, H: c.Height}
	if f.name == "jpeg" {
		info.Orientation = tiffOrientation(h.exif)
	} else {
		info.Orientation = f.orientation(data)
	}
	if c.Width > limits.Pixels/c.Height {
		return f, c, info, fmt.Errorf("%w: %d×%d pixels, limit %d; save a smaller copy", ErrTooBig, c.Width, c.Height,
			limits.Pixels)
	}
	perPixel := bytesPerPixel(c.ColorModel)
	switch f.name {
	case "tiff":
		if err := checkTIFF(data); err != nil {
			return f, c, info, fmt.Errorf("tiff: %w", err)
		}
	case "webp":
		if firstFrame(data) != nil {
			perPixel += 3 // the canvas
		}
	case "gif":
		perPixel = 5 // the frame and a canvas of four bytes
	case "jpeg":
		if err := h.plausible(c.Width*c.Height, len(data)); err != nil {
			return f, c, info, err
		}
		perPixel = h.bytesPerPixel()
		info.cuttable = common && h.cuttable(data)
	}
	if info.Orientation >= 5 {
		info.W, info.H = info.H, info.W
		perPixel = max(perPixel, 6) // the image and its rotated copy
	}
	info.Memory = int(perPixel * float64(c.Width*c.Height))
	return f, c, info, checkMemory(c.Width, c.Height, info.Memory, limits.Memory)
}

// bytesPerPixel estimates what the standard decoders and the result hold together. Four-channel
// images become RGB in place.
func bytesPerPixel(m color.Model) float64 {
	switch m {
	case color.RGBAModel, color.NRGBAModel:
		return 4
	case color.RGBA64Model, color.NRGBA64Model:
		return 8
	case color.Gray16Model:
		return 5
	case color.YCbCrModel:
		return 4.5
	case color.NYCbCrAModel:
		return 5.5
	}
	return 4 // grey or palette, and RGB
}

// Decode returns the pixels of an image file: rotated upright by its EXIF orientation, transparent
// pixels on white, colours as stored (profiles are not applied). Errors describe what is wrong with
// the file; beyond the limits, they wrap ErrTooBig. Panics inside a decoder are recovered and
// returned as errors.
func (d *Decoder) Decode(data []byte) (m *RGB, err error) {
	defer recoverAs(&err)
	if name := heifFormat(data); name != "" {
		return d.decodeHEIF(name, data)
	}
	f, c, info, err := d.inspect(data)
	if err != nil {
		return nil, err
	}
	if f.name == "jpeg" && d.JPEG != nil && c.ColorModel != color.CMYKModel {
		m := new(RGB)
		_, err := d.JPEG.DecodeJPEG(m, data, c.Width, c.Height, image.Rect(0, 0, c.Width, c.Height))
		if err == nil {
			return m.turned(info.Orientation), nil
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			return nil, fmt.Errorf("jpeg: %w", err)
		}
	}
	return decodeStandard(data, f, c, info)
}

// decodeStandard decodes a file with Go's decoders.
func decodeStandard(data []byte, f format, c image.Config, info Info) (*RGB, error) {
	if info.Memory > largeImage {
		debug.FreeOSMemory()
	}
	decoded, err := f.decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	if f.name == "gif" {
		decoded = onCanvas(decoded, c.Width, c.Height)
	}
	var frame *webpFrame
	if f.name == "webp" {
		frame = firstFrame(data)
	}
	if got := decoded.Bounds().Size(); frame == nil && (got.X != c.Width || got.Y != c.Height) {
		return nil, fmt.Errorf("%s: %d×%d pixels where the header says %d×%d", f.name, got.X, got.Y, c.Width, c.Height)
	}
	m := toRGB(decoded, f.name == "webp")
	if frame != nil {
		m = frame.onWhite(m)
	}
	return m.turned(info.Orientation), nil
}

// largeImage is the image size in memory from which Decode first returns free memory to the system.
// Otherwise, free blocks of hundreds of megabytes that do not fit the next image could add up to
// twice the limit.
const largeImage = 64 << 20

func recoverAs(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("damaged image: the decoder panicked: %v", p)
	}
}

// onCanvas places the first frame of a GIF on the canvas that its header declares. The rest of the
// canvas is transparent.
func onCanvas(m image.Image, w, h int) image.Image {
	p, ok := m.(*image.Paletted)
	canvas := image.Rect(0, 0, w, h)
	if !ok || p.Rect == canvas {
		return m
	}
	out := image.NewNRGBA(canvas)
	r := p.Rect.Intersect(canvas)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			out.Set(x, y, p.At(x, y))
		}
	}
	return out
}
