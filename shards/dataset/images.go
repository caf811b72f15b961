package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"hgld/labels"
	"hgld/shards"
)

// Images are the image files of a folder, a .zip or a .tar in any layout, read in place: to
// embed them, or to show them, without making shards. The id of an image is its path, with
// slashes. Its folders are its classes where [Folder] could import them; otherwise there
// are no levels. It implements input.Dataset.
type Images struct {
	source *folderSource
	tree   *labels.Hierarchy // nil: the folders are not classes
	paths  []labels.Path
}

// OpenImages lists the images, those with further extensions too, see Settings.Extensions. It fails if
// there are none.
func OpenImages(ctx context.Context, name string, extensions ...string) (*Images, error) {
	st, err := openStore(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("dataset: images of %s: %w", name, err)
	}
	src := &folderSource{store: st, split: labels.Train, also: extensions}
	m := &Images{source: src}
	classless := src.survey(ctx, nil)
	if len(src.files) == 0 {
		return nil, fmt.Errorf("dataset: images of %s: %w", name, errors.Join(classless, st.Close()))
	}
	if classless == nil {
		m.classify()
	}
	return m, nil
}

// classify numbers the classes of the folders, if they are a tree.
func (m *Images) classify() {
	b := labels.NewBuilder(m.source.levels...)
	for _, e := range m.source.files {
		_, names := m.source.classes(e.path)
		p, err := b.Add(labels.Row{Names: names, Where: e.path})
		if err != nil {
			return
		}
		m.paths = append(m.paths, p)
	}
	m.tree = b.Hierarchy()
}

// Notes counts photographs that are left out.
func (m *Images) Notes() []string {
	if len(m.source.unread) == 0 {
		return nil
	}
	return []string{m.source.unread.String()}
}

// Len returns the number of images.
func (m *Images) Len() int { return len(m.source.files) }

// ID returns the path of an image, with slashes.
func (m *Images) ID(i int) string { return m.source.files[i].path }

// Levels returns the names of the levels, finest first; none if the folders are not classes.
func (m *Images) Levels() (names []string) {
	if m.tree == nil {
		return nil
	}
	for _, level := range m.tree.Levels {
		names = append(names, level.Name)
	}
	return names
}

// Classes names the classes of a level by number.
func (m *Images) Classes(level int) (names []string) {
	for _, class := range m.tree.Levels[level].Classes {
		names = append(names, class.Name)
	}
	return names
}

// Labels returns the classes of an image; nil if the folders are not classes.
func (m *Images) Labels(i int) labels.Path {
	if m.tree == nil {
		return nil
	}
	return m.paths[i]
}

// Image returns the bytes of an image. [Unreadable] reports whether an error concerns only
// this file.
func (m *Images) Image(ctx context.Context, i int) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e := m.source.files[i]
	r, err := m.source.store.open(e.path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, shards.MaxImageBytes+1))
	if err = errors.Join(err, r.Close()); err == nil && len(data) > shards.MaxImageBytes {
		err = fmt.Errorf("%w: more than %d bytes", errTooLong, shards.MaxImageBytes)
	}
	return data, err
}

var errTooLong = errors.New("the file is too long for an image")

// Unreadable reports whether an error of Image concerns only that file, so that the other
// images can still be read.
func Unreadable(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errTooLong) || shards.Unreadable(err)
}

// Fingerprint identifies the files by path, size and, in a .zip, checksum.
func (m *Images) Fingerprint() string {
	var used []byte
	for _, e := range m.source.files {
		used = fmt.Appendf(appendUsed(used, e), "%s\n", e.stamp)
	}
	return string(used)
}

// Close closes the folder or archive.
func (m *Images) Close() error { return m.source.Close() }
