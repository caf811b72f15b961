package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"hgld/internal/settings"

	"go.yaml.in/yaml/v3"
)

// useFile takes a section's settings from a file of their own: the section alone,
// as run.yaml has it, or under its name, as in hgld.yaml. Paths in it start at its
// folder. s points to the settings.
func (p *project) useFile(section, path string, s any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return fmt.Errorf("%s: expected settings, such as \"steps: 1000\"", path)
	}
	node := doc.Content[0]
	if under := settings.Lookup(node, section); under != nil {
		node = under
	}
	for _, f := range settings.Fields(s) {
		value := settings.Lookup(node, f.Key())
		if !f.IsPath() || value == nil {
			continue
		}
		paths := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode {
			paths = value.Content
		}
		for _, node := range paths {
			if err := p.fromFolder(filepath.Dir(path), node); err != nil {
				return err
			}
		}
	}
	p.given[section] = given{path: path, node: node}
	return nil
}

// fromFolder makes a path that starts at a folder one that starts at the project's.
func (p *project) fromFolder(folder string, value *yaml.Node) error {
	if value.Kind != yaml.ScalarNode || value.Value == "" || filepath.IsAbs(value.Value) {
		return nil
	}
	whole, err := filepath.Abs(filepath.Join(folder, filepath.FromSlash(value.Value)))
	if err != nil {
		return err
	}
	home, err := filepath.Abs(cmp.Or(p.dir, "."))
	if err != nil {
		return err
	}
	value.Value = whole
	if rel, err := filepath.Rel(home, whole); err == nil {
		value.Value = rel
	}
	return nil
}
