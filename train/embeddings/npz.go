package embeddings

import (
	"fmt"

	"hgld/internal/tensorfile"
	"hgld/train/retrieval"
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

// readLabelsNPZ reads the labels of an .npz.
func readLabelsNPZ(path string, o *reading) (*sheet, error) {
	z, err := tensorfile.OpenNPZ(path)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	s, err := labelsAmong(path, z.Arrays, z.Tensor, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; %s", path, err, members(z))
	}
	return s, nil
}
