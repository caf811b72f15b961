package dataset

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"hgld/labels"
)

// asClasses, instead of a list of split folders, says that there are none.
const asClasses = "none"

// likeSplits are folder names that mean a split under another name.
var likeSplits = map[string]labels.Split{
	"training": labels.Train, "trn": labels.Train, "background": labels.Train,
	"testing": labels.Test, "tst": labels.Test, "evaluation": labels.Test, "eval": labels.Test,
	"validation": labels.Val, "valid": labels.Val, "dev": labels.Val, "development": labels.Val,
}

// splitLike returns the split that a folder's name means, "" for none.
func splitLike(folder string) labels.Split {
	name := strings.ToLower(folder)
	for _, around := range []string{"images", "image", "imgs", "img", "set", "data"} {
		name = strings.TrimSuffix(strings.TrimPrefix(name, around+"_"), "_"+around)
		name = strings.TrimSuffix(strings.TrimPrefix(name, around+"-"), "-"+around)
	}
	if slices.Contains(labels.Splits, labels.Split(name)) {
		return labels.Split(name)
	}
	return likeSplits[name]
}

// splitFolders returns the splits of the folders at the top: those that the settings
// name, or all folders if all have names of splits. It returns nil if the folders are
// classes.
func splitFolders(tops []string, asked []string) (map[string]labels.Split, error) {
	if len(asked) > 0 {
		return namedSplits(tops, asked)
	}
	exact, near := 0, 0
	own := map[string]labels.Split{}
	var proposal []string
	for _, top := range tops {
		own[top] = splitLike(top)
		switch {
		case labels.Split(top) == own[top]:
			exact++
		case own[top] != "":
			near++
		}
		if own[top] != "" {
			proposal = append(proposal, top+"="+string(own[top]))
		}
	}
	switch {
	case exact == len(tops):
		return own, nil
	case exact+near == len(tops) && len(tops) > 1:
		return nil, setting("split_folders", strings.Join(proposal, ","), asClasses)(
			"the folders %s may be splits or classes; say which", strings.Join(tops, ", "))
	case exact > 1:
		return nil, setting("split_folders", "FOLDER=SPLIT,…", asClasses)("some of the folders %s have names of "+
			"splits (%v) and others do not; say what they are", shortList(tops), labels.Splits)
	}
	return nil, nil
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

// The values of Settings.Uneven.
const (
	refuseUneven    = "refuse"
	repeatInnermost = "repeat"
)

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
		return 0, fmt.Errorf("images outside any class folder: %d of %d, %s first; %s seems to describe them: import "+
			"that file, and name its columns of classes, finest first, as levels", count[0], len(src.files), example[0],
			src.table)
	}
	if count[0] > 0 {
		return 0, fmt.Errorf("images outside any class folder: %d of %d, %s first; move each into a folder called "+
			"after its class (CLASS/%s), or name the classes of each image in a table, and import that: a .csv with "+
			"the columns path and label",
			count[0], len(src.files), example[0], path.Base(example[0]))
	}
	if len(depths) == 1 || src.repeat {
		return depths[len(depths)-1], nil
	}
	var found []string
	for _, d := range depths {
		found = append(found, fmt.Sprintf("at depth %d: %d, like %s", d, count[d], example[d]))
	}
	inner := path.Base(path.Dir(example[depths[0]]))
	return 0, setting("uneven", repeatInnermost)("every image needs a class at every level, but the images are at "+
		"different depths (%s). Use the innermost folder for the missing levels (%s/%s), or name the classes of each "+
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
		if src.byPath[l] {
			names[l] = names[l+1] + "/" + names[l]
		}
	}
	return split, names
}

// Notes counts the files that are left out, and names folders that are no classes and levels whose
// classes are called by their path.
func (src *folderSource) Notes() (list []string) {
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
