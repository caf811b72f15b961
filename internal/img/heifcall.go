package img

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"hgld/internal/dlopen"
)

// heifFunctions are the functions of libheif that every version since 1.12 has.
type heifFunctions struct {
	versionNumber uintptr `name:"heif_get_version_number"`
	haveDecoder   uintptr `name:"heif_have_decoder_for_format"`

	newContext   uintptr `name:"heif_context_alloc"`
	freeContext  uintptr `name:"heif_context_free"`
	read         uintptr `name:"heif_context_read_from_memory"` // copies the file
	primary      uintptr `name:"heif_context_get_primary_image_handle"`
	freeHandle   uintptr `name:"heif_image_handle_release"`
	width        uintptr `name:"heif_image_handle_get_width"`
	height       uintptr `name:"heif_image_handle_get_height"`
	storedWidth  uintptr `name:"heif_image_handle_get_ispe_width"`
	storedHeight uintptr `name:"heif_image_handle_get_ispe_height"`
	bits         uintptr `name:"heif_image_handle_get_luma_bits_per_pixel"`
	hasAlpha     uintptr `name:"heif_image_handle_has_alpha_channel"`
	multiplied   uintptr `name:"heif_image_handle_is_premultiplied_alpha"`

	newOptions  uintptr `name:"heif_decoding_options_alloc"`
	freeOptions uintptr `name:"heif_decoding_options_free"`
	decode      uintptr `name:"heif_decode_image"`
	freeImage   uintptr `name:"heif_image_release"`
	imageWidth  uintptr `name:"heif_image_get_width"`
	imageHeight uintptr `name:"heif_image_get_height"`
	imageBits   uintptr `name:"heif_image_get_bits_per_pixel"`
	plane       uintptr `name:"heif_image_get_plane_readonly"`
}

// The values of heif_compression_HEVC and AV1, heif_colorspace_RGB, heif_chroma_interleaved_RGB and
// RGBA, and heif_channel_interleaved in heif.h.
const (
	heifHEVC        = 1
	heifAV1         = 4
	heifRGB         = 1
	heifInterleaved = 10
	heifWithAlpha   = 11
	heifChannel     = 10
)

// heifError converts the structure {code, subcode int32; message *char}, returned in two registers.
// Its message is copied, because it may belong to the context.
func heifError(codes, message uintptr) error {
	if int32(codes) == 0 {
		return nil
	}
	text := dlopen.Text(message)
	if text == "" {
		text = fmt.Sprintf("error %d, %d", int32(codes), int32(uint64(codes)>>32))
	}
	return fmt.Errorf("libheif: %.200q", text)
}

// heifFile is a file that libheif has read. It is on the heap, because libheif writes to its fields
// and a goroutine's stack may move.
type heifFile struct {
	lib                    *heif
	context, handle, image uintptr
	stride                 int32
}

// open reads a file. The caller closes the result even after an error.
func (h *heif) open(data []byte, pixels int) (*heifFile, error) {
	f := &heifFile{lib: h}
	if f.context = dlopen.Call(h.call.newContext); f.context == 0 {
		return f, errors.New("libheif makes no context")
	}
	if h.threads != 0 {
		dlopen.Call(h.threads, f.context, 0) // the caller runs several goroutines
	}
	if h.limits != 0 {
		limitHEIF(dlopen.Call(h.limits, f.context), pixels)
	}
	err := heifError(dlopen.CallPair(h.call.read, f.context, uintptr(unsafe.Pointer(unsafe.SliceData(data))),
		uintptr(len(data)), 0))
	runtime.KeepAlive(data)
	if err != nil {
		return f, err
	}
	err = heifError(dlopen.CallPair(h.call.primary, f.context, dlopen.Address(&f.handle)))
	if err == nil && f.handle == 0 {
		err = errors.New("libheif: no primary image")
	}
	return f, err
}

// limitHEIF bounds the images of a file in struct heif_security_limits, which begins with a version
// and a number of pixels.
func limitHEIF(limits uintptr, pixels int) {
	if limits == 0 {
		return
	}
	s := *(**struct {
		version uint8
		pixels  uint64
	})(unsafe.Pointer(&limits))
	if s.version >= 1 {
		s.pixels = min(s.pixels, uint64(pixels))
	}
}

func (f *heifFile) close() {
	if f.image != 0 {
		dlopen.Call(f.lib.call.freeImage, f.image)
	}
	if f.handle != 0 {
		dlopen.Call(f.lib.call.freeHandle, f.handle)
	}
	if f.context != 0 {
		dlopen.Call(f.lib.call.freeContext, f.context)
	}
	f.image, f.handle, f.context = 0, 0, 0
}

// number calls a function that takes one pointer and returns an int.
func (f *heifFile) number(fn uintptr) int { return int(int32(dlopen.Call(fn, f.handle))) }

// header reads the sizes and checks them against a number of pixels.
func (f *heifFile) header(pixels int) (h HEIFHeader, err error) {
	call := &f.lib.call
	h = HEIFHeader{W: f.number(call.width), H: f.number(call.height), Bits: f.number(call.bits),
		Alpha: f.number(call.hasAlpha) != 0}
	w, height := f.number(call.storedWidth), f.number(call.storedHeight)
	if h.W <= 0 || h.H <= 0 || w <= 0 || height <= 0 {
		return h, fmt.Errorf("size %d×%d, stored as %d×%d", h.W, h.H, w, height)
	}
	if w > pixels/height || h.W > pixels/h.H {
		return h, fmt.Errorf("%w: %d×%d pixels, limit %d", ErrTooBig, max(w, h.W), max(height, h.H), pixels)
	}
	h.Stored = max(w*height, h.W*h.H)
	return h, nil
}

// inspect reads the header of a file; see HEIFDecoder.
func (h *heif) inspect(data []byte, pixels int) (HEIFHeader, error) {
	f, err := h.open(data, pixels)
	defer f.close()
	if err != nil {
		return HEIFHeader{}, err
	}
	return f.header(pixels)
}

// decodeRows hands over one row of RGB after the other, which do does not keep. Versions before 1.19 decode
// all pixels in the codec's data, even if the header declares fewer: the limits of the child bound them.
func (h *heif) decodeRows(data []byte, want HEIFHeader, do func(row []byte) error) error {
	const padding = 1 << 20 // beyond twice the pixels: codecs and tiles pad the last blocks
	f, err := h.open(data, 2*want.Stored+padding)
	defer f.close()
	if err != nil {
		return err
	}
	if got, err := f.header(want.Stored); err != nil || got != want {
		return errors.Join(err, errors.New("the header has changed"))
	}
	chroma, depth := uintptr(heifInterleaved), 3
	if want.Alpha {
		chroma, depth = heifWithAlpha, 4
	}
	if err := f.decode(chroma); err != nil {
		return err
	}
	return f.rows(want, depth, do)
}

// decode lets libheif convert the image to bytes of RGB or RGBA. libheif also rotates, mirrors and
// crops it.
func (f *heifFile) decode(chroma uintptr) error {
	call := &f.lib.call
	at := dlopen.Call(call.newOptions)
	if at == 0 {
		return errors.New("libheif makes no options")
	}
	defer dlopen.Call(call.freeOptions, at)
	options := *(**struct { // heif_decoding_options up to version 2
		version  uint8
		_        [7]uint8
		progress [4]uintptr
		toBytes  uint8
	})(unsafe.Pointer(&at))
	if options.version < 2 {
		return fmt.Errorf("libheif has decoding options of version %d; want 2 or more", options.version)
	}
	options.toBytes = 1
	err := heifError(dlopen.CallPair(call.decode, f.handle, dlopen.Address(&f.image), heifRGB, chroma, at))
	if err == nil && f.image == 0 {
		err = errors.New("libheif: no image")
	}
	return err
}

// rows checks the layout of the image that decode made, and hands its rows over.
func (f *heifFile) rows(want HEIFHeader, depth int, do func(row []byte) error) error {
	call := &f.lib.call
	of := func(fn uintptr) int { return int(int32(dlopen.Call(fn, f.image, heifChannel))) }
	w, h, bits := of(call.imageWidth), of(call.imageHeight), of(call.imageBits)
	if w != want.W || h != want.H {
		return fmt.Errorf("%d×%d pixels where the header says %d×%d", w, h, want.W, want.H)
	}
	at := dlopen.Call(call.plane, f.image, heifChannel, dlopen.Address(&f.stride))
	stride := int(f.stride)
	if at == 0 || bits != 8*depth || stride < depth*w {
		return fmt.Errorf("libheif returned %d bits a pixel in rows of %d bytes", bits, stride)
	}
	multiplied := depth == 4 && f.number(call.multiplied) != 0
	plane := unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), stride*(h-1)+depth*w)
	opaque := make([]byte, 3*w)
	for y := range h {
		row := plane[y*stride:][:depth*w]
		if depth == 4 {
			for x, pixels := 0, triples(opaque); x < w; x++ {
				pixels[x] = heifOnWhite([4]byte(row[4*x:]), multiplied)
			}
			row = opaque
		}
		if err := do(row); err != nil {
			return err
		}
	}
	runtime.KeepAlive(f)
	return nil
}

// heifOnWhite blends a pixel onto white. If multiplied is set, the colours are already multiplied
// by the opacity.
func heifOnWhite(p [4]byte, multiplied bool) [3]byte {
	if multiplied {
		rest := 255 - p[3]
		return [3]byte{clip8(int32(p[0]) + int32(rest)), clip8(int32(p[1]) + int32(rest)), clip8(int32(p[2]) + int32(rest))}
	}
	return [3]byte{onWhite(p[0], p[3]), onWhite(p[1], p[3]), onWhite(p[2], p[3])}
}
