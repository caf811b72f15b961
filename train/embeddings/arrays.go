package embeddings

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/tensorfile"
	"hgld/internal/torchfile"
	"hgld/train/retrieval"
)

// The names of the arrays of a file with several that are not chosen by their type.
var (
	labelNames = []string{"labels", "label", "targets", "target"}
	idNames    = []string{"ids", "id", "paths", "filenames"}
)

// ContentError says that a file is sound, but does not hold what is wanted.
type ContentError struct{ Err error }

// Error is the text of Err.
func (e *ContentError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *ContentError) Unwrap() error { return e.Err }

func content(format string, args ...any) error { return &ContentError{fmt.Errorf(format, args...)} }

// arrayKinds are the extensions of files that openArrays opens.
var arrayKinds = []string{".npz", ".safetensors", ".pt", ".pth", ".pkl", ".pickle"}

// arrays are those of an .npz, a .safetensors or a file of torch.save or pickle.dump, of which nothing is executed.
type arrays struct {
	list []tensorfile.Tensor // perhaps without data
	read func(name string) (tensorfile.Tensor, error)
	says string // what an .npz holds, for messages
	io.Closer
}

func openArrays(path string) (*arrays, error) {
	switch filepath.Ext(path) {
	case ".npz":
		z, err := tensorfile.OpenNPZ(path)
		if err != nil {
			return nil, err
		}
		return &arrays{z.Arrays, z.Tensor, "; " + members(z), z}, nil
	case ".safetensors":
		f, err := tensorfile.OpenSafetensors(path)
		if err != nil {
			return nil, err
		}
		return &arrays{shapesOf(f), f.Tensor, "", f}, nil
	}
	all, err := torchfile.ReadValues(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &arrays{all, func(name string) (tensorfile.Tensor, error) {
		return all[slices.IndexFunc(all, func(t tensorfile.Tensor) bool { return t.Name == name })], nil
	}, "", io.NopCloser(nil)}, nil
}

// members lists what an .npz holds.
func members(z *tensorfile.NPZ) string {
	var list []string
	for _, a := range z.Arrays {
		list = append(list, fmt.Sprintf("%.80q %s%v", a.Name, a.DType, a.Shape))
	}
	for _, err := range z.Unread {
		list = append(list, err.Error())
	}
	if len(list) == 0 {
		return "it is empty"
	}
	return "it holds " + firstFew(list)
}

// shapesOf lists the tensors of a file without their data.
func shapesOf(f *tensorfile.File) (all []tensorfile.Tensor) {
	for _, name := range f.Names() {
		dtype, shape, err := f.Shape(name)
		if err == nil { // the file has each of its names
			all = append(all, tensorfile.Tensor{Name: name, DType: dtype, Shape: shape})
		}
	}
	return all
}

// readMatrix reads vectors into memory.
func readMatrix(path string) (*retrieval.Matrix, error) {
	a, err := openArrays(path)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	t, err := vectorsAmong(a.list)
	if err != nil {
		return nil, fmt.Errorf("%s: %w%s", path, err, a.says)
	}
	if t, err = a.read(t.Name); err == nil && t.Shape[0] > 0 && t.Shape[1] == 0 {
		err = content("its %d rows have no numbers", t.Shape[0])
	}
	m := &retrieval.Matrix{}
	if err == nil {
		m.Cols = t.Shape[1]
		m.Values, err = t.Float32()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// readArrays reads the labels of a file of arrays, tensors or lists.
func readArrays(path string, o *reading) (*sheet, error) {
	a, err := openArrays(path)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	s, err := labelsAmong(path, a.list, a.read, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w%s", path, err, a.says)
	}
	return s, nil
}

// labelsAmong makes a sheet of the labels among the arrays of a file, which read reads: those with a name
// of labelNames, or the only ones of integers or texts beside those of idNames, which name the rows.
func labelsAmong(path string, all []tensorfile.Tensor, read func(name string) (tensorfile.Tensor, error),
	o *reading) (*sheet, error) {
	has := func(name string) bool {
		return slices.ContainsFunc(all, func(t tensorfile.Tensor) bool { return t.Name == name })
	}
	names := o.asked
	if len(names) == 0 {
		name, err := labelArray(all, has)
		if err != nil && !(o.onlyIDs && slices.ContainsFunc(idNames, has)) {
			return nil, err
		}
		if err == nil {
			names = []string{name}
		}
	}
	s := &sheet{path: path, where: rowOf(path), other: map[string][]string{}, asked: len(o.asked) > 0}
	for _, name := range names {
		if !has(name) {
			return nil, content("no array is called %.80q", name)
		}
		t, err := read(name)
		if err != nil {
			return nil, err
		}
		part, err := sheetOf(path, t, &reading{log: o.log})
		if err != nil {
			return nil, &ContentError{err}
		}
		if len(names) == 1 {
			s.levels, s.classes, s.rows = part.levels, part.classes, part.rows
			break
		}
		if len(s.levels) > 0 && s.rows != part.rows || len(part.levels) != 1 {
			return nil, content("%.80q has %s%v, want a class for each of %d rows", name, t.DType, t.Shape, s.rows)
		}
		s.levels, s.classes, s.rows = append(s.levels, name), append(s.classes, part.classes...), part.rows
	}
	if k := slices.IndexFunc(idNames, has); k >= 0 && !slices.Contains(names, idNames[k]) {
		return s, s.readIDs(read, idNames[k])
	}
	return s, nil
}

// readIDs reads the names of the rows from an array.
func (s *sheet) readIDs(read func(name string) (tensorfile.Tensor, error), name string) error {
	t, err := read(name)
	if err != nil {
		return err
	}
	ids, err := classNames(t)
	if err != nil || len(t.Shape) != 1 || s.rows != len(ids) && s.levels != nil {
		return content("%s are %s%v, want an integer or a text for each of %d rows", name, t.DType, t.Shape, s.rows)
	}
	s.other["id"], s.rows = ids, len(ids)
	return nil
}

// labelArray returns the name of the array of labels.
func labelArray(all []tensorfile.Tensor, has func(name string) bool) (string, error) {
	if k := slices.IndexFunc(labelNames, has); k >= 0 {
		return labelNames[k], nil
	}
	var names []string
	for _, t := range all {
		isFloat := strings.HasPrefix(t.DType, "F") || t.DType == "BF16"
		if len(t.Shape) > 0 && !isFloat && !slices.Contains(idNames, t.Name) {
			names = append(names, t.Name)
		}
	}
	switch len(names) {
	case 0:
		return "", content("it has no array of integers or texts for labels")
	case 1:
		return names[0], nil
	}
	return "", content("it has %d arrays of integers or texts, %s, but none is called %.80q, and levels names none",
		len(names), firstFew(names), labelNames[0])
}

// hasLabels reports whether a file of vectors has labels beside them. It returns false for a file that is
// missing or not sound: opening the vectors says why.
func hasLabels(path string) (bool, error) {
	if !slices.Contains(arrayKinds, filepath.Ext(path)) {
		return false, nil
	}
	a, err := openArrays(path)
	if err != nil {
		return false, ifUnreadable(err)
	}
	defer a.Close()
	return slices.ContainsFunc(a.list, func(t tensorfile.Tensor) bool { return slices.Contains(labelNames, t.Name) }), nil
}

// unsound returns the error of a file of arrays that is there and cannot be read.
func unsound(path string) error {
	if !slices.Contains(arrayKinds, filepath.Ext(path)) {
		return nil
	}
	a, err := openArrays(path)
	if err == nil {
		return a.Close()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// vectorsAmong returns the tensor called "embeddings", or the only float tensor with rows and
// columns. Files often hold labels and ids too.
func vectorsAmong(all []tensorfile.Tensor) (tensorfile.Tensor, error) {
	var names []string
	var found tensorfile.Tensor
	for _, t := range all {
		if len(t.Shape) != 2 || !slices.Contains([]string{"F64", "F32", "F16", "BF16"}, t.DType) {
			continue
		}
		if t.Name == "embeddings" {
			return t, nil
		}
		names, found = append(names, t.Name), t
	}
	switch {
	case len(all) == 1 && len(names) == 0:
		return found, content("its tensor is %s of shape %v, want floats in rows and columns", all[0].DType, all[0].Shape)
	case len(names) == 0:
		var others []string
		for _, t := range all {
			others = append(others, t.Name)
		}
		return found, content("it has no float tensor with rows and columns, but %s", cmp.Or(firstFew(others), "none"))
	case len(names) > 1:
		return found, &ContentError{&SeveralError{Names: names}}
	}
	return found, nil
}
