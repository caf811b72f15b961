package backbone

import (
	"fmt"
	"slices"
)

// Check returns an error if the settings do not describe a network.
func (s Convnet) Check() error {
	if n := len(s.Widths); n == 0 || n != len(s.Strides) || slices.Min(s.Widths) < 1 || slices.Min(s.Strides) < 1 {
		return fmt.Errorf("widths are %v and strides %v; want one of each for every convolution, from 1 up",
			s.Widths, s.Strides)
	}
	return nil
}

// Check returns an error if the settings do not describe a network.
func (s ResNet) Check() error {
	if len(s.Blocks) != len(resnetWidths) || slices.Min(s.Blocks) < 1 {
		return fmt.Errorf("blocks are %v; want %d numbers from 1 up", s.Blocks, len(resnetWidths))
	}
	return nil
}
