package dataset

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"hgld/internal/img"
	"hgld/internal/terminal"
)

// unreadable are the extensions of photographs in formats that hgld does not decode: those of
// phones and newer codecs, and the raw files of cameras.
var unreadable = []string{".heic", ".heif", ".hif", ".avif", ".jxl", ".jp2", ".dng", ".cr2", ".cr3", ".nef", ".arw",
	".orf", ".raf", ".rw2"}

// phones are those among them that are read where libheif is installed.
var phones = []string{".heic", ".heif", ".hif", ".avif"}

// foreign counts photographs that hgld does not decode, by extension.
type foreign map[string]int

// add counts a file if it is such a photograph.
func (f foreign) add(name string) {
	if ext := strings.ToLower(path.Ext(name)); slices.Contains(unreadable, ext) {
		f[ext]++
	}
}

// String returns a note with their number and the next step, "" if there are none.
func (f foreign) String() string {
	var notes []string
	if n, list := f.countWhere(func(ext string) bool { return slices.Contains(phones, ext) }); n > 0 {
		notes = append(notes, fmt.Sprintf("%s left out, in formats that hgld reads by libheif (%s); install it (%s; `hgld "+
			"doctor` says what is missing), or save them as JPEG", terminal.Count(n, "file"), list, img.HEIFPackages))
	}
	if n, list := f.countWhere(func(ext string) bool { return !slices.Contains(phones, ext) }); n > 0 {
		notes = append(notes, fmt.Sprintf("%s left out, in formats that hgld does not read (%s); save them as JPEG to "+
			"use them", terminal.Count(n, "file"), list))
	}
	return strings.Join(notes, "; ")
}

// countWhere sums up and lists the extensions that belong.
func (f foreign) countWhere(belongs func(ext string) bool) (total int, list string) {
	var each []string
	for _, ext := range slices.Sorted(maps.Keys(f)) {
		if belongs(ext) {
			total += f[ext]
			each = append(each, fmt.Sprintf("%s: %d", ext, f[ext]))
		}
	}
	return total, strings.Join(each, ", ")
}
