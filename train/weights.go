package train

import (
	"fmt"

	"hgld/internal/tensorfile"
)

// Weights returns the tensors of the network without those of the loss and the optimizer, under
// the names of checkpoints: torchvision's or timm's after "backbone.", then pooling and fc.
func (m *Model) Weights() ([]tensorfile.Tensor, error) {
	var tensors []tensorfile.Tensor
	err := m.thread.Do(func() (err error) {
		tensors, err = m.network.store.Export(m.network.b)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("train: %s: %w", m.Path, err)
	}
	return tensors, nil
}
