package export

import (
	"fmt"
	"strings"

	"hgld/internal/tensorfile"
	"hgld/train"
	"hgld/train/backbone"
	"hgld/train/nn"
)

// Backbone returns the tensors of the backbone alone, with torchvision's or timm's
// names and the counters of batches that torch expects: load_state_dict misses
// nothing but the published classifier, which a retrieval net has not.
func Backbone(c train.Config, tensors []tensorfile.Tensor) ([]tensorfile.Tensor, error) {
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
