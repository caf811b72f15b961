package evaluation

import (
	"fmt"
	"path/filepath"
	"slices"

	"hgld/train/checkpoint"
	"hgld/train/network"
	"hgld/train/tensor"
)

// startProjection gives an untrained network the initial projection of its run.
func (m *Model) startProjection() error {
	if m.Config.Model.Projection == "" {
		return m.network.Backend.Sync()
	}
	path := filepath.Join(m.Path, "..", "..", network.ProjectionFile)
	weight, err := tensor.Read(path, "weight")
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	bias, err := tensor.Read(path, "bias")
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	dim, channels := m.Config.Model.Dim, m.network.Net.Backbone.Channels()
	if !slices.Equal(weight.Dims, []int{dim, channels}) || !slices.Equal(bias.Dims, []int{dim}) {
		return &checkpoint.DamagedError{Path: path,
			Reason: fmt.Sprintf("weight is %v and bias %v, want %d components of %d features", weight.Dims,
				bias.Dims, dim, channels)}
	}
	m.network.Net.Project(m.network.Backend, weight, bias)
	return m.network.Backend.Sync()
}
