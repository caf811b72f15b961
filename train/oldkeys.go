package train

import (
	"encoding/json"
	"slices"

	"go.yaml.in/yaml/v3"

	"hgld/internal/settings"
)

// oldKeys are the names that keys of schedule had when warmup meant frozen groups. A mapping
// is of that time if it has a key that is only theirs.
var oldKeys = map[string]string{"warmup": "freeze", "idle": "frozen", "warmup_advances": "freeze_advances"}

func isOld(keys ...string) bool {
	return slices.Contains(keys, "idle") || slices.Contains(keys, "warmup_advances")
}

var _ settings.Outdated = (*Schedule)(nil)

// Modern gives the keys of a file their names of today.
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

// UnmarshalJSON reads the schedule of a checkpoint, whose keys may have their old names.
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
