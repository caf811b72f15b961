package settings

import (
	"slices"
	"strings"

	"hgld/internal/registry"
)

// Synonyms maps keys of other programs to keys of this one: {"learning_rate": "optim.lr"}. Its
// keys are last parts in snake case. No edit distance finds these pairs. A value that ends in
// ".settings" means a setting of the table entry.
type Synonyms map[string]string

// Meant returns the setting that an unknown key probably means: a synonym, the only known key
// with the same last part, or a setting of the entry that a group selects. It returns "" if
// there is none. known lists dotted keys.
func (s Synonyms) Meant(key string, known []string) string {
	last := key[strings.LastIndex(key, ".")+1:]
	if group := strings.TrimSuffix(key, "."+last); group != key && slices.Contains(known, group+".settings") {
		if near := registry.Nearest(key, known); near == "" || strings.HasSuffix(near, "."+nameKey) {
			if s[last] == "" || strings.HasPrefix(s[last], group+".settings") {
				return group + ".settings." + last
			}
		}
	}
	if to := s[strings.ReplaceAll(last, "-", "_")]; slices.Contains(known, to) {
		if strings.HasSuffix(to, ".settings") {
			to += "." + last
		}
		return to
	}
	if slices.Contains(known, key+"."+nameKey) {
		return key
	}
	var ends []string
	for _, k := range known {
		if strings.HasSuffix(k, "."+last) || strings.HasSuffix(k, "."+last+"."+nameKey) {
			ends = append(ends, k)
		}
	}
	if len(ends) == 1 {
		return strings.TrimSuffix(ends[0], "."+nameKey)
	}
	return ""
}

// unknown returns the error for a key that a section does not have. It lists the many known
// keys only if none is close.
func (s Synonyms) unknown(key string, known []string) error {
	err := &registry.UnknownError{Kind: "key", Name: key, Nearest: s.Meant(key, known)}
	if err.Nearest == "" {
		err.Nearest = registry.Nearest(key, known)
	}
	if err.Nearest == "" {
		err.Known = known
	}
	return err
}

// unknownIn returns the error for the last key of a path that begins with the section's name.
// known lists the valid keys at that place.
func (s Section) unknownIn(path, known []string) error {
	name := func(key string) string { return s.Name + "." + key }
	if err := s.Former.find(s, "key", strings.Join(path, "."), name); err != nil {
		return err
	}
	if meant := s.Words.Meant(strings.Join(path[1:], "."), Keys(Fields(s.Ptr))); meant != "" {
		return &registry.UnknownError{Kind: "key", Name: strings.Join(path, "."), Nearest: s.Name + "." + meant}
	}
	return unknownKey(path, known)
}
