package dataset

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"hgld/internal/terminal"
	"hgld/labels"
)

// wrapping returns how many folders lie around all images without telling them apart, as photos in
// photos/fruit/1.jpg and photos/nuts/2.jpg. They are no classes: a level of one class says nothing
// and raises every measure over all levels. The folder that holds an image is always its class, a
// folder called like a split is one, and the names of the levels say how many levels to keep.
func wrapping(files []entry, levels, splits []string) int {
	shared := strings.Split(path.Dir(files[0].path), "/")
	deepest := 0
	for _, e := range files {
		folders := strings.Split(path.Dir(e.path), "/")
		same := 0
		for same < min(len(shared), len(folders)-1) && shared[same] == folders[same] {
			same++
		}
		shared, deepest = shared[:same], max(deepest, len(folders))
	}
	if len(levels) > 0 {
		shared = shared[:min(len(shared), max(0, deepest-len(levels)))]
	}
	for i, folder := range shared {
		declared := slices.ContainsFunc(splits, func(s string) bool { return strings.HasPrefix(s, folder+"=") })
		if declared || splitIn(folder) != "" && len(splits) == 0 || slices.Contains(labels.Splits, labels.Split(folder)) {
			return i
		}
	}
	return len(shared)
}

// wrapNote says which folders are no classes; "" if all are.
func (src *folderSource) wrapNote() string {
	if src.wrap == 0 {
		return ""
	}
	folders := strings.Join(strings.Split(src.files[0].path, "/")[:src.wrap], "/")
	return fmt.Sprintf("%s: the folder of all images is no class; name %s to make it one",
		folders, terminal.Count(src.depth+src.wrap, "level"))
}

// companions are files that programs put beside photographs. They are no images, and nobody misses
// them.
var companions = []string{"thumbs.db", "desktop.ini", "picasa.ini", "metadata.csv", "metadata.jsonl"}

// others counts files that are neither images nor photographs in a foreign format, by extension.
type others map[string]int

func (o others) add(name string) {
	ext := strings.ToLower(path.Ext(name))
	if slices.Contains(unreadable, ext) || slices.Contains(companions, strings.ToLower(path.Base(name))) {
		return
	}
	if ext == "" {
		ext = "no extension"
	}
	o[ext]++
}

// String says how many there are; "" if there is none.
func (o others) String() string {
	if len(o) == 0 {
		return ""
	}
	total := 0
	var list []string
	for _, ext := range slices.Sorted(maps.Keys(o)) {
		total += o[ext]
		list = append(list, fmt.Sprintf("%s: %d", ext, o[ext]))
	}
	const few = 8
	if more := len(list) - few; more > 0 {
		list = append(list[:few], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%s left out, not images by their names (%s)", terminal.Count(total, "file"),
		strings.Join(list, ", "))
}
