package dataset

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"hgld/internal/classes"
	"hgld/internal/registry"
	"hgld/labels"
)

// asClasses, instead of a list of split folders, says that there are none.
const asClasses = "none"

// splitFolders finds the folders that are splits, in the settings or by their names, and sets splits
// and splitAt. If all folders at the top are called like splits are here, they are splits. It
// returns an error if names at the top or further down only speak of splits.
func (src *folderSource) splitFolders(asked []string) (err error) {
	if len(asked) > 0 {
		src.splitAt = src.depthOf(asked)
		if src.splits, err = namedSplits(src.namesAt(src.splitAt), asked); err == nil && src.splitAt > 0 {
			err = src.checkSplitDepth()
		}
		return err
	}
	tops := src.namesAt(0)
	own, exact, near := splitsOf(tops)
	switch {
	case exact == len(tops), len(tops) == 1 && own[tops[0]] == src.split:
		src.splits = own
	case exact+near > 1, len(tops) == 1 && near == 1, exact+near == 1 && src.repeatsBelow(own):
		if n, first := src.besideFolders(); n > 0 { // they are no answer to the question
			return src.outside(n, first)
		}
		return setting("split_folders", proposedSplits(tops, own), asClasses)(
			"the folders %s may be splits or classes; say which", shortList(tops))
	default:
		return src.checkInnerSplits()
	}
	return nil
}

// splitsOf returns the splits of which names speak, how many of the names are those of splits, and
// how many hold such a word.
func splitsOf(names []string) (own map[string]labels.Split, exact, near int) {
	own = map[string]labels.Split{}
	for _, name := range names {
		switch split := splitIn(name); {
		case split == "":
		case labels.Split(name) == split:
			exact++
			own[name] = split
		default:
			near++
			own[name] = split
		}
	}
	return own, exact, near
}

// proposedSplits is the setting by which names are the splits of which they speak.
func proposedSplits(names []string, own map[string]labels.Split) string {
	const most = 6
	if len(names)-len(own) > most {
		return "FOLDER=SPLIT,…"
	}
	var list []string
	for _, name := range names {
		list = append(list, name+"="+cmp.Or(string(own[name]), "SPLIT"))
	}
	return strings.Join(list, ",")
}

// repeatsBelow reports whether a folder in a top folder that speaks of a split has the name of one in
// another top folder, as classes have in photos and photos_test.
func (src *folderSource) repeatsBelow(own map[string]labels.Split) bool {
	inside := [2]map[string]bool{{}, {}}
	for _, e := range src.files {
		if folders := src.folders(e.path); len(folders) > 1 {
			side := 0
			if own[folders[0]] != "" {
				side = 1
			}
			inside[side][folders[1]] = true
		}
	}
	for name := range inside[1] {
		if inside[0][name] {
			return true
		}
	}
	return false
}

// checkInnerSplits returns an error if all folders at a depth below the top speak of splits, as in
// apple/train and apple/test.
func (src *folderSource) checkInnerSplits() error {
	for at := 1; ; at++ {
		names := src.namesAt(at)
		if len(names) == 0 {
			return nil
		}
		own, exact, near := splitsOf(names)
		if len(names) > 1 && exact+near == len(names) {
			return setting("split_folders", proposedSplits(names, own), asClasses)(
				"the folders %s, inside others as in %s, may be splits or classes; say which", shortList(names),
				src.example(at))
		}
	}
}

// depthOf returns the depth of the folders that settings name: the first at which all of them occur,
// or else the top.
func (src *folderSource) depthOf(asked []string) int {
	for at := 0; ; at++ {
		names := src.namesAt(at)
		if len(names) == 0 {
			return 0
		}
		if !slices.ContainsFunc(asked, func(text string) bool {
			folder, _, _ := strings.Cut(text, "=")
			return !slices.Contains(names, folder)
		}) {
			return at
		}
	}
}

// checkSplitDepth returns an error if an image lies in no folder at the depth of the splits.
func (src *folderSource) checkSplitDepth() error {
	for _, e := range src.files {
		if len(src.folders(e.path)) <= src.splitAt {
			return fmt.Errorf("%s lies in no folder of a split, as those in %s do", e.path, src.example(src.splitAt))
		}
	}
	return nil
}

// example returns the folders around the first image that lies so deep.
func (src *folderSource) example(at int) string {
	for _, e := range src.files {
		if folders := src.folders(e.path); len(folders) > at {
			return path.Join(folders[:at+1]...)
		}
	}
	return ""
}

// namedSplits parses FOLDER=SPLIT for each folder at the top that does not have the
// name of a split.
func namedSplits(tops, asked []string) (map[string]labels.Split, error) {
	if len(asked) == 1 && asked[0] == asClasses {
		return nil, nil
	}
	own := map[string]labels.Split{}
	for _, text := range asked {
		folder, split, ok := strings.Cut(text, "=")
		switch {
		case !ok || !slices.Contains(labels.Splits, labels.Split(split)):
			return nil, fmt.Errorf("split_folders has %.80q; want FOLDER=SPLIT with a split of %v, or only %s", text,
				labels.Splits, asClasses)
		case !slices.Contains(tops, folder):
			return nil, fmt.Errorf("split_folders names %.80q, which is not one of the folders %s", folder, shortList(tops))
		}
		own[folder] = labels.Split(split)
	}
	for _, top := range tops {
		if own[top] == "" && slices.Contains(labels.Splits, labels.Split(top)) {
			own[top] = labels.Split(top)
		}
		if own[top] == "" {
			return nil, fmt.Errorf("split_folders does not name %s; want FOLDER=SPLIT for each folder at the top",
				top)
		}
	}
	return own, nil
}

// The values of Settings.PartialLabels besides those of package classes.
const (
	RepeatPartial = "repeat" // the innermost folder is the class of the missing levels
	DropPartial   = "drop"   // as keep, for [Labelled] to leave out the images
)

var partialLabels = []string{classes.RefusePartial, RepeatPartial, classes.KeepPartial, DropPartial}

// keepsPartial reports whether a table may have rows that lack levels. Tables have no innermost folder.
func keepsPartial(s Settings) (bool, error) {
	switch s.PartialLabels {
	case "", classes.RefusePartial:
		return false, nil
	case classes.KeepPartial, DropPartial:
		return true, nil
	case RepeatPartial:
		return false, fmt.Errorf("partial_labels is %s, which is for folders; want %s, %s or %s", s.PartialLabels,
			classes.RefusePartial, classes.KeepPartial, DropPartial)
	}
	return false, registry.Unknown("value of partial_labels", s.PartialLabels, partialLabels)
}

// besideFolders returns how many images lie beside the folders at the top, and the first.
func (src *folderSource) besideFolders() (n int, first string) {
	for _, e := range src.files {
		if len(src.folders(e.path)) == 0 {
			if n++; n == 1 {
				first = e.path
			}
		}
	}
	return n, first
}

// outside is the error for a number of images without a class folder.
func (src *folderSource) outside(n int, first string) error {
	return fmt.Errorf("images outside any class folder: %d of %d, %s first; move each into a folder called "+
		"after its class (CLASS/%s), or name the classes of each image in a table, and import that: a .csv with "+
		"the columns path and label",
		n, len(src.files), first, path.Base(first))
}

// checkDepth returns the number of levels. It reports images without a class folder and, unless
// the innermost folder is to be repeated, images at different depths.
func (src *folderSource) checkDepth() (depth int, err error) {
	count, example := map[int]int{}, map[int]string{}
	for _, e := range src.files {
		_, names := src.labelled(e.path)
		if count[len(names)]++; count[len(names)] == 1 {
			example[len(names)] = e.path
		}
	}
	depths := slices.Sorted(maps.Keys(count))
	if count[0] > 0 && src.table != "" {
		next := "import that file, and name its columns of classes, finest first, as levels"
		if !isFolder(src.store) {
			next = "unpack the archive, and import the folder, whose tables are then read"
		}
		return 0, fmt.Errorf("images outside any class folder: %d of %d, %s first; %s seems to describe them: %s", count[0],
			len(src.files), example[0], src.table, next)
	}
	if count[0] > 0 {
		return 0, src.outside(count[0], example[0])
	}
	if len(depths) == 1 || src.repeat || src.keep {
		return depths[len(depths)-1], nil
	}
	var found []string
	for _, d := range depths {
		found = append(found, fmt.Sprintf("at depth %d: %d, like %s", d, count[d], example[d]))
	}
	inner := path.Base(path.Dir(example[depths[0]]))
	return 0, setting("partial_labels", RepeatPartial)("every image needs a class at every level, but the images are at "+
		"different depths (%s). Use the innermost folder for the missing levels (%s/%s), or keep the images without a "+
		"class there, or name the classes of each "+
		"image in a table, and import that: a .csv with the columns path and one for each level",
		strings.Join(found, "; "), inner, inner)
}

// checkNesting asks about folders whose finer class is on top, as in apple/fruit: each
// folder holds one other folder, and the inner names repeat.
func (src *folderSource) checkNesting(depth int) error {
	if depth < 2 {
		return nil
	}
	below := map[string]map[string]bool{} // what stands in each folder above the images
	above := map[string]map[string]bool{}
	for _, e := range src.files {
		_, names := src.labelled(e.path)
		if names[0] == "" {
			continue
		}
		parent := names[1]
		if below[parent] == nil {
			below[parent] = map[string]bool{}
		}
		if above[names[0]] == nil {
			above[names[0]] = map[string]bool{}
		}
		below[parent][names[0]], above[names[0]][parent] = true, true
	}
	for _, children := range below {
		if len(children) > 1 {
			return nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(above)) {
		if len(above[name]) > 1 && len(above) < len(below) {
			parents := slices.Sorted(maps.Keys(above[name]))
			return fmt.Errorf("the levels seem to be reversed: each of the folders %s contains only one folder, "+
				"%s; the coarser class must be on top: %s/%s/image.jpg. "+
				"Swap the folders, or name the classes of each image in a table",
				shortList(parents), name, name, parents[0])
		}
	}
	return nil
}

// identify finds the levels at which a name occurs under two parents. Their classes are
// called by their path: Greek/character01 and Latin/character01 are two classes.
func (src *folderSource) identify(depth int) {
	src.byPath = make([]bool, depth)
	parents := make([]map[string]string, depth)
	for l := range parents {
		parents[l] = map[string]string{}
	}
	for _, e := range src.files {
		_, names := src.labelled(e.path)
		for l := range depth - 1 {
			if names[l] == "" {
				continue
			}
			parent := strings.Join(names[l+1:], "/")
			if before, known := parents[l][names[l]]; known && before != parent {
				src.byPath[l] = true
			}
			parents[l][names[l]] = parent
		}
	}
}

// classes returns the split and the class names of a path, finest first.
func (src *folderSource) classes(p string) (labels.Split, []string) {
	split, names := src.labelled(p)
	for l := len(names) - 2; l >= 0; l-- {
		if src.byPath[l] && names[l] != "" {
			names[l] = names[l+1] + "/" + names[l]
		}
	}
	return split, names
}

// Notes counts the files that are left out, and names folders that are no classes and levels whose
// classes are called by their path.
func (src *folderSource) Notes() (list []string) {
	list = notesOf(src.store)
	for _, note := range []string{src.unread.String(), src.others.String(), src.wrapNote()} {
		if note != "" {
			list = append(list, note)
		}
	}
	for l, is := range src.byPath {
		if is {
			_, names := src.classes(src.files[0].path)
			list = append(list,
				fmt.Sprintf("%s: some names occur under two parents and are different classes, so classes are named by their "+
					"path (%s)",
					src.levels[l], names[l]))
		}
	}
	return list
}

// shortList joins the first few names. It shortens each to a line and escapes what acts
// on a terminal.
func shortList(names []string) string {
	const few = 6
	var list []string
	for _, name := range names[:min(few, len(names))] {
		quoted := fmt.Sprintf("%.80q", name)
		list = append(list, quoted[1:len(quoted)-1])
	}
	text := strings.Join(list, ", ")
	if len(names) > few {
		text += fmt.Sprintf(" and %d more", len(names)-few)
	}
	return text
}
