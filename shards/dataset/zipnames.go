package dataset

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"

	"hgld/internal/terminal"
)

// zipNames are the names of a zip's members, as UTF-8 with slashes.
type zipNames struct {
	names []string // "" for a member that is no image and whose name cannot be read
	note  string   // how names were read that are not UTF-8; "" if all are
}

// zipEncodings are those that programs write names in which do not say that they are UTF-8, the
// one of the format first.
var zipEncodings = []struct {
	name string
	encoding.Encoding
}{
	{"CP437", charmap.CodePage437}, {"GBK", simplifiedchinese.GBK}, {"Shift JIS", japanese.ShiftJIS},
	{"Windows-1252", charmap.Windows1252},
}

// readZipNames reads the names of members: as UTF-8, from the field that Info-ZIP adds, or else in the
// first encoding in which all of them consist of words of one script. A \ separates folders where
// the archive was made on Windows or no name has a slash.
func readZipNames(files []*zip.File) (*zipNames, error) {
	n := &zipNames{names: make([]string, len(files))}
	var foreign []int
	slashes := false
	for i, f := range files {
		n.names[i] = f.Name
		if own, ok := unicodePath(f); ok {
			n.names[i] = own
		} else if !utf8.ValidString(f.Name) {
			foreign = append(foreign, i)
		}
		slashes = slashes || strings.Contains(f.Name, "/")
	}
	if len(foreign) > 0 {
		if err := n.decode(files, foreign); err != nil {
			return nil, err
		}
	}
	for i, f := range files {
		const fat, ntfs, vfat = 0, 10, 14
		if system := f.CreatorVersion >> 8; !slashes || system == fat || system == ntfs || system == vfat {
			n.names[i] = strings.ReplaceAll(n.names[i], `\`, "/")
		}
	}
	return n, nil
}

// decode reads the names of some members that are not UTF-8.
func (n *zipNames) decode(files []*zip.File, foreign []int) error {
	for _, e := range zipEncodings {
		if example, ok := n.decodeAs(e.Encoding, files, foreign); ok {
			if example != "" {
				n.note = fmt.Sprintf("%s not in UTF-8, read as %s (%s); if that is wrong, pack the archive again with "+
					"names in UTF-8", terminal.Count(len(foreign), "name"), e.name, shortList([]string{example}))
			}
			return nil
		}
	}
	for _, i := range foreign {
		if n.names[i] = ""; isImage(files[i].Name) {
			return fmt.Errorf("member %.80q has a name in an unknown encoding; pack the archive again with names in UTF-8",
				files[i].Name)
		}
	}
	return nil
}

// decodeAs reads them in one encoding, and reports whether all are words of it. example is the first image.
func (n *zipNames) decodeAs(e encoding.Encoding, files []*zip.File, foreign []int) (example string, ok bool) {
	for _, i := range foreign {
		text, err := e.NewDecoder().String(files[i].Name)
		if err != nil || !plausible(text) || e == simplifiedchinese.GBK && !inGB2312(files[i].Name) {
			return "", false
		}
		if n.names[i] = text; example == "" && isImage(text) {
			example = text
		}
	}
	return example, true
}

// inGB2312 reports whether a name in GBK has only the common characters, those of GB 2312: nearly any
// bytes are characters of GBK.
func inGB2312(name string) bool {
	for i := 0; i < len(name); i++ {
		if name[i] < utf8.RuneSelf {
			continue
		}
		if i+1 == len(name) || name[i] < 0xb0 || name[i] > 0xf7 || name[i+1] < 0xa1 {
			return false
		}
		i++
	}
	return true
}

// scripts are those of names, which one word does not mix.
var scripts = []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Han, unicode.Hangul}

// plausible reports whether a text consists of ASCII and of words that other letters form, in one script
// each. Kana stand with Han.
func plausible(text string) bool {
	last := -1
	for _, r := range text {
		script := -1
		switch {
		case r < utf8.RuneSelf && !unicode.IsLetter(r):
		case r == utf8.RuneError, r >= 0xff00, !unicode.IsLetter(r):
			return false // also the narrow kana, as which Shift JIS reads much of GBK
		case unicode.In(r, unicode.Hiragana, unicode.Katakana), r == 'ー':
			script = 3
		default:
			for i, table := range scripts {
				if unicode.Is(table, r) {
					script = i
				}
			}
		}
		if script >= 0 && last >= 0 && script != last {
			return false
		}
		last = script
	}
	return true
}

// unicodePath returns the name that Info-ZIP writes in UTF-8 beside another one, in the field 0x7075: a
// version, the CRC-32 of the other name, the name.
func unicodePath(f *zip.File) (name string, ok bool) {
	le := binary.LittleEndian
	for extra := f.Extra; len(extra) >= 4; {
		size := int(le.Uint16(extra[2:]))
		if size > len(extra)-4 {
			break
		}
		field := extra[4 : 4+size]
		if le.Uint16(extra) == 0x7075 && size > 5 && field[0] == 1 &&
			le.Uint32(field[1:]) == crc32.ChecksumIEEE([]byte(f.Name)) && utf8.Valid(field[5:]) {
			return string(field[5:]), true
		}
		extra = extra[4+size:]
	}
	return "", false
}
