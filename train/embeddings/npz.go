package embeddings

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/tensorfile"
	"hgld/train/retrieval"
)

// The names of the arrays of an .npz that are not chosen by their type.
const (
	npzLabels = "labels"
	npzIDs    = "ids"
)

// readNPZ reads the vectors of an .npz into memory: the array called "embeddings", or the only one
// of floats with rows and columns.
func readNPZ(path string) (*retrieval.Matrix, error) {
	z, err := tensorfile.OpenNPZ(path)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	t, err := vectorsAmong(z.Arrays)
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, members(z))
	}
	if t, err = z.Tensor(t.Name); err != nil {
		return nil, err
	}
	return matrixOfTensor(t)
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

// hasLabels reports whether an .npz has labels beside its vectors. It returns false if the file
// cannot be read: opening the vectors says why.
func hasLabels(path string) bool {
	z, err := tensorfile.OpenNPZ(path)
	if err != nil {
		return false
	}
	defer z.Close()
	return z.Has(npzLabels)
}

// readLabelsNPZ reads the labels of an .npz: the integers called "labels", or the only ones beside
// those called "ids", which name the rows. With onlyIDs it may have no labels.
func readLabelsNPZ(path string, onlyIDs bool) (*sheet, error) {
	z, err := tensorfile.OpenNPZ(path)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	name, err := labelsAmong(z)
	if err != nil && !(onlyIDs && z.Has(npzIDs)) {
		return nil, fmt.Errorf("%s: %w; %s", path, err, members(z))
	}
	s := &sheet{path: path, where: rowOf(path)}
	if err == nil {
		t, err := z.Tensor(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if s, err = sheetOf(path, t); err != nil {
			return nil, err
		}
	}
	if !z.Has(npzIDs) {
		return s, nil
	}
	t, err := z.Tensor(npzIDs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	ids, err := t.Int64()
	if err != nil || len(t.Shape) != 1 || s.rows != len(ids) && s.levels != nil {
		return nil, fmt.Errorf("%s: ids are %s%v, want an integer for each of %d rows", path, t.DType, t.Shape, s.rows)
	}
	column := make([]string, len(ids))
	for i, id := range ids {
		column[i] = strconv.FormatInt(id, 10)
	}
	s.other, s.rows = map[string][]string{"id": column}, len(ids)
	return s, nil
}

// labelsAmong returns the name of the array of labels.
func labelsAmong(z *tensorfile.NPZ) (string, error) {
	if z.Has(npzLabels) {
		return npzLabels, nil
	}
	var names []string
	for _, a := range z.Arrays {
		if slices.Contains([]string{"I64", "I32", "U8"}, a.DType) && a.Name != npzIDs {
			names = append(names, a.Name)
		}
	}
	switch len(names) {
	case 0:
		return "", errors.New("it has no array of integers for labels")
	case 1:
		return names[0], nil
	}
	return "", fmt.Errorf("it has %d arrays of integers, %s, but none is called %.80q", len(names),
		strings.Join(names[:min(len(names), 5)], ", "), npzLabels)
}
