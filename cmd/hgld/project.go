package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"hgld/internal/registry"
	"hgld/internal/settings"
)

// projectFile is the name of a project's configuration; its folder is the
// project.
const projectFile = "hgld.yaml"

// projectVersion is the format version of hgld.yaml.
const projectVersion = 1

// project is the folder that a command works in, with its hgld.yaml.
type project struct {
	dir      string // "" where there is no hgld.yaml: paths are then relative to the current folder
	file     string // path of hgld.yaml, "" if none
	asked    string // folder that --project named, "" if none
	sections map[string]*yaml.Node
	given    map[string]given  // sections that the command line takes from elsewhere
	origin   map[string]string // "cluster.k" -> where its value came from
	ways     map[string]string // path as commands use it -> as hgld.yaml or a default names it
}

// given is a section that a file of its own holds.
type given struct {
	path string
	node *yaml.Node
}

// openProject finds hgld.yaml in the folder given by --project, or in the
// current one or the nearest above it, and checks its form. No project is no
// error here: every stage also works from flags alone.
func openProject(c *cli.Context) (*project, error) {
	p := &project{sections: map[string]*yaml.Node{}, given: map[string]given{}, origin: map[string]string{},
		ways: map[string]string{}}
	dir := c.String("project")
	if p.asked = dir; dir != "" {
		p.file = filepath.Join(dir, projectFile)
	} else {
		p.file = findUp(projectFile)
	}
	if err := checkEnvironment(); err != nil {
		return nil, withCode(exitUsage, err)
	}
	if p.file == "" {
		return p, nil
	}
	p.dir = filepath.Dir(p.file)
	data, err := os.ReadFile(p.file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, withHint(withCode(exitNoProject, fmt.Errorf("no %s in %s", projectFile, dir)), "`hgld init %s` starts a project there", dir)
	}
	if err != nil {
		return nil, err
	}
	return p, p.parse(data)
}

// parse reads the top level of hgld.yaml.
func (p *project) parse(data []byte) error {
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return usagef("%s: %w", p.file, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return usagef("%s: more than one YAML document; a project has one", p.file)
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return usagef("%s:%d: expected sections such as \"cluster:\"", p.file, root.Line)
	}
	names := []string{"hgld", deviceKey}
	for _, s := range sections() {
		names = append(names, s.name)
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if !slices.Contains(names, key.Value) {
			return usagef("%s:%d: %w", p.file, key.Line, registry.Unknown("section", key.Value, names))
		}
		if p.sections[key.Value] != nil {
			return usagef("%s:%d: section %.80q appears twice", p.file, key.Line, key.Value)
		}
		p.sections[key.Value] = value
	}
	return p.checkVersion()
}

func (p *project) checkVersion() error {
	node := p.sections["hgld"]
	if node == nil {
		return nil
	}
	var v int
	if err := node.Decode(&v); err != nil || v < 1 {
		return usagef("%s:%d: hgld: expected the format version, a whole number such as %d", p.file, node.Line, projectVersion)
	}
	if v > projectVersion {
		return usagef("%s:%d: format version %d; this hgld reads up to %d: use a newer hgld", p.file, node.Line, v, projectVersion)
	}
	return nil
}

// section prepares the settings that ptr points to for loading. Their origins go to the
// project.
func (p *project) section(name string, ptr any) settings.Section {
	return settings.Section{Name: name, Ptr: ptr, Words: keysElsewhere,
		Origin: func(key, from string) { p.origin[name+"."+key] = from }}
}

// load fills the settings of a section: flags over -o over HGLD_* variables over
// hgld.yaml, or the file that the command line names in its place, over the defaults
// that ptr points to. Without a command line they are the project's own.
func (p *project) load(c *cli.Context, name string, ptr any) error {
	s := p.section(name, ptr)
	s.Defaults()
	p.anchor(settings.Fields(ptr))
	from := given{path: p.file, node: p.sections[name]}
	if other, ok := p.given[name]; ok && c != nil {
		from = other
	}
	err := p.fill(s, from)
	if err == nil {
		err = s.Environment()
	}
	if err == nil && c != nil {
		err = s.Assign(c.StringSlice("override"))
	}
	if err == nil && c != nil {
		err = s.Flags(c)
	}
	if err == nil {
		err = s.Check(func(key string) string { return p.origin[name+"."+key] })
	}
	return withCode(exitUsage, err)
}

// fill takes what a file says of a section. Its relative paths start at the project's folder.
func (p *project) fill(s settings.Section, from given) error {
	set, err := s.File(from.path, from.node)
	p.anchor(set)
	return err
}

// anchor makes relative paths start at the project's folder.
func (p *project) anchor(fields []settings.Field) {
	if p.dir == "" {
		return
	}
	for _, f := range fields {
		f.MapPaths(p.join)
	}
}

func (p *project) join(path string) string {
	if path == "" || filepath.IsAbs(path) || p.dir == "." {
		return path
	}
	joined := filepath.Join(p.dir, path)
	if p.ways != nil {
		p.ways[joined] = filepath.Clean(path)
	}
	return joined
}

// sectionOfVariable returns the section whose setting an environment variable holds by
// its name, or "".
func sectionOfVariable(name string) string { return settings.SectionOf(name, stageNames()) }

// checkEnvironment refuses a variable with a misspelt section.
func checkEnvironment() error {
	return settings.CheckEnvironment(stageNames(), func(section string) any {
		return sections()[slices.Index(stageNames(), section)].settings()
	})
}

// listOf returns the values of a flag that takes several. Those of -o are not split, since
// a value may have commas of its own.
func listOf(c *cli.Context, flag string) []string { return settings.Split(c.StringSlice(flag)) }

// findUp returns the path of a file called name in the current folder or the
// nearest above it, or "".
func findUp(name string) string {
	dir := "."
	abs, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
		if filepath.Dir(abs) == abs {
			return ""
		}
		abs, dir = filepath.Dir(abs), filepath.Join("..", dir)
	}
}
