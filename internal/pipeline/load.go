package pipeline

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hgld/internal/regular"
	"hgld/internal/settings"
	"hgld/internal/usage"
)

// OverrideFlag is the name of the flag whose values are assignments, key=value.
const OverrideFlag = "override"

// Load fills the settings of a stage. own points to its defaults. Flags take precedence over
// -o assignments, then HGLD_* variables, then hgld.yaml or the file given to
// [Project.UseFile]. If line is nil, there is no command line, and the result is the project's
// own settings. These hold what an earlier command gave to the stage and hgld.yaml does not set, see
// [Given]. Errors are usage errors.
func (p *Project) Load(line settings.Flags, stage string, own any) error {
	return p.load(line, stage, own, line == nil)
}

// Recall is [Project.Load] with what an earlier command gave to the stage, also where there is a
// command line. It is for commands that do not run the stage and speak of its result.
func (p *Project) Recall(line settings.Flags, stage string, own any) error {
	return p.load(line, stage, own, true)
}

func (p *Project) load(line settings.Flags, stage string, own any, recall bool) error {
	s := p.Section(stage, own)
	s.Defaults()
	p.anchor(settings.Fields(own))
	from := source{p.File, p.values[stage]}
	if other, ok := p.instead[stage]; ok && line != nil {
		from = other
	}
	inFile, err := p.fill(s, from)
	if err == nil && recall {
		p.recall(s, inFile)
	}
	if err == nil && !p.engine().Isolated {
		err = s.Environment()
	}
	if err == nil && line != nil {
		err = s.Assign(p.Assignments(line))
	}
	if err == nil && line != nil {
		err = s.Flags(line)
	}
	if i := slices.Index(p.engine().Names(), stage); err == nil && i >= 0 {
		err = p.engine().Stages[i].complete(p, own)
	}
	if err == nil {
		err = s.Check(func(key string) string { return p.Origin(stage + "." + key) })
	}
	return usage.Wrap(err)
}

// LoadTop fills the settings that belong to no stage. own points to their defaults. Errors are usage errors.
func (p *Project) LoadTop(line settings.Flags, own any) error {
	s := p.Section("", own)
	s.Defaults()
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, key := range p.engine().topKeys() {
		if value := p.values[key]; value != nil {
			node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key, Line: value.Line}, value)
		}
	}
	_, err := s.File(p.File, node)
	if err == nil && !p.engine().Isolated {
		err = s.Environment()
	}
	if err == nil && line != nil {
		err = s.Assign(p.assignments(line, true))
	}
	if err == nil && line != nil {
		err = s.Flags(line)
	}
	if err == nil {
		err = s.Check(p.Origin)
	}
	return usage.Wrap(err)
}

// Assignments returns the assignments of a command line to settings of its stage: all but those of [Project.LoadTop].
func (p *Project) Assignments(line settings.Flags) []string { return p.assignments(line, false) }

// assignments returns the assignments of a command line to settings of no stage, or all others.
func (p *Project) assignments(line settings.Flags, top bool) (list []string) {
	fields := p.engine().top()
	for _, a := range line.StringSlice(OverrideFlag) {
		key, _, _ := strings.Cut(a, "=")
		if i, _ := settings.Find(fields, key); (i >= 0) == top {
			list = append(list, a)
		}
	}
	return list
}

// LoadFile fills the settings of a stage from hgld.yaml alone. own points to its defaults.
// Errors are usage errors.
func (p *Project) LoadFile(stage string, own any) error {
	_, err := p.fill(p.Section(stage, own), source{p.File, p.values[stage]})
	return usage.Wrap(err)
}

// Section wraps the settings that own points to so that they can be filled. name is their key in
// hgld.yaml. The project records the origin of each value.
func (p *Project) Section(name string, own any) settings.Section {
	return settings.Section{Name: name, Ptr: own, Words: p.engine().Words, Former: p.engine().Former,
		Origin: func(key, from string) { p.SetOrigin(strings.TrimPrefix(name+"."+key, "."), from) }}
}

// fill sets the values that a file contains, and returns their keys. Relative paths in it start at
// the project's folder.
func (p *Project) fill(s settings.Section, from source) (keys []string, err error) {
	note := s.Origin
	s.Origin = func(key, from string) { keys = append(keys, key); note(key, from) }
	set, err := s.File(from.file, from.node)
	p.anchor(set)
	return keys, err
}

// anchor resolves relative paths against the project's folder.
func (p *Project) anchor(fields []settings.Field) {
	if p.Dir == "" {
		return
	}
	for _, f := range fields {
		f.MapPaths(p.Join)
	}
}

// UseFile makes [Project.Load] read the settings of a stage from another file. The file contains
// them alone, as run.yaml does, or under the name of the stage, as hgld.yaml does. Relative paths
// in it start at its folder. own points to settings of the stage. Errors are usage errors, except
// for a file that exists and cannot be read.
func (p *Project) UseFile(stage, path string, own any) error {
	text, err := regular.ReadFile(path)
	if err != nil && !IsMissing(err) {
		return err
	}
	if err == nil {
		err = p.use(stage, path, text, own)
	}
	return usage.Wrap(err)
}

// use is UseFile for a file with the given text.
func (p *Project) use(stage, path string, text []byte, own any) error {
	node, err := settings.Document(path, text)
	if err != nil {
		return err
	}
	if node == nil || node.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: expected settings, such as \"steps: 1000\"", path)
	}
	if under := settings.Lookup(node, stage); under != nil {
		node = under
	}
	for _, f := range settings.Fields(own) {
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
	if p.instead == nil {
		p.instead = map[string]source{}
	}
	p.instead[stage] = source{path, node}
	return nil
}

// fromFolder rewrites a path relative to a folder as one relative to the project's folder.
func (p *Project) fromFolder(folder string, value *yaml.Node) error {
	if value.Kind != yaml.ScalarNode || value.Value == "" || filepath.IsAbs(value.Value) ||
		regular.CheckPath(value.Value) != nil {
		return nil
	}
	whole, err := filepath.Abs(filepath.Join(folder, filepath.FromSlash(value.Value)))
	if err != nil {
		return err
	}
	home, err := filepath.Abs(cmp.Or(p.Dir, "."))
	if err != nil {
		return err
	}
	value.Value = whole
	if rel, err := filepath.Rel(home, whole); err == nil {
		value.Value = rel
	}
	return nil
}
