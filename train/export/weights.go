package export

import (
	"fmt"
	"strings"

	"hgld/internal/tensorfile"
	"hgld/train/backbone"
	"hgld/train/config"
	"hgld/train/nn"
)

// Backbone returns the tensors of the backbone alone, under the names of torchvision or timm.
// It includes the batch counters that torch expects. load_state_dict then reports only the
// published classifier as missing, since a retrieval network has no classifier.
func Backbone(c config.Config, tensors []tensorfile.Tensor) ([]tensorfile.Tensor, error) {
	spec, err := c.Backbone()
	if err != nil {
		return nil, err
	}
	s := nn.NewStore()
	spec.Build(s.Group("backbone"), backbone.Options{})
	var kept []tensorfile.Tensor
	for _, t := range tensors {
		if name, inside := strings.CutPrefix(t.Name, backbone.Prefix); inside {
			t.Name = name
			kept = append(kept, t)
		}
	}
	if bad := s.Compare(kept, ""); bad != nil {
		return nil, fmt.Errorf("export: %w", bad)
	}
	return append(kept, s.Counters()...), nil
}
