package call

import (
	"encoding/json"
	"fmt"

	"hgld/internal/settings"
	"hgld/labels"
	"hgld/train/sample"
)

// sampling selects a sampler. It is read from JSON.
type sampling struct {
	Name     string         `json:"name"`     // in the table of samplers
	Settings map[string]any `json:"settings"` // those that differ from the table
}

// Batches returns the batches of an epoch, as a training of hgld with this seed draws them. classes has one label of
// each row and level, numbered from 0; −1 means no class.
func Batches(spec []byte, classes []int32, levels int, seed uint64, epoch int) ([][]int, error) {
	var s sampling
	if err := json.Unmarshal(spec, &s); err != nil {
		return nil, fmt.Errorf("the sampler is no JSON of the expected form: %w", err)
	}
	if err := checkLevels(levels); err != nil {
		return nil, err
	}
	switch {
	case len(classes) == 0 || len(classes)%levels != 0:
		return nil, fmt.Errorf("there are %d labels of %d levels, want at least one row", len(classes), levels)
	case epoch < 0:
		return nil, fmt.Errorf("epoch is %d, want 0 or more", epoch)
	}
	kind, err := sample.All.Get("sampler", s.Name)
	if err != nil {
		return nil, err
	}
	changed, err := settings.Apply(kind, s.Settings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	rows := make([]labels.Path, len(classes)/levels)
	for i := range rows {
		rows[i] = classes[i*levels : (i+1)*levels]
	}
	return changed.(sample.Sampler).Epoch(rows, seed, epoch)
}
