package img

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// The files are odd, and libjpeg, libpng, Pillow and browsers show them. want is the middle of each quarter as Pillow
// 12.3 gives it; of the PNG with a wrong checksum, which Pillow refuses, as it was drawn.
func TestFilesThatBrowsersShowAreDecoded(t *testing.T) {
	const drawn, coded, other = "c81e28 28be3c 1e3cc8 e6dc5a", "c81e27 28bd3b 1f3cc8 e6dc59", "c71d26 27be3b 1c3bc7 e5dc59"
	library := must.Get(DefaultJPEG())(t)
	for name, c := range map[string]struct {
		w, h    int
		want    string
		library bool // only libjpeg-turbo decodes it
	}{
		"bmp16_565.bmp": {128, 96, "cd1c29 29be39 183ccd e6de5a", false}, "bmp_rle8.bmp": {128, 96, drawn, false},
		"gif_frame_larger.gif": {128, 96, drawn, false}, "gif_too_much_data.gif": {128, 96, drawn, false},
		"png_extra_data.png": {128, 96, drawn, false}, "png_iccp_badcrc.png": {128, 96, drawn, false},
		"png_trns_before_plte.png": {128, 96, "ffffff 93de9d 1e3cc8 e6dc5a", false},
		"mjpeg_no_dht.jpg":         {128, 96, coded, false},
		"cmyk_noadobe.jpg":         {128, 96, drawn, true}, "ycck_422.jpg": {128, 96, "c91d29 29be3e 1f3bca e7dc5c", true},
		"noninterleaved_restart.jpg": {123, 91, other, true}, "prog_rst.jpg": {128, 96, coded, true},
		"p_2x1_1x1_2x1.jpg": {123, 91, other, true}, "s_1x1_2x2_2x2.jpg": {123, 91, other, true},
		"s_2x2_1x1_1x2.jpg": {123, 91, other, true}, "arithmetic.jpg": {128, 96, coded, true},
		"bigtiff.tif": {128, 96, drawn, false}, "tiff_zstd.tif": {128, 96, drawn, false},
		"tiff_cmyk_lzw.tif": {128, 96, drawn, false}, "tiff_jpeg_strips.tif": {128, 96, drawn, false},
		"tiff_jpeg_ycc.tif": {128, 96, other, false}, "tiff_ycc_lzw.tif": {128, 96, other, false},
		"tiff_predictor_planes.tif": {128, 96, drawn, false}, "tiff_planes_strips.tif": {128, 96, drawn, false},
		"tiff_bilevel_group4.tif":      {128, 96, "000000 ffffff 000000 ffffff", false},
		"tiff_grey2_white_is_zero.tif": {128, 96, "ffffff aaaaaa 555555 000000", false},
		"tiff_palette4.tif":            {128, 96, drawn, false}, "bmp_rle4_absolute.bmp": {128, 96, drawn, false},
		"png_palette1_adam7.png": {128, 96, "ffffff 93de9d ffffff 93de9d", false},
		"bmp_os2_palette.bmp":    {128, 96, drawn, false},
	} {
		data := must.Get(os.ReadFile(filepath.Join("testdata", "lenient", name)))(t)
		for _, d := range []Decoder{{}, {JPEG: library}, {JPEG: library, GoFirst: true}} {
			m, err := d.Decode(data)
			if c.library && d.JPEG == nil {
				if err == nil || !strings.Contains(err.Error(), turboAdvice) {
					t.Errorf("%s: %v without a library; want an error that says what helps", name, err)
				}
				continue
			}
			info, other := d.Info(data)
			if err != nil || other != nil || m.W != c.w || m.H != c.h || info.W != c.w || info.H != c.h {
				t.Errorf("%s: %v, %v, %+v; want %d×%d", name, err, other, info, c.w, c.h)
				continue
			}
			for i, text := range strings.Fields(c.want) {
				var want [3]byte
				must.Get(fmt.Sscanf(text, "%02x%02x%02x", &want[0], &want[1], &want[2]))(t)
				got := m.row(m.H/4 + m.H/2*(i/2))[m.W/4+m.W/2*(i%2)]
				for k := range got {
					if off := int(got[k]) - int(want[k]); off < -2 || off > 2 { // rounding in the transform and of inks
						t.Errorf("%s, %+v: quarter %d is %x, want %x", name, d, i, got, want)
					}
				}
			}
		}
	}
}

// What is mended is not what is damaged: a changed byte of the pixels stays an error.
func TestDamageIsNotMended(t *testing.T) {
	for name, change := range map[string]func(data []byte) []byte{
		"png_iccp_badcrc.png": func(data []byte) []byte {
			data[bytes.Index(data, []byte("IDAT"))+20] ^= 1
			return data
		},
		"png_extra_data.png":    func(data []byte) []byte { return data[:len(data)-20] },
		"gif_too_much_data.gif": func(data []byte) []byte { return data[:len(data)/2] },
		"bmp_rle8.bmp":          func(data []byte) []byte { return data[:len(data)/2+600] },
		"mjpeg_no_dht.jpg":      func(data []byte) []byte { return data[:len(data)*3/4] },
		"tiff_zstd.tif": func(data []byte) []byte {
			return bytes.Replace(data, []byte{40, 181, 47}, []byte{40, 181, 46}, 1)
		},
		"tiff_palette4.tif": func(data []byte) []byte { return data[:len(data)-10] },
		"bigtiff.tif":       func(data []byte) []byte { return data[:len(data)-10] },
	} {
		data := must.Get(os.ReadFile(filepath.Join("testdata", "lenient", name)))(t)
		if m, err := new(Decoder).Decode(change(data)); err == nil {
			t.Errorf("%s is decoded to %d×%d pixels, though it is damaged", name, m.W, m.H)
		}
	}
}

func TestFilesThatAreNoImagesAreNamed(t *testing.T) {
	for start, want := range map[string]string{
		"version https://git-lfs.github.com/spec/v1\n": "git lfs pull", "\n<!DOCTYPE html>": "a web page",
		"<?xml version=\"1.0\"?><svg/>": "SVG", "\x00\x00\x00\x0cjP  \r\n": "JPEG 2000", "\xff\x0a": "JPEG XL",
		"\x89PNG\r\n\x1a\n\x00\x00\x00\x04CgBI\x50\x00\x20\x02\x00\x00\x00\x00": "png",
		"anything": "not an image of a known format",
	} {
		if _, err := new(Decoder).Decode([]byte(start)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", start, err, want)
		}
	}
	// The orientation in one byte, as some cameras write it in the order of Motorola.
	const block = "MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x01\x00\x00\x00\x01\x06\x00\x00\x00"
	if got := tiffOrientation([]byte(block)); got != 6 {
		t.Errorf("orientation %d, want 6", got)
	}
}

// The library decodes inks, too: their chroma of half the resolution is smoothed, as Pillow 12.3 shows it between two
// quarters.
func TestInksOfHalfTheResolutionAreSmoothed(t *testing.T) {
	library := must.Get(DefaultJPEG())(t)
	if library == nil {
		t.Skip("no libjpeg-turbo")
	}
	data := must.Get(os.ReadFile(filepath.Join("testdata", "lenient", "ycck_420.jpg")))(t)
	m := must.Get((&Decoder{JPEG: library}).Decode(data))(t)
	got, want := [][3]byte{m.row(24)[63], m.row(24)[64], m.row(47)[30], m.row(48)[30]},
		[][3]byte{{0x95, 0x39, 0x22}, {0x5d, 0xa2, 0x45}, {0xa2, 0x29, 0x56}, {0x46, 0x30, 0x9d}}
	for i := range want {
		for k := range 3 {
			if off := int(got[i][k]) - int(want[i][k]); off < -1 || off > 1 { // rounding of inks
				t.Errorf("pixel %d is %x, want %x", i, got[i], want[i])
			}
		}
	}
}
