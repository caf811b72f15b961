package img

import (
	"errors"
	"fmt"
	"image"
	"io"
)

// checkTIFF returns an error for a kind of TIFF that x/image decodes wrongly, or calls damaged.
func checkTIFF(data []byte) error {
	const compression, photometric, samples, planes, extra = 0x0103, 0x0106, 0x0115, 0x011c, 0x0152
	const rgb, cmyk, lab = 2, 5, 8
	other := map[int]string{6: "old JPEG", 7: "JPEG", 34925: "LZMA", 50000: "Zstandard", 50001: "WebP"}
	n := tiffTag(data, samples)
	switch v := tiffTag(data, compression); {
	case v >= 2 && v <= 4: // inverted in some files
		return errors.New("fax compression is not supported; save it as PNG")
	case other[v] != "":
		return fmt.Errorf("%s compression is not supported; save it as PNG", other[v])
	case tiffTag(data, photometric) == cmyk || tiffTag(data, photometric) == lab:
		return errors.New("CMYK and Lab are not supported; save it as PNG")
	case n > 1 && tiffTag(data, planes) == 2:
		return errors.New("separate planes for the colours are not supported; save it as PNG")
	case tiffTag(data, photometric) == rgb && (n > 4 || n == 4 && tiffTag(data, extra) == 0):
		return fmt.Errorf("RGB with %d samples of which the last is not opacity is not supported; save it as PNG", n)
	}
	return nil
}

// bigTIFF is the error for a TIFF with positions of 64 bits.
func bigTIFF(io.Reader) (image.Config, error) {
	return image.Config{}, errors.New("BigTIFF is not supported; save it as TIFF or PNG")
}

// tiffProfile returns the bytes of the tag of a profile.
func tiffProfile(data []byte) ([]byte, error) {
	const profile = 0x8773
	order, entry := tiffEntry(data, profile)
	if entry == nil {
		return nil, nil
	}
	n, at := uint64(order.Uint32(entry[4:])), uint64(order.Uint32(entry[8:]))
	if n <= 4 || at+n > uint64(len(data)) { // up to four bytes lie in the entry
		return nil, errDamagedProfile
	}
	return data[at : at+n], nil
}
