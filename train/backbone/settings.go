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

// Check returns an error if the settings do not describe a network.
func (s ViT) Check() error { return checkViT(s.Width, s.Depth, s.Heads, s.Patch, s.Input) }

// Check returns an error if the settings do not describe a network.
func (s DeiT) Check() error { return checkViT(s.Width, s.Depth, s.Heads, s.Patch, s.Input) }

func checkViT(width, depth, heads, patch, input int) error {
	switch {
	case depth < 1 || heads < 1 || width < 1 || width%heads != 0:
		return fmt.Errorf("width is %d, depth %d and heads %d; want numbers from 1 up, and a width that the heads divide",
			width, depth, heads)
	case patch < 1 || input < 1 || input%patch != 0:
		return fmt.Errorf("input is %d and patch %d; want input to be a multiple of patch", input, patch)
	}
	return nil
}
