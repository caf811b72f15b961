package loss

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"hgld/internal/texttable"
)

// PresetSetting is a setting of a loss with its value in each preset.
type PresetSetting struct {
	// Key is the dotted key of the setting.
	Key string `json:"key"`

	// Values maps the name of a preset to the value as YAML writes it.
	Values map[string]any `json:"values"`
}

// PresetSettings lists the settings of a loss in all presets.
func PresetSettings(name string) ([]PresetSetting, error) {
	var list []PresetSetting
	for _, preset := range Presets {
		kind, err := WithExternal(preset.Value).Get("loss", name)
		if err != nil {
			return nil, err
		}
		var tree yaml.Node
		if err := tree.Encode(kind); err != nil {
			return nil, err
		}
		list = settingsOf(list, preset.Name, "", &tree)
	}
	return list, nil
}

// SettingsText prints settings as a table with a column for each preset. A star marks
// those that differ between the presets.
func SettingsText(list []PresetSetting) string {
	rows := [][]string{{"setting", Presets[0].Name, Presets[1].Name}}
	for _, s := range list {
		row := []string{s.Key}
		for _, preset := range Presets {
			row = append(row, fmt.Sprint(s.Values[preset.Name]))
		}
		if row[1] != row[2] {
			row[2] += " *"
		}
		rows = append(rows, row)
	}
	return texttable.Format("%-31s %-12s %s", rows...)
}

// settingsOf adds the leaves of a tree, under dotted keys, to the list from earlier presets.
func settingsOf(list []PresetSetting, preset, prefix string, tree *yaml.Node) []PresetSetting {
	for i := 0; i+1 < len(tree.Content); i += 2 {
		key, value := prefix+tree.Content[i].Value, tree.Content[i+1]
		if value.Kind == yaml.MappingNode {
			list = settingsOf(list, preset, key+".", value)
			continue
		}
		at := -1
		for k, s := range list {
			if s.Key == key {
				at = k
			}
		}
		if at < 0 {
			list = append(list, PresetSetting{key, map[string]any{}})
			at = len(list) - 1
		}
		list[at].Values[preset] = leafText(value)
	}
	return list
}

// leafText returns a value as YAML writes it. A list is in brackets. Null prints as "auto",
// because such a value is computed.
func leafText(v *yaml.Node) string {
	switch {
	case v.Kind == yaml.SequenceNode:
		var parts []string
		for _, item := range v.Content {
			parts = append(parts, leafText(item))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case v.Tag == "!!null":
		return "auto"
	}
	return v.Value
}
