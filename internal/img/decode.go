package img

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"runtime/debug"
	"strings"

	"golang.org/x/image/bmp"
)

// ErrTooBig is wrapped by errors for images beyond the Limits, and for files that are too short for
// the pixels that they declare.
var ErrTooBig = errors.New("image too big")

// Limits bound the image that a file declares. They are checked before any pixel is decoded. A zero
// field means its default. A JPEG beyond Pixels or Memory is made smaller as it is decoded, if
// Decoder.JPEG is set: the limits are then those of the smaller image.
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
// orientation, and equal to those of libjpeg-turbo; inks become RGB as Decode's do. It is called only for
// images of 8 bits, after the limits were checked. If an error wraps errors.ErrUnsupported, the
// standard library decodes the file.
type JPEGDecoder interface {
	// DecodeJPEG decodes at least a part of a file of w×h pixels into dst, whose memory it reuses. It
	// returns where the first pixel of dst lies in the image. It keeps no reference to data. With a
	// reduction of 2, 4 or 8, dst is all of the image, with sides divided by it and rounded up.
	DecodeJPEG(dst *RGB, data []byte, w, h, reduction int, part image.Rectangle) (at image.Point, err error)
}

// Decoder decodes JPEG, PNG, GIF and WebP (first frame), BMP and TIFF. With HEIF it also decodes HEIC
// and AVIF (primary image). The zero value has the default limits. It is safe for concurrent use.
type Decoder struct {
	Limits Limits      // zero fields are the defaults
	JPEG   JPEGDecoder // nil: image/jpeg; see OpenJPEG
	// GoFirst leaves to JPEG only the files that image/jpeg refuses, so that the pixels of the others are the same on
	// every machine.
	GoFirst bool
	HEIF    HEIFDecoder // nil: errors of HEIC and AVIF wrap ErrNoHEIF; see OpenHEIF
}

// LFSPointer is how a file begins that Git LFS leaves in place of another one until that is fetched.
const LFSPointer = "version https://git-lfs."

// Info describes an image without its pixels.
type Info struct {
	Format      string // "jpeg", "png", "gif", "webp", "bmp", "tiff", "heic" or "avif"
	W, H        int    // as seen: after orientation
	Orientation int    // EXIF, 1 to 8; 1 if there is none, or if the decoder applies it
	Memory      int    // estimated bytes held at once while decoding
	Reduction   int    // 2, 4 or 8 for an image beyond the limits: Decode divides its sides by it; else 1

	cuttable bool // a JPEG of which a library may decode a part without the rest
	unusual  bool // a JPEG that image/jpeg refuses by its header, such as one of an odd sampling
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
	{"tiff", "II*\x00", tiffConfig, nil, tiffOrientation},
	{"tiff", "MM\x00*", tiffConfig, nil, tiffOrientation},
	{"tiff", "II+\x00", tiffConfig, nil, tiffOrientation},
	{"tiff", "MM\x00+", tiffConfig, nil, tiffOrientation},
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
	return format{}, unknownFormat(data)
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
	unusual := false
	if !common {
		c, err = f.config(bytes.NewReader(data))
	}
	switch {
	case f.name == "jpeg" && err != nil && h.sane():
		c, _ = h.config()
		unusual, err = true, nil
	case f.name == "bmp" && err != nil:
		c, err = bitmapConfig(data)
	case f.name == "png" && err != nil:
		if whole := mend(f.name, data); whole != nil {
			c, err = f.config(bytes.NewReader(whole))
		}
	case f.name == "gif":
		if first, other := readGIF(data); other == nil { // browsers enlarge the screen
			c.Width, c.Height = max(c.Width, first.frame.Max.X), max(c.Height, first.frame.Max.Y)
		}
	}
	if err != nil {
		return f, c, Info{}, fmt.Errorf("%s: %w", f.name, err)
	}
	if c.Width <= 0 || c.Height <= 0 {
		return f, c, Info{}, fmt.Errorf("%s: size %d×%d", f.name, c.Width, c.Height)
	}
	info := Info{Format: f.name, W: c.Width, H: c.Height, Reduction: 1}
	if f.name == "jpeg" {
		info.Orientation = tiffOrientation(h.exif)
	} else {
		info.Orientation = f.orientation(data)
	}
	var beyond error
	if c.Width > limits.Pixels/c.Height {
		beyond = fmt.Errorf("%w: %d×%d pixels, limit %d; save a smaller copy", ErrTooBig, c.Width, c.Height, limits.Pixels)
	}
	if beyond != nil && f.name != "jpeg" {
		return f, c, info, beyond
	}
	perPixel := bytesPerPixel(c.ColorModel)
	switch f.name {
	case "tiff":
		t, err := readTIFF(data)
		if err != nil {
			return f, c, info, fmt.Errorf("tiff: %w", err)
		}
		perPixel = t.memory() / (float64(t.w) * float64(t.h))
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
		if info.unusual = unusual; h.channels == 4 {
			perPixel = max(perPixel, 7) // the library's pixels do not become RGB in place
		}
		info.cuttable = common && h.cuttable(data)
	}
	if info.Orientation >= 5 {
		info.W, info.H = info.H, info.W
		perPixel = max(perPixel, 6) // the image and its rotated copy
	}
	info.Memory = int(perPixel * float64(c.Width*c.Height))
	beyond = cmp.Or(beyond, checkMemory(c.Width, c.Height, info.Memory, limits.Memory))
	switch {
	case beyond == nil || f.name != "jpeg" || !h.sane():
	case d.JPEG == nil:
		beyond = fmt.Errorf("%w%s", beyond, turboAdvice)
	case h.reduce(&info, limits):
		beyond = nil
	}
	return f, c, info, beyond
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
func (d *Decoder) Decode(data []byte) (*RGB, error) {
	m, _, err := d.decode(data, 0)
	return m, err
}

// Small is Decode for an image that is resized to a shorter side of short pixels, if its own is longer. With a library,
// a JPEG is made smaller as it is decoded.
func (d *Decoder) Small(data []byte, short int, f Filter) (*RGB, error) {
	m, size, err := d.decode(data, short)
	if err != nil {
		return nil, err
	}
	if w, h := ShortSide(size.X, size.Y, short); w < m.W {
		m = Resize(m, w, h, f)
	}
	return m, nil
}

// decode decodes an image whose shorter side may be reduced, but not below short pixels; 0: it is not. It also returns
// the size of the image.
func (d *Decoder) decode(data []byte, short int) (m *RGB, size image.Point, err error) {
	defer recoverAs(&err)
	if name := heifFormat(data); name != "" {
		if m, err = d.decodeHEIF(name, data); err == nil {
			size = m.Bounds().Max
		}
		return m, size, err
	}
	f, c, info, err := d.inspect(data)
	if err != nil {
		return nil, size, err
	}
	size = image.Pt(info.W, info.H)
	library := f.name == "jpeg" && d.JPEG != nil
	least := info.Reduction
	first := library && (info.unusual || least > 1 || !d.GoFirst)
	if first {
		for short > 0 && info.Reduction < mostReduction && min(info.W, info.H)/(2*info.Reduction) >= short {
			info.Reduction *= 2
		}
		m, err := d.decodeByLibrary(data, c, info)
		switch {
		case err != nil && least > 1:
			return nil, size, fmt.Errorf("%w; nothing else decodes %d×%d pixels", err, c.Width, c.Height)
		case err == nil || !errors.Is(err, errors.ErrUnsupported):
			return m, size, err
		}
	}
	m, err = d.decodeStandard(data, f, c, info)
	switch {
	case err != nil && library && !first:
		if m, other := d.decodeByLibrary(data, c, info); other == nil {
			return m, size, nil
		}
	case err != nil && f.name == "jpeg" && !library && (errors.As(err, new(jpeg.UnsupportedError)) ||
		strings.Contains(err.Error(), "missing 0xff00")):
		err = fmt.Errorf("%w%s", err, turboAdvice)
	}
	return m, size, err
}

// turboAdvice ends the error of a file of which only libjpeg-turbo can tell whether it is damaged or unusual.
const turboAdvice = "; libjpeg-turbo may decode it: install that (apt install libturbojpeg0, brew install jpeg-turbo)"

func (d *Decoder) decodeByLibrary(data []byte, c image.Config, info Info) (*RGB, error) {
	m := new(RGB)
	whole := image.Rect(0, 0, c.Width, c.Height)
	if _, err := d.JPEG.DecodeJPEG(m, data, c.Width, c.Height, info.Reduction, whole); err != nil {
		return nil, fmt.Errorf("jpeg: %w", err)
	}
	return m.turned(info.Orientation), nil
}

// decodeStandard decodes a file with Go's decoders.
func (d *Decoder) decodeStandard(data []byte, f format, c image.Config, info Info) (*RGB, error) {
	if info.Memory > largeImage {
		debug.FreeOSMemory()
	}
	if f.name == "tiff" {
		m, err := d.decodeTIFF(data)
		if err != nil {
			return nil, fmt.Errorf("tiff: %w", err)
		}
		return m.turned(info.Orientation), nil
	}
	decoded, err := f.decode(bytes.NewReader(data))
	if err != nil {
		if decoded = nil; info.Memory > largeImage {
			debug.FreeOSMemory() // what the first try took
		}
		decoded, err = decodeMended(data, f, err)
	}
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

// decodeMended decodes a file that Go's decoder refuses with an error, as libjpeg, libpng and browsers read it.
func decodeMended(data []byte, f format, refused error) (m image.Image, err error) {
	switch f.name {
	case "gif":
		m, err = decodeGIF(data)
	case "bmp":
		m, err = decodeBitmap(data)
	default:
		if f.name == "png" && string(data[12:16]) == "CgBI" {
			return nil, errors.New("a picture of an iPhone app (CgBI), which is no PNG; convert it, such as by sips on macOS")
		}
		whole := mend(f.name, data)
		if whole == nil {
			return nil, refused
		}
		m, err = f.decode(bytes.NewReader(whole))
	}
	if err != nil {
		return nil, refused
	}
	return m, nil
}

// otherKinds are files that lie where an image is expected, by how they begin.
var otherKinds = []struct{ start, is string }{
	{"\x00\x00\x00\x0cjP  ", "JPEG 2000, which hgld does not read; save it as JPEG or PNG"},
	{"\xff\x4f\xff\x51", "JPEG 2000, which hgld does not read; save it as JPEG or PNG"},
	{"\x00\x00\x00\x0cJXL ", "JPEG XL, which hgld does not read; save it as JPEG or PNG"},
	{"\xff\x0a", "JPEG XL, which hgld does not read; save it as JPEG or PNG"},
	{LFSPointer, "a pointer of Git LFS in place of the image; fetch that: git lfs pull"},
	{"%PDF", "PDF, and no image; export its pictures"},
	{"8BPS", "a file of Photoshop; save it as PNG"},
	{"<svg", "SVG, a drawing without pixels; save it as PNG"},
	{"<!doctype html", "a web page in place of the image; download the image itself"},
	{"<html", "a web page in place of the image; download the image itself"},
}

// unknownFormat is the error of a file that is no image of a known format.
func unknownFormat(data []byte) error {
	head := data[:min(len(data), 1<<10)]
	text := bytes.ToLower(bytes.TrimLeft(head, " \t\r\n\xef\xbb\xbf"))
	if bytes.HasPrefix(text, []byte("<?xml")) && bytes.Contains(text, []byte("<svg")) {
		text = []byte("<svg")
	}
	for _, kind := range otherKinds {
		if bytes.HasPrefix(head, []byte(kind.start)) || bytes.HasPrefix(text, []byte(kind.start)) {
			return errors.New(kind.is)
		}
	}
	return errors.New("not an image of a known format (jpeg, png, gif, webp, bmp, tiff, heic, avif)")
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
