package dataset

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"hgld/internal/terminal"
)

// unreadable are the extensions of photographs in formats that hgld does not decode: those of
// phones and newer codecs, and the raw files of cameras.
var unreadable = []string{".heic", ".heif", ".avif", ".jxl", ".jp2", ".dng", ".cr2", ".cr3", ".nef", ".arw", ".orf",
	".raf", ".rw2"}

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
	if len(f) == 0 {
		return ""
	}
	var total int
	var list []string
	for _, ext := range slices.Sorted(maps.Keys(f)) {
		total += f[ext]
		list = append(list, fmt.Sprintf("%s: %d", ext, f[ext]))
	}
	return fmt.Sprintf("%s left out, in formats that hgld does not read (%s); save them as JPEG to use them",
		terminal.Count(total, "file"), strings.Join(list, ", "))
}
