package embeddings

import (
	"errors"
	"fmt"
	"slices"

	"hgld/internal/tensorfile"
	"hgld/internal/torchfile"
	"hgld/train/retrieval"
)

// readTorch reads a file of torch.save into memory. It does not execute anything in the file.
func readTorch(path string) (*retrieval.Matrix, error) {
	all, err := torchfile.ReadTensors(path)
	if err != nil {
		return nil, err
	}
	t, err := vectorsAmong(all)
	if err != nil {
		return nil, err
	}
	return matrixOfTensor(t)
}

// matrixOfTensor holds a tensor of rows and columns in memory.
func matrixOfTensor(t tensorfile.Tensor) (*retrieval.Matrix, error) {
	if t.Shape[0] > 0 && t.Shape[1] == 0 {
		return nil, fmt.Errorf("its %d rows have no numbers", t.Shape[0])
	}
	values, err := t.Float32()
	if err != nil {
		return nil, err
	}
	return &retrieval.Matrix{Cols: t.Shape[1], Values: values}, nil
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
		return found, fmt.Errorf("its tensor is %s of shape %v, want floats in rows and columns", all[0].DType, all[0].Shape)
	case len(names) == 0:
		return found, errors.New("it has no float tensor with rows and columns")
	case len(names) > 1:
		return found, fmt.Errorf("it has %d float tensors with rows and columns, %s, but none is called %.80q",
			len(names), firstFew(names), "embeddings")
	}
	return found, nil
}
