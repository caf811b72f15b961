package nn_test

import (
	"testing"

	"hgld/train/nn"
)

func TestGradientOfBlock(t *testing.T) {
	s := nn.NewStore()
	differences(t, s, nn.NewBlock(s.Group("all"), 8, 2, 16, 1e-5).Forward, 2, 5, 8)
}
