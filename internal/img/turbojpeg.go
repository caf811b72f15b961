package img

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"hgld/internal/dlopen"
)

// JPEGVariable is the environment variable that selects the decoder of DefaultJPEG.
const JPEGVariable = "HGLD_TURBOJPEG"

// turboNames are tried in order: the names of the Linux distributions, then Homebrew's.
func turboNames() []string {
	if runtime.GOOS == "darwin" {
		return []string{"libturbojpeg.dylib", "/opt/homebrew/opt/jpeg-turbo/lib/libturbojpeg.dylib",
			"/usr/local/opt/jpeg-turbo/lib/libturbojpeg.dylib"}
	}
	return []string{"libturbojpeg.so.0", "libturbojpeg.so"}
}

// DefaultJPEG opens the decoder that HGLD_TURBOJPEG selects; see OpenJPEG.
func DefaultJPEG() (JPEGDecoder, error) { return OpenJPEG(os.Getenv(JPEGVariable)) }

// OpenJPEG returns the decoder called which, or nil for the standard library's. "" is libjpeg-turbo
// if it is installed and usable, else the standard library. "off" is the standard library. "on", or
// the path of a libturbojpeg, is a library that must exist.
//
// The two decoders differ in the last bits. libjpeg-turbo's pixels are Pillow's; those of the
// standard library differ by at most 3 of 255, and by 0.03 on average. Results that must have the
// same bytes on every machine use the standard library's.
func OpenJPEG(which string) (JPEGDecoder, error) {
	switch which {
	case "off":
		return nil, nil
	case "":
		if lib, err := openTurbo(turboNames()...); err == nil {
			return lib, nil
		}
		return nil, nil
	case "on":
		return turboNamed(which, turboNames()...)
	}
	if !strings.ContainsAny(which, `/\.`) {
		return nil, fmt.Errorf("img: unknown %s %.80q (known: on, off, or the path of a libturbojpeg)", JPEGVariable, which)
	}
	return turboNamed(which, which)
}

func turboNamed(which string, names ...string) (JPEGDecoder, error) {
	lib, err := openTurbo(names...)
	if err != nil {
		return nil, fmt.Errorf("img: %s=%s: %w", JPEGVariable, which, err)
	}
	return lib, nil
}

// WhichJPEG returns the decoder of DefaultJPEG, with the reason if it is the slow one because a
// library is missing.
func WhichJPEG() string {
	lib, err := DefaultJPEG()
	if err != nil {
		return err.Error()
	}
	text := "image/jpeg"
	if lib != nil {
		text = fmt.Sprint(lib)
	}
	if t, ok := lib.(*turbo); ok && t.parts.region == 0 {
		text += ", version 2; version 3 decodes only what a crop shows"
	}
	if os.Getenv(JPEGVariable) != "" {
		return fmt.Sprintf("%s (%s is set)", text, JPEGVariable)
	}
	if lib == nil {
		_, err := openTurbo(turboNames()...)
		return fmt.Sprintf("%s; libjpeg-turbo would be faster: %v", text, err)
	}
	return text
}

// turbo decodes with libjpeg-turbo: whole images through the functions of TurboJPEG 2, which version 3
// still has, and parts through those of version 3. It is safe for concurrent use.
type turbo struct {
	path string
	idle chan *turboCall // as many as can be at work at once

	create     uintptr `name:"tjInitDecompress"`
	header     uintptr `name:"tjDecompressHeader3"`
	decompress uintptr `name:"tjDecompress2"`
	destroy    uintptr `name:"tjDestroy"`
	parts      turboParts
}

// turboParts holds functions of TurboJPEG 3, or zeros.
type turboParts struct {
	set        uintptr `name:"tj3Set"`
	get        uintptr `name:"tj3Get"`
	region     uintptr `name:"tj3SetCroppingRegion"`
	decompress uintptr `name:"tj3Decompress8"`
}

// turboCall is a decompressor with the arguments of its next call. It is on the heap, because a
// goroutine's stack may move. It serves one goroutine at a time.
type turboCall struct {
	handle                        uintptr
	width, height, sampling, kind int32 // read from the header
	args                          [9]uintptr
	file, pixels                  []byte // kept alive
}

// The values of TJSAMP_422, TJSAMP_420, TJPF_RGB, TJPF_CMYK, TJCS_GRAY, TJCS_YCCK, TJFLAG_STOPONWARNING,
// TJFLAG_LIMITSCANS and of parameters in turbojpeg.h. The exact inverse transform and the triangle filter for chroma
// need no flag: they are the default.
const (
	turbo422           = 1
	turbo420           = 2
	turboRGB           = 0
	turboGray          = 2 // 0 is RGB, 1 YCbCr; above are those of four channels
	turboYCCK          = 4
	turboCMYK          = 11
	turboStopOnWarning = 1 << 13
	turboLimitScans    = 1 << 15

	turboParamStop     = 0  // TJPARAM_STOPONWARNING
	turboParamSampling = 4  // TJPARAM_SUBSAMP
	turboParamWidth    = 5  // TJPARAM_JPEGWIDTH
	turboParamHeight   = 6  // TJPARAM_JPEGHEIGHT
	turboParamColours  = 8  // TJPARAM_COLORSPACE
	turboParamScans    = 13 // TJPARAM_SCANLIMIT
	turboMostScans     = 500
)

// The probes are 19×11 pixels of 4:2:0, baseline, and 4:4:0, progressive: a computed pattern that
// Pillow encoded.
var (
	//go:embed probe/420.jpg
	probe420 string
	//go:embed probe/440.jpg
	probe440 string
)

// probe is a file, and the hash of the pixels that Pillow 12 decodes from it, by its method draft for a reduction.
type probe struct {
	file      string
	reduction int
	sha256    string
}

func probes() []probe {
	return []probe{
		{probe420, 1, "823e5316fcde529d783f9f08ed1718339f8a00bcac65fce62971d3613cd8be6e"},
		{probe440, 1, "f79829992a7aa2dbaf050cff9b159f567669bd0a7000bacac5a3b621469d1886"},
		{probe420, 2, "025392392ee7ce78f9929bae49cb284532c6215370ddd22765e4aa0f891ca22a"},
		{probe440, 2, "3345b9bf193026e13dcbf6e064540f749857b6e8e25498e74ceb85b70e4088ed"},
		{probe420, 4, "68e9d1619720f8ca0e3a9736b20bd99b146f3cb2d11f9af9f6272c4c90420c8b"},
		{probe440, 4, "6aaa2b15bc9e958ccc11d7c3638c2f483e5886e8a6205451f69dc17af93bc40d"},
		{probe420, 8, "485eaf1e63113c65667f6ced70e56cc31e7c815b5ca475ccc464cf6114af42d9"},
		{probe440, 8, "8bb45055bf77ac7be73637ff1caac7a0eb5894df251807f4ef2a0d7d4114a26d"},
	}
}

// openTurbo opens a libturbojpeg. It rejects a library whose pixels differ from Pillow's, because
// it is old or uses another inverse transform. Decoding therefore has two possible results, and not
// one per build.
func openTurbo(names ...string) (*turbo, error) {
	lib, err := dlopen.Open(names...)
	if err != nil {
		return nil, err
	}
	t := &turbo{path: lib.Path, idle: make(chan *turboCall, runtime.GOMAXPROCS(0))}
	if err := lib.Functions(t); err != nil {
		return nil, err
	}
	if lib.Functions(&t.parts) != nil {
		t.parts = turboParts{} // version 2
	}
	for _, p := range probes() {
		var m RGB
		if _, err := t.DecodeJPEG(&m, []byte(p.file), 19, 11, p.reduction, image.Rect(0, 0, 19, 11)); err != nil {
			return nil, fmt.Errorf("%s does not decode: %w", lib.Path, err)
		}
		if sum := sha256.Sum256(m.Pix); hex.EncodeToString(sum[:]) != p.sha256 {
			return nil, fmt.Errorf("%s decodes the probes to other pixels than Pillow does", lib.Path)
		}
	}
	return t, nil
}

func (t *turbo) String() string { return "libjpeg-turbo, from " + t.path }

// DecodeJPEG decodes a file. If the library fails or warns, the standard
// library decodes the file, so that errors are the same with and without the library: every error
// wraps errors.ErrUnsupported.
//
// The library must read the same header as this package before it writes anything. It does not
// decode a file that the two understand differently.
func (t *turbo) DecodeJPEG(dst *RGB, data []byte, w, h, reduction int, part image.Rectangle) (at image.Point,
	err error) {
	whole := image.Rect(0, 0, w, h)
	if t.parts.region != 0 && part != whole && reduction == 1 {
		if at, err = t.decode(dst, data, whole, part, 1); err == nil {
			return at, nil
		}
	}
	return t.decode(dst, data, whole, whole, reduction)
}

// decode decodes a part of a file, with a margin, or all of it, reduced.
func (t *turbo) decode(dst *RGB, data []byte, whole, part image.Rectangle, reduction int) (at image.Point, err error) {
	call := t.take()
	if call == nil {
		return at, errTurbo
	}
	call.file = data
	if !call.reads(t.header, &t.parts) || int(call.width) != whole.Max.X || int(call.height) != whole.Max.Y ||
		call.kind < 0 || call.kind > turboYCCK {
		t.end(call)
		return at, errTurbo
	}
	if part != whole {
		part = call.withMargin(part)
	} else {
		whole = Reduced(whole, reduction)
		part, call.width, call.height = whole, int32(whole.Dx()), int32(whole.Dy())
	}
	dst.reset(part.Dx(), part.Dy())
	call.pixels = dst.Pix
	decoded := false
	if call.kind > turboGray {
		call.pixels = make([]byte, 4*whole.Dx()*whole.Dy())
		if decoded = call.decodes(t.decompress, turboCMYK, 4); decoded {
			for i, p := range triples(dst.Pix) { // inverted, as Adobe writes and Pillow reads all of them
				p = fromCMYK([]byte{^call.pixels[4*i], ^call.pixels[4*i+1], ^call.pixels[4*i+2], ^call.pixels[4*i+3]})
				triples(dst.Pix)[i] = p
			}
		}
	} else if part == whole {
		decoded = call.decodes(t.decompress, turboRGB, 3)
	} else {
		decoded = call.decodesPart(&t.parts, part)
	}
	if !decoded {
		t.end(call)
		return at, errTurbo
	}
	t.putBack(call)
	return part.Min, nil
}

var errTurbo = fmt.Errorf("libjpeg-turbo cannot decode this file: %w", errors.ErrUnsupported)

// take returns a decompressor, or nil if the library cannot make one.
func (t *turbo) take() *turboCall {
	select {
	case call := <-t.idle:
		return call
	default:
	}
	handle := dlopen.Call(t.create)
	if handle == 0 {
		return nil
	}
	return &turboCall{handle: handle}
}

// putBack stores a decompressor for the next call.
func (t *turbo) putBack(call *turboCall) {
	call.file, call.pixels = nil, nil
	select {
	case t.idle <- call:
	default:
		t.end(call)
	}
}

// end frees a decompressor. One that has met a damaged file is not reused: in version 2, an error
// in the header leaves it inside that header.
func (t *turbo) end(call *turboCall) {
	call.args[0] = call.handle
	dlopen.Call(t.destroy, call.args[:1]...)
}

// reads lets the library read the header. Neither version names every sampling: the second still reports the sizes, the
// third only when it is asked for each.
func (c *turboCall) reads(header uintptr, parts *turboParts) bool {
	c.args = [9]uintptr{
		c.handle, uintptr(unsafe.Pointer(unsafe.SliceData(c.file))), uintptr(len(c.file)),
		uintptr(unsafe.Pointer(&c.width)), uintptr(unsafe.Pointer(&c.height)),
		uintptr(unsafe.Pointer(&c.sampling)), uintptr(unsafe.Pointer(&c.kind)),
	}
	c.width, c.height, c.sampling = 0, 0, 0
	result := dlopen.Call(header, c.args[:7]...)
	runtime.KeepAlive(c)
	if int32(result) != 0 && parts.get != 0 {
		for i, to := range []*int32{&c.sampling, &c.width, &c.height, &c.kind} {
			params := []uintptr{turboParamSampling, turboParamWidth, turboParamHeight, turboParamColours}
			*to = int32(dlopen.Call(parts.get, c.handle, params[i]))
		}
	}
	return int32(result) == 0 || c.width > 0 && c.sampling < 0
}

// decodes lets the library decode the pixels.
func (c *turboCall) decodes(decompress, format uintptr, channels int32) bool {
	c.args = [9]uintptr{
		c.handle, uintptr(unsafe.Pointer(unsafe.SliceData(c.file))), uintptr(len(c.file)),
		uintptr(unsafe.Pointer(unsafe.SliceData(c.pixels))),
		uintptr(c.width), uintptr(channels * c.width), uintptr(c.height), format, turboStopOnWarning | turboLimitScans,
	}
	result := dlopen.Call(decompress, c.args[:]...)
	runtime.KeepAlive(c)
	return int32(result) == 0
}

// withMargin enlarges a part so that its pixels are those of the whole image. A part begins with a
// block. At its left and right edges the library smooths chroma as at the edges of an image.
func (c *turboCall) withMargin(part image.Rectangle) image.Rectangle {
	const least = 32 // columns: the library does not smooth the chroma of narrow images
	block, w := 8, int(c.width)
	if c.sampling == turbo422 || c.sampling == turbo420 {
		block = 16
	}
	part.Min.X = max(part.Min.X-1, 0) / block * block
	part.Max.X = min(max(part.Max.X+2, part.Min.X+least), w)
	part.Min.X = min(part.Min.X, max(w-least, 0)/block*block)
	return part
}

// decodesPart lets the library decode the pixels of a part.
func (c *turboCall) decodesPart(parts *turboParts, part image.Rectangle) bool {
	words := func(low, high int) uintptr { return uintptr(uint64(uint32(low)) | uint64(uint32(high))<<32) }
	calls := [4][9]uintptr{
		{parts.set, c.handle, turboParamStop, 1},
		{parts.set, c.handle, turboParamScans, turboMostScans},
		{parts.region, c.handle, words(part.Min.X, part.Min.Y), words(part.Dx(), part.Dy())},
		{parts.decompress, c.handle, uintptr(unsafe.Pointer(unsafe.SliceData(c.file))), uintptr(len(c.file)),
			uintptr(unsafe.Pointer(unsafe.SliceData(c.pixels))), uintptr(3 * part.Dx()), turboRGB},
	}
	for i, n := range [...]int{3, 3, 3, 6} {
		c.args = [9]uintptr(calls[i])
		if result := dlopen.Call(c.args[0], c.args[1:1+n]...); int32(result) != 0 {
			return false
		}
	}
	runtime.KeepAlive(c)
	return true
}
