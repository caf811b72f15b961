package train

import (
	"encoding/json"
	"slices"

	"go.yaml.in/yaml/v3"

	"hgld/internal/settings"
)

// oldKeys maps the keys of schedule from when warmup meant frozen groups to their names of today.
// A file uses the old keys if it has one that exists only there.
var oldKeys = map[string]string{"warmup": "freeze", "idle": "frozen", "warmup_advances": "freeze_advances"}

func isOld(keys ...string) bool {
	return slices.Contains(keys, "idle") || slices.Contains(keys, "warmup_advances")
}

var _ settings.Outdated = (*Schedule)(nil)

// Modern renames old keys of a file to their names of today.
func (s *Schedule) Modern(node *yaml.Node) *yaml.Node {
	var keys []string
	for i := 0; i+1 < len(node.Content); i += 2 {
		keys = append(keys, node.Content[i].Value)
	}
	if !isOld(keys...) {
		return node
	}
	s.Old = true
	modern := *node
	modern.Content = slices.Clone(node.Content)
	for i, key := range keys {
		if now, old := oldKeys[key]; old {
			renamed := *node.Content[2*i]
			renamed.Value = now
			modern.Content[2*i] = &renamed
		}
	}
	return &modern
}

// UnmarshalJSON reads the schedule of a checkpoint, which may use old keys.
func (s *Schedule) UnmarshalJSON(data []byte) error {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return err
	}
	old := false
	for key := range keys {
		old = old || isOld(key)
	}
	if old {
		for was, now := range oldKeys {
			if value, has := keys[was]; has {
				keys[now] = value
				delete(keys, was)
			}
		}
		var err error
		if data, err = json.Marshal(keys); err != nil {
			return err
		}
	}
	type plain Schedule
	return json.Unmarshal(data, (*plain)(s))
}
