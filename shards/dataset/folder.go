package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hgld/internal/classes"
	"hgld/internal/registry"
	"hgld/labels"
	"hgld/shards"
)

// Folder imports images from class folders of any depth, in a folder or archive:
//
//	[split/]coarsest/…/finest/image.jpg
//
// The folders are the levels; the one that holds the image is the finest. A folder around all
// others, such as an archive has, is no class, unless Settings.Levels counts it. If all folders
// at the top have names of splits (train, val, test, index, query, gallery), they are the
// splits; Settings.SplitFolders declares others, also further down (finest/split/image.jpg). Names
// that only speak of splits (train2017, seg_test) are an error until it says what they are. If a
// name occurs under two parents, all classes of the level are called by their path. All images lie
// at one depth, unless Settings.PartialLabels allows others. Links to folders are followed within the
// named folder. Hidden files, and files without the extension of an image, are left out;
// photographs in a format that hgld does not read are counted in the notes.
type Folder struct{}

// Open lists the images. It fails if they are at different depths, and returns an
// [classes.OrderError] if the level names appear to be coarsest first.
func (Folder) Open(ctx context.Context, s Settings) (shards.Source, error) {
	if s.Images != "" || s.Labels != "" || s.Columns != (Columns{}) {
		return nil, errors.New("dataset: folder takes images and labels from its input; leave out the settings images, " +
			"labels and columns")
	}
	src, err := openFolderSource(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("dataset: folder %s: %w", s.Input, err)
	}
	return src, nil
}

type folderSource struct {
	store  store
	files  []entry
	splits map[string]labels.Split // by the names of folders; nil: all folders are classes
	split  labels.Split
	levels []string
	byPath []bool // levels whose classes are called by their path
	repeat bool   // the innermost folder is the class at the missing finer levels
	keep   bool   // the missing finer levels stay without a class
	depth  int    // levels; 0 until known
	wrap   int    // folders around all images, which are no classes
	// splitAt is the depth of the folders that are splits, below the wrapping ones.
	splitAt int
	also    []string // extensions of images beyond the usual ones
	unread  foreign  // photographs that are left out
	others  others   // other files that are left out
	table   string   // metadata.csv or metadata.jsonl beside the images, "" if there is none
}

func openFolderSource(ctx context.Context, s Settings) (*folderSource, error) {
	if !slices.Contains(append([]string{""}, partialLabels...), s.PartialLabels) {
		return nil, registry.Unknown("value of partial_labels", s.PartialLabels, partialLabels)
	}
	st, err := openStore(ctx, s.Input)
	if err != nil {
		return nil, err
	}
	src := &folderSource{store: st, split: s.Split, levels: s.Levels, repeat: s.PartialLabels == RepeatPartial,
		keep: s.PartialLabels == classes.KeepPartial || s.PartialLabels == DropPartial, also: s.Extensions}
	if src.split == "" {
		src.split = labels.Train
	}
	if err := src.survey(ctx, s.SplitFolders); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return src, nil
}

// survey finds the images, their depth, and whether the top folders are splits.
func (src *folderSource) survey(ctx context.Context, splits []string) error {
	all, err := src.store.list(ctx)
	if err != nil {
		return err
	}
	src.unread, src.others = foreign{}, others{}
	for _, e := range all {
		if isImage(e.path) || slices.Contains(src.also, strings.ToLower(path.Ext(e.path))) {
			src.files = append(src.files, e)
			continue
		}
		if strings.HasPrefix(path.Base(e.path), "metadata.") {
			src.table = e.path
		}
		src.unread.add(e.path)
		src.others.add(e.path)
	}
	if i := slices.IndexFunc(src.files, func(e entry) bool { return !utf8.ValidString(e.path) }); i >= 0 {
		err := &NameError{src.files[i].path}
		src.files = nil
		return err
	}
	if len(src.files) == 0 {
		text := "no images found (jpg, jpeg, png, gif, webp, bmp, tif, tiff)"
		for _, left := range []string{src.unread.String(), src.others.String()} {
			if left != "" {
				text += ": " + left
			}
		}
		if slices.ContainsFunc(all, func(e entry) bool { return strings.EqualFold(path.Ext(e.path), ".tar") }) {
			text += "; TAR files of samples are the data set webdataset, and one of class folders is named itself"
		}
		return errors.New(text)
	}
	src.wrap = wrapping(src.files, src.levels, splits)
	if err := src.splitFolders(splits); err != nil {
		return err
	}
	depth, err := src.checkDepth()
	if err != nil {
		return err
	}
	src.depth = depth
	if len(splits) == 0 { // a user who named the split folders has looked at them
		if err := src.checkNesting(depth); err != nil {
			return err
		}
	}
	src.identify(depth)
	if len(src.levels) == 0 {
		for l := range depth {
			src.levels = append(src.levels, "level_"+strconv.Itoa(l))
		}
	}
	if len(src.levels) != depth {
		return fmt.Errorf("%d level names (%s), but folders are %d deep, like %s",
			len(src.levels), strings.Join(src.levels, ", "), depth, src.files[0].path)
	}
	return classes.CheckNames(src.levels)
}

// folders returns the folders of a path, outermost first, without the wrapping ones.
func (src *folderSource) folders(p string) []string {
	parts := strings.Split(p, "/")
	return parts[min(src.wrap, len(parts)-1) : len(parts)-1]
}

// namesAt returns the names of the folders at a depth below the wrapping ones, sorted, and at depth 0
// those of the images beside them.
func (src *folderSource) namesAt(depth int) []string {
	names := map[string]bool{}
	for _, e := range src.files {
		switch folders := src.folders(e.path); {
		case depth < len(folders):
			names[folders[depth]] = true
		case depth == 0:
			names[path.Base(e.path)] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func isImage(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff":
		return true
	}
	return false
}

// labelled returns the split and the folder names of a path, finest first.
func (src *folderSource) labelled(p string) (labels.Split, []string) {
	parts := src.folders(p)
	split := src.split
	if src.splits != nil && len(parts) > src.splitAt {
		split = src.splits[parts[src.splitAt]]
		parts = slices.Delete(parts, src.splitAt, src.splitAt+1)
	}
	for src.repeat && len(parts) > 0 && len(parts) < src.depth {
		parts = append(parts, parts[len(parts)-1])
	}
	slices.Reverse(parts)
	if src.keep && len(parts) > 0 && len(parts) < src.depth {
		parts = slices.Concat(make([]string, src.depth-len(parts)), parts)
	}
	return split, parts
}

func (src *folderSource) Levels() []string { return src.levels }
func (src *folderSource) Landmarks() bool  { return false }

func (src *folderSource) Items(ctx context.Context) iter.Seq2[shards.Item, error] {
	return func(yield func(shards.Item, error) bool) {
		for _, e := range src.files {
			if err := ctx.Err(); err != nil {
				yield(shards.Item{}, err)
				return
			}
			split, names := src.classes(e.path)
			item := shards.Item{ID: shards.NewImageID(e.path), Path: e.path, Split: split, Names: names,
				Partial: src.keep, Where: e.path, Size: e.size, Missing: e.gone, Stamp: e.stamp,
				Open: func() (io.ReadCloser, error) { return src.store.open(e.path) }}
			if !yield(item, nil) {
				return
			}
		}
	}
}

func (src *folderSource) Inputs(ctx context.Context, wanted func(int) bool) ([]shards.Input, error) {
	if !wanted(0) {
		return make([]shards.Input, 1), nil
	}
	var used []byte
	for _, e := range src.files {
		used = appendUsed(used, e)
	}
	in, err := src.store.input(ctx, used)
	return []shards.Input{in}, err
}

// appendUsed appends the line of a file to the list by which a folder is hashed.
func appendUsed(list []byte, e entry) []byte {
	return fmt.Appendf(list, "%s\t%d\n", e.path, e.size)
}

func (src *folderSource) Close() error { return src.store.Close() }
