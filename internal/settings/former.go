package settings

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Former is a key that a section had once, or a value of a key.
type Former struct {
	Section, Key string // where it was
	Value        string // for a value of a key that stays: what it was; Now is the value that replaces it
	Now          string // the key that replaces it in the section, or ""
	Why          string // for a key that nothing replaces: what does its work
	Default      string // for a key that nothing replaces: the value that asked for nothing, as YAML; "*": any value did
}

// anyValue is the default of a key that never changed a result.
const anyValue = "*"

// FormerKeys lists keys of former versions. A row counts only for a section that lacks the key and has its
// replacement.
type FormerKeys []Former

// FormerKeyError says that a key has another name now, or is gone.
type FormerKeyError struct {
	Kind string // "key", "environment variable", or the key of a value, such as "labels.tree:"
	Was  string // its name
	Now  string // its name today; "" if it is gone
	Why  string // what does the work of one that is gone
}

// Error names the new key, or what does the work of one that is gone.
func (e *FormerKeyError) Error() string {
	if e.Now != "" {
		return fmt.Sprintf("%s %s is now %s", e.Kind, e.Was, e.Now)
	}
	return fmt.Sprintf("%s %s was removed: %s", e.Kind, e.Was, e.Why)
}

// in returns the rows that count for the fields of a section.
func (l FormerKeys) in(section string, fields []Field) (rows []Former) {
	has := func(key string) bool { i, _ := Find(fields, key); return i >= 0 }
	for _, f := range l {
		if f.Section == section && f.Value == "" && !has(f.Key) && (f.Now == "" || has(f.Now)) {
			rows = append(rows, f)
		}
	}
	return rows
}

// values returns the rows of values that the fields of a section no longer take.
func (l FormerKeys) values(section string, fields []Field) (rows []Former) {
	for _, f := range l {
		if i, _ := Find(fields, f.Key); f.Section == section && f.Value != "" && i >= 0 {
			rows = append(rows, f)
		}
	}
	return rows
}

// formerValue returns the error for the first value that has another name now, or nil. from returns the source of a
// key's value, or "".
func (l FormerKeys) formerValue(s Section, from func(key string) string) error {
	fields := Fields(s.Ptr)
	for _, f := range l.values(s.Name, fields) {
		i, _ := Find(fields, f.Key)
		if Text(fields[i].Value) != f.Value {
			continue
		}
		err := error(&FormerKeyError{Kind: s.Name + "." + f.Key + ":", Was: f.Value, Now: f.Now})
		if origin := from(f.Key); origin != "" {
			err = fmt.Errorf("%s: %w", origin, err)
		}
		return err
	}
	return nil
}

// find returns the error for a key that the section had once, or nil. name writes a key for the user.
func (l FormerKeys) find(s Section, kind, key string, name func(key string) string) error {
	for _, f := range l.in(s.Name, Fields(s.Ptr)) {
		if f.Key != key && name(f.Key) != key {
			continue
		}
		e := &FormerKeyError{Kind: kind, Was: name(f.Key), Why: f.Why}
		if f.Now != "" {
			e.Now = name(f.Now)
		}
		return e
	}
	return nil
}

// Today returns the settings of a section that a former version of hgld wrote, as YAML, with the keys and values of
// today.
// ptr points to settings of the section. A key that is gone is left out if it asked for nothing; otherwise it is a
// [*FormerKeyError].
func (l FormerKeys) Today(section string, ptr any, text string) (string, error) {
	rows, values := l.in(section, Fields(ptr)), l.values(section, Fields(ptr))
	doc, err := Document("the settings", []byte(text))
	if err != nil || len(rows)+len(values) == 0 || doc == nil {
		return text, nil // what is wrong with it, its reader says
	}
	changed := false
	for _, f := range rows {
		node := take(doc, strings.Split(f.Key, "."))
		switch {
		case node == nil:
			continue
		case f.Now != "":
			put(doc, strings.Split(f.Now, "."), node)
		case !f.asksNothing(node):
			return "", &FormerKeyError{Kind: "key", Was: section + "." + f.Key, Why: f.Why}
		}
		changed = true
	}
	for _, f := range values {
		if node := Lookup(doc, f.Key); node != nil && node.Value == f.Value {
			node.SetString(f.Now)
			changed = true
		}
	}
	if !changed {
		return text, nil
	}
	out, err := yaml.Marshal(doc)
	return string(out), err
}

// asksNothing reports whether a value of a key that is gone is none, or its default.
func (f Former) asksNothing(node *yaml.Node) bool {
	if f.Default == anyValue {
		return true
	}
	var value, nothing any
	if node.Decode(&value) != nil || yaml.Unmarshal([]byte(f.Default), &nothing) != nil {
		return false
	}
	return value == nil || value == "" && nothing == nil || reflect.DeepEqual(value, nothing)
}

// Keys returns dotted keys of a section with the keys of today.
func (l FormerKeys) Keys(section string, ptr any, keys []string) []string {
	keys = slices.Clone(keys)
	for _, f := range l.in(section, Fields(ptr)) {
		for i, key := range keys {
			if key == f.Key && f.Now != "" {
				keys[i] = f.Now
			}
		}
	}
	return keys
}

// Assignments returns assignments to settings of a section that a former version of hgld recorded, with the keys of
// today. Those that never changed a result are left out.
func (l FormerKeys) Assignments(section string, ptr any, list []string) (today []string) {
	rows := l.in(section, Fields(ptr))
	for _, a := range list {
		key, value, _ := strings.Cut(a, "=")
		i := slices.IndexFunc(rows, func(f Former) bool { return f.Key == key })
		switch {
		case i < 0:
			today = append(today, a)
		case rows[i].Now != "":
			today = append(today, rows[i].Now+"="+value)
		case rows[i].Default != anyValue:
			today = append(today, a)
		}
	}
	return today
}

// take removes a key from a mapping and returns its value, or nil if there is none.
func take(node *yaml.Node, path []string) *yaml.Node {
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		value := node.Content[i+1]
		switch {
		case node.Content[i].Value != path[0]:
		case len(path) > 1:
			return take(value, path[1:])
		default:
			node.Content = slices.Delete(node.Content, i, i+2)
			return value
		}
	}
	return nil
}

// put sets a key of a mapping that has none.
func put(node *yaml.Node, path []string, value *yaml.Node) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == path[0] {
			if len(path) > 1 && node.Content[i+1].Kind == yaml.MappingNode {
				put(node.Content[i+1], path[1:], value)
			}
			return
		}
	}
	for i := len(path) - 1; i > 0; i-- {
		value = &yaml.Node{Kind: yaml.MappingNode,
			Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: path[i]}, value}}
	}
	node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: path[0]}, value)
}
