package settings

import (
	"slices"
	"strings"

	"hgld/internal/registry"
)

// Synonyms are the keys of other programs, by their last part and in snake case, with the
// keys that they have here: {"learning_rate": "optim.lr"}. No edit distance finds these.
// A key that ends in ".settings" stands for one of the settings of a table's entry.
type Synonyms map[string]string

// Meant returns the setting that an unknown key probably means: what another program
// calls so, the only known key with the same last part, or a setting of the entry that a
// group names. It returns "" if there is none. known are dotted keys.
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

// unknown returns the error for a key that a section does not have. The known ones are
// listed only if none is close: they are many.
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

// unlike returns the error for the last key of a path, which begins with the section's
// name. known are the keys in its place.
func (s Section) unlike(path, known []string) error {
	if meant := s.Words.Meant(strings.Join(path[1:], "."), Keys(Fields(s.Ptr))); meant != "" {
		return &registry.UnknownError{Kind: "key", Name: strings.Join(path, "."), Nearest: s.Name + "." + meant}
	}
	return unknownKey(path, known)
}
