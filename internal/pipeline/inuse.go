package pipeline

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hgld/internal/registry"
	"hgld/internal/usage"
)

// StagesKey is the key of hgld.yaml that lists the stages that the project uses. Without it,
// the project uses all of them.
const StagesKey = "stages"

// readStages reads the list of stages in use.
func (p *Project) readStages() error {
	node := p.values[StagesKey]
	if node == nil || node.Tag == "!!null" {
		return nil
	}
	var names []string
	if node.Kind != yaml.SequenceNode || node.Decode(&names) != nil || len(names) == 0 {
		return usage.Errorf("%s:%d: %s: expected a list of stages, such as [%s]", p.File, node.Line, StagesKey,
			strings.Join(p.engine().Names(), ", "))
	}
	for _, name := range names {
		if !slices.Contains(p.engine().Names(), name) {
			return usage.Errorf("%s:%d: %s: %w", p.File, node.Line, StagesKey,
				registry.Unknown("stage", name, p.engine().Names()))
		}
	}
	p.inUse = names
	return nil
}

// Stages returns the stages that the project uses, in order.
func (p *Project) Stages() []Stage {
	var list []Stage
	for _, s := range p.engine().Stages {
		if p.inUse == nil || slices.Contains(p.inUse, s.Name) {
			list = append(list, s)
		}
	}
	return list
}

// Off returns the names of the stages that the project does not use, in order.
func (p *Project) Off() []string {
	var names []string
	for _, s := range p.engine().Stages {
		if p.inUse != nil && !slices.Contains(p.inUse, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// Until returns the stages in use up to the one called name, or all of them for "".
func (p *Project) Until(name string) ([]Stage, error) {
	list := p.Stages()
	if name == "" {
		return list, nil
	}
	if i := slices.IndexFunc(list, func(s Stage) bool { return s.Name == name }); i >= 0 {
		return list[:i+1], nil
	}
	if off := p.Off(); slices.Contains(off, name) {
		return nil, &StageDisabledError{name, p.File}
	}
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	return nil, usage.Wrap(registry.Unknown("stage", name, names))
}
