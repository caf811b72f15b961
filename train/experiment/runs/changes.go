package runs

import (
	"slices"

	"hgld/internal/settings"
)

// Change is a setting in which two runs differ.
type Change struct {
	Key string // the dotted key of the setting

	// From is the value in the first run, To the value in the second.
	From, To string
}

// Changes lists the settings in which two runs differ, except for where they were written, how they were executed
// (run.*), and the keys of but.
func Changes(a, b *Settings, but ...string) []Change {
	var list []Change
	second := settings.Fields(b)
	for i, f := range settings.Fields(a) {
		key := f.Key()
		if key == "out" || f.Path[0] == "run" || slices.Contains(but, key) {
			continue
		}
		if was, now := settings.Text(f.Value), settings.Text(second[i].Value); was != now {
			list = append(list, Change{key, was, now})
		}
	}
	return list
}
