package img

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"hgld/internal/dlopen"
)

// HEIFVariable is the environment variable that selects the decoder of DefaultHEIF.
const HEIFVariable = "HGLD_LIBHEIF"

// HEIFDecoder decodes HEIC and AVIF, the formats of photographs from phones. It is safe for
// concurrent use, and keeps no reference to the bytes of a file.
type HEIFDecoder interface {
	// Version returns the library and its version. Libraries of the same version decode a file to
	// the same pixels.
	Version() string

	// Extensions returns the extensions of the files that can be decoded, such as ".heic".
	Extensions() []string

	// InspectHEIF reads the header of a file. If an image of the file has more than the given
	// number of pixels, the error wraps ErrTooBig.
	InspectHEIF(data []byte, pixels int) (HEIFHeader, error)

	// DecodeHEIF returns the primary image of a file with the given header: upright, transparent
	// pixels on white.
	DecodeHEIF(data []byte, h HEIFHeader) (*RGB, error)
}

// HEIFHeader describes the primary image of a HEIC or AVIF file, as its header states it.
type HEIFHeader struct {
	W, H   int  // as displayed: after rotation, mirroring and crop
	Stored int  // pixels before the crop
	Bits   int  // per brightness value
	Alpha  bool // has an opacity channel
}

// ErrNoHEIF is wrapped by the errors of HEIC and AVIF files if there is no decoder for them.
var ErrNoHEIF = errors.New("read by libheif, which is not in use here; install it (" + HEIFPackages +
	"), or save the image as JPEG")

// HEIFPackages says how to install libheif.
const HEIFPackages = "apt install libheif1, brew install libheif"

// The brands of HEIF files, by format: those of still images and of image sequences. The last row has
// the brands of files of any codec.
const (
	heicBrands = "heic heix heim heis hevc hevx hevm hevs"
	avifBrands = "avif avis"
	heifBrands = "mif1 msf1"
)

// heifFormat returns "heic" or "avif" for a file that begins with a box ftyp of one of their brands,
// and "" for any other file, such as a video. Files whose brands leave the codec open are "heic".
func heifFormat(data []byte) string {
	if len(data) < 16 || string(data[4:8]) != "ftyp" {
		return ""
	}
	size := int(data[0])<<24 | int(data[1])<<16 | int(data[2])<<8 | int(data[3])
	brands := []string{string(data[8:12])}
	for at := 16; at+4 <= min(size, len(data)); at += 4 { // after the version of the first
		brands = append(brands, string(data[at:at+4]))
	}
	has := func(list string) bool {
		return slices.ContainsFunc(strings.Fields(list), func(b string) bool { return slices.Contains(brands, b) })
	}
	switch first := brands[0]; {
	case strings.Contains(avifBrands, first), strings.Contains(heifBrands, first) && has(avifBrands) && !has(heicBrands):
		return "avif"
	case has(heicBrands), has(heifBrands):
		return "heic"
	case has(avifBrands):
		return "avif"
	}
	return ""
}

// bytesPerPixel estimates what decoding holds at once, most of it in libheif: the planes of the
// codec, their copy, and the pixels. It was measured with versions 1.15 and 1.23.
func (h *HEIFHeader) bytesPerPixel() float64 {
	perPixel := 8.5
	if h.Bits > 8 {
		perPixel = 12.5
	}
	if h.Alpha {
		perPixel += 2
	}
	return perPixel
}

// inspectHEIF is inspect for a file of the format "heic" or "avif".
func (d *Decoder) inspectHEIF(name string, data []byte) (Info, HEIFHeader, error) {
	limits := d.Limits.orDefault()
	info := Info{Format: name, Orientation: 1, Reduction: 1}
	if err := limits.checkBytes(data); err != nil {
		return info, HEIFHeader{}, err
	}
	if d.HEIF == nil {
		return info, HEIFHeader{}, fmt.Errorf("%s: %w", name, ErrNoHEIF)
	}
	h, err := d.HEIF.InspectHEIF(data, limits.Pixels)
	if err != nil {
		return info, h, fmt.Errorf("%s: %w", name, err)
	}
	info.W, info.H, info.Memory = h.W, h.H, int(h.bytesPerPixel()*float64(h.Stored))
	return info, h, checkMemory(h.W, h.H, info.Memory, limits.HEIF)
}

// decodeHEIF is Decode for a file of the format "heic" or "avif". It ignores the EXIF orientation,
// which repeats the rotation that the decoder has applied.
func (d *Decoder) decodeHEIF(name string, data []byte) (*RGB, error) {
	info, h, err := d.inspectHEIF(name, data)
	if err != nil {
		return nil, err
	}
	if info.Memory > largeImage {
		debug.FreeOSMemory()
	}
	m, err := d.HEIF.DecodeHEIF(data, h)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// heifNames are tried in order: the names of the Linux distributions, then Homebrew's.
func heifNames() []string {
	if runtime.GOOS == "darwin" {
		return []string{"libheif.1.dylib", "/opt/homebrew/opt/libheif/lib/libheif.1.dylib",
			"/usr/local/opt/libheif/lib/libheif.1.dylib"}
	}
	return []string{"libheif.so.1"}
}

// DefaultHEIF opens the decoder that HGLD_LIBHEIF selects; see OpenHEIF.
func DefaultHEIF() (HEIFDecoder, error) { return OpenHEIF(os.Getenv(HEIFVariable)) }

// DefaultDecoder returns a decoder with the results of DefaultJPEG and DefaultHEIF.
func DefaultDecoder() (*Decoder, error) {
	jpeg, err := DefaultJPEG()
	if err != nil {
		return nil, err
	}
	heif, err := DefaultHEIF()
	return &Decoder{JPEG: jpeg, HEIF: heif}, err
}

// RepeatableDecoder is DefaultDecoder for pages and figures: pixels of the files that Go decodes are the same on every
// machine.
func RepeatableDecoder() (*Decoder, error) {
	d, err := DefaultDecoder()
	if d != nil {
		d.GoFirst = true
	}
	return d, err
}

// JPEGName returns the name of the JPEG decoder.
func (d *Decoder) JPEGName() string {
	if d.JPEG == nil {
		return "image/jpeg"
	}
	return fmt.Sprint(d.JPEG)
}

// HEIFExtensions returns the extensions of the files that d decodes, or none if it is nil.
func HEIFExtensions(d HEIFDecoder) []string {
	if d == nil {
		return nil
	}
	return d.Extensions()
}

// OpenHEIF returns the decoder called which, or nil for none. "" is libheif if it is installed and
// usable, else none. "off" is none. "on", or the path of a libheif, is a library that must exist. It
// decodes in child processes; see [ServeAsChild].
//
// libheif is opened on Linux and macOS. Its functions return a structure by value, which Windows
// passes through hidden memory instead of registers; package dlopen opens no library there.
func OpenHEIF(which string) (HEIFDecoder, error) {
	switch which {
	case "off":
		return nil, nil
	case "":
		if lib, err := openHEIF(heifNames()...); err == nil {
			return inChild(lib), nil
		}
		return nil, nil
	case "on":
		return heifNamed(which, heifNames()...)
	}
	if !strings.ContainsAny(which, `/\.`) {
		return nil, fmt.Errorf("img: unknown %s %.80q (known: on, off, or the path of a libheif)", HEIFVariable, which)
	}
	return heifNamed(which, which)
}

func heifNamed(which string, names ...string) (HEIFDecoder, error) {
	lib, err := openHEIF(names...)
	if err != nil {
		return nil, fmt.Errorf("img: %s=%s: %w", HEIFVariable, which, err)
	}
	return inChild(lib), nil
}

// WhichHEIF describes the result of DefaultHEIF, with the reason if it is none.
func WhichHEIF() string {
	lib, err := DefaultHEIF()
	if err != nil {
		return err.Error()
	}
	text := "HEIC and AVIF are left out"
	if lib != nil {
		text = fmt.Sprint(lib)
	}
	if os.Getenv(HEIFVariable) != "" {
		return fmt.Sprintf("%s (%s is set)", text, HEIFVariable)
	}
	if lib == nil {
		_, err := openHEIF(heifNames()...)
		return fmt.Sprintf("%s: %v", text, err)
	}
	return text
}

// heif is a libheif that this process has opened. Only a child decodes with it.
type heif struct {
	path, version string
	call          heifFunctions
	hevc, av1     bool // codecs that the library decodes

	// Functions that not every version has; 0 if it is missing.
	threads, limits uintptr
}

// oldestHEIF is version 1.12, in the notation of heif_get_version_number.
const oldestHEIF = 1<<24 | 12<<16

// openHEIF opens the first of the named libraries that exists and is usable.
func openHEIF(names ...string) (*heif, error) {
	lib, err := dlopen.Open(names...)
	if err != nil {
		return nil, err
	}
	h := &heif{path: lib.Path}
	if err := lib.Functions(&h.call); err != nil {
		return nil, err
	}
	n := uint32(dlopen.Call(h.call.versionNumber))
	h.version = fmt.Sprintf("%d.%d.%d", n>>24, n>>16&255, n>>8&255)
	if n < oldestHEIF || n>>24 != 1 {
		return nil, fmt.Errorf("%s has version %s; want 1.12 or a later 1.x", lib.Path, h.version)
	}
	optional := func(name string) uintptr {
		fn, err := lib.Symbol(name)
		if err != nil {
			return 0
		}
		return fn
	}
	h.threads, h.limits = optional("heif_context_set_max_decoding_threads"), optional("heif_context_get_security_limits")
	if start := optional("heif_init"); start != 0 { // loads codecs that are separate files
		if err := heifError(dlopen.CallPair(start, 0)); err != nil {
			return nil, fmt.Errorf("%s does not start: %w", lib.Path, err)
		}
	}
	h.hevc = int32(dlopen.Call(h.call.haveDecoder, heifHEVC)) != 0
	h.av1 = int32(dlopen.Call(h.call.haveDecoder, heifAV1)) != 0
	if !h.hevc && !h.av1 {
		return nil, fmt.Errorf("%s has no codec for HEIC or AVIF; want libde265 or dav1d", lib.Path)
	}
	return h, nil
}

// Version is that of HEIFDecoder.
func (h *heif) Version() string { return "libheif " + h.version }

// String returns the version, the file and the formats.
func (h *heif) String() string {
	formats := []string{}
	if h.hevc {
		formats = append(formats, "HEIC")
	}
	if h.av1 {
		formats = append(formats, "AVIF")
	}
	return fmt.Sprintf("libheif %s, from %s: %s", h.version, h.path, strings.Join(formats, " and "))
}

// Extensions is that of HEIFDecoder.
func (h *heif) Extensions() (list []string) {
	if h.hevc {
		list = append(list, ".heic", ".heif", ".hif")
	}
	if h.av1 {
		list = append(list, ".avif")
	}
	return list
}
