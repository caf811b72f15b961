package img

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// An ICC profile says which colours the numbers of an image mean (ICC.1:2022). Without it, readers
// take them for sRGB.

const (
	profileHeader  = 128
	largestProfile = 4 << 20 // twice the largest of those that printers publish
	profileSegment = 1<<16 - 1 - 2 - len(profileMark) - 2
	profileMark    = "ICC_PROFILE\x00"
)

// errDamagedProfile is the error of a profile with a part missing, of another length than it
// declares, or beyond the limit.
var errDamagedProfile = errors.New("damaged")

// Profile returns the ICC profile of the pixels that Decode returns for a file, byte for byte as it
// is stored there, or nil if the file has none. It looks into JPEG, PNG, WebP, TIFF, HEIC and AVIF.
// A file whose profile does not describe those pixels is an error that says why in one or two words:
// the profile is damaged, or it is for another colour space, such as CMYK, whose pixels Decode
// converts. It takes at most 4 MiB.
func Profile(data []byte) ([]byte, error) {
	stored, err := storedProfile(data)
	if err != nil || stored == nil {
		return nil, err
	}
	if len(stored) <= profileHeader || len(stored) > largestProfile ||
		int(binary.BigEndian.Uint32(stored)) > len(stored) || string(stored[36:40]) != "acsp" {
		return nil, errDamagedProfile
	}
	switch space := string(stored[16:20]); space {
	case "RGB ":
		return stored, nil
	case "GRAY", "CMYK", "Lab ", "XYZ ", "YCbr", "Luv ", "HSV ", "HLS ", "Yxy ", "CMY ":
		return nil, fmt.Errorf("for %s", strings.TrimSpace(space))
	}
	return nil, errDamagedProfile
}

// storedProfile returns what a file has in the place of a profile.
func storedProfile(data []byte) ([]byte, error) {
	if heifFormat(data) != "" {
		return heifProfile(data)
	}
	f, err := sniff(data)
	if err != nil {
		return nil, nil
	}
	switch f.name {
	case "jpeg":
		return jpegProfile(data)
	case "png":
		return pngProfile(data)
	case "webp":
		const header = 12
		for _, c := range chunks(data[header:]) {
			if c.name == "ICCP" {
				return c.data, nil
			}
		}
	case "tiff":
		return tiffProfile(data)
	}
	return nil, nil
}

// jpegProfile joins the segments of a profile, which are numbered from 1 and may be in any order.
func jpegProfile(data []byte) ([]byte, error) {
	var parts [][]byte
	h := jpegHeader{profile: &parts}
	h.read(data)
	if len(parts) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(parts, func(a, b []byte) int { return bytes.Compare(a[:min(len(a), 1)], b[:min(len(b), 1)]) })
	joined := []byte{}
	for i, part := range parts {
		if len(part) < 2 || int(part[0]) != i+1 || int(part[1]) != len(parts) {
			return nil, errDamagedProfile
		}
		joined = append(joined, part[2:]...)
	}
	if h.channels == 4 && string(joined[min(16, len(joined)):min(20, len(joined))]) != "CMYK" {
		return nil, errors.New("of a CMYK image")
	}
	return joined, nil
}

// pngProfile decompresses the chunk iCCP: a name, a zero, the method 0, and zlib.
func pngProfile(data []byte) ([]byte, error) {
	body := pngChunk(data, "iCCP")
	if body == nil {
		return nil, nil
	}
	_, packed, _ := bytes.Cut(body, []byte{0})
	if len(packed) == 0 || packed[0] != 0 {
		return nil, errDamagedProfile
	}
	r, err := zlib.NewReader(bytes.NewReader(packed[1:]))
	if err != nil {
		return nil, errDamagedProfile
	}
	profile, err := io.ReadAll(io.LimitReader(r, largestProfile+1))
	if err != nil {
		return nil, errDamagedProfile
	}
	return profile, nil
}

// profileSegments returns the segments APP2 of a JPEG file with a profile.
func profileSegments(profile []byte) (out []byte) {
	count := (len(profile) + profileSegment - 1) / profileSegment
	if count > 255 {
		panic(fmt.Sprintf("img: a profile of %d bytes", len(profile)))
	}
	number := byte(0)
	for part := range slices.Chunk(profile, profileSegment) {
		number++
		out = append(out, 0xff, 0xe2)
		out = binary.BigEndian.AppendUint16(out, uint16(2+len(profileMark)+2+len(part)))
		out = append(append(out, profileMark...), number, byte(count))
		out = append(out, part...)
	}
	return out
}
