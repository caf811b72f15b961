package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"hgld/internal/registry"
	"hgld/internal/setting"
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

// load fills the settings of a section: flags over -o over HGLD_* variables over
// hgld.yaml, or the file that the command line gives in its place, over the
// defaults that s points to. Without a command line they are the project's own.
func (p *project) load(c *cli.Context, section string, s any) error {
	fields := fieldsOf(s)
	for _, f := range fields {
		p.origin[section+"."+f.key()] = "default"
	}
	p.anchor(fields)
	read := p.loadFile
	if from, ok := p.given[section]; ok && c != nil {
		read = func(section string, s any) error { return p.fill(from, section, s) }
	}
	if err := read(section, s); err != nil {
		return withCode(exitUsage, err)
	}
	if err := p.loadEnv(section, fields); err != nil {
		return withCode(exitUsage, err)
	}
	if c != nil {
		if err := p.loadOverrides(section, fields, c.StringSlice("override")); err != nil {
			return withCode(exitUsage, err)
		}
		if err := p.loadFlags(section, fields, c); err != nil {
			return withCode(exitUsage, err)
		}
	}
	return withCode(exitUsage, p.checkBounds(section, s))
}

// checkBounds reports a number out of its bounds, and where it comes from.
func (p *project) checkBounds(section string, s any) error {
	err := setting.Check(s)
	var out *setting.BoundsError
	if !errors.As(err, &out) {
		return err
	}
	if from := p.origin[section+"."+out.Key]; from != "" {
		return fmt.Errorf("%s: %s.%w", from, section, err)
	}
	return fmt.Errorf("%s.%w", section, err)
}

// anchor makes relative paths start at the project's folder.
func (p *project) anchor(fields []field) {
	for _, f := range fields {
		if f.tag.Get("path") == "" || p.dir == "" {
			continue
		}
		switch v := f.value.Interface().(type) {
		case string:
			f.value.SetString(p.join(v))
		case []string:
			f.value.Set(reflect.ValueOf(p.joinAll(v)))
		case fileList:
			f.value.Set(reflect.ValueOf(fileList(p.joinAll(v))))
		}
	}
}

func (p *project) joinAll(paths []string) []string {
	joined := make([]string, len(paths))
	for i := range paths {
		joined[i] = p.join(paths[i])
	}
	return joined
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

// loadFile takes what hgld.yaml says of a section.
func (p *project) loadFile(section string, s any) error {
	return p.fill(given{path: p.file, node: p.sections[section]}, section, s)
}

// fill takes what a file says of a section.
func (p *project) fill(from given, section string, s any) error {
	if from.node == nil {
		return nil
	}
	var set [][]string
	in := sectionFile{path: from.path, lines: map[string]int{}, origin: func(key []string, line int) {
		p.origin[section+"."+strings.Join(key, ".")] = fmt.Sprintf("%s:%d", from.path, line)
		set = append(set, key)
	}}
	if err := in.fill(from.node, reflect.ValueOf(s).Elem(), []string{section}); err != nil {
		return err
	}
	for _, f := range fieldsOf(s) {
		if slices.ContainsFunc(set, func(key []string) bool { return slices.Equal(key, f.path) }) {
			p.anchor([]field{f})
		}
	}
	return nil
}

func (p *project) loadEnv(section string, fields []field) error {
	var known []string
	for _, f := range fields {
		known = append(known, f.env(section))
		v, ok := os.LookupEnv(f.env(section))
		if !ok {
			continue
		}
		if err := f.set(v); err != nil {
			return fmt.Errorf("%s: %w", f.env(section), err)
		}
		p.origin[section+"."+f.key()] = "$" + f.env(section)
	}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if sectionOfVariable(name) == section && !slices.Contains(known, name) {
			return unknownVariable(name, name, known)
		}
	}
	return nil
}

// sectionOfVariable is the section that HGLD_SECTION_KEY sets a key of; "" for a
// variable that is none of these.
func sectionOfVariable(name string) string {
	rest, ok := strings.CutPrefix(name, "HGLD_")
	word, _, more := strings.Cut(rest, "_")
	if ok && more && slices.Contains(stageNames(), strings.ToLower(word)) {
		return strings.ToLower(word)
	}
	return ""
}

// unknownVariable is the error for a variable, by what its name should have been
// like. All known ones are too many for a line where a near one is among them.
func unknownVariable(name, like string, known []string) error {
	err := &registry.UnknownError{Kind: "environment variable", Name: name, Nearest: registry.Nearest(like, known)}
	if err.Nearest == "" {
		err.Known = known
	}
	return err
}

// checkEnvironment refuses HGLD_CLUSTR_K: a variable whose section is misspelt
// would set nothing. Other words behind HGLD_ are not those of settings.
func checkEnvironment() error {
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		rest, ok := strings.CutPrefix(name, "HGLD_")
		word, key, more := strings.Cut(rest, "_")
		if !ok || !more || sectionOfVariable(name) != "" {
			continue
		}
		near := registry.Nearest(strings.ToLower(word), stageNames())
		if near == "" {
			continue
		}
		var known []string
		for _, f := range fieldsOf(sections()[slices.Index(stageNames(), near)].settings()) {
			known = append(known, f.env(near))
		}
		return unknownVariable(name, "HGLD_"+strings.ToUpper(near)+"_"+key, known)
	}
	return nil
}

// loadOverrides applies -o key=value.
func (p *project) loadOverrides(section string, fields []field, overrides []string) error {
	var known []string
	for _, f := range fields {
		known = append(known, f.key())
	}
	for _, o := range overrides {
		key, value, ok := strings.Cut(o, "=")
		if !ok {
			return fmt.Errorf("-o %s: expected key=value", o)
		}
		key = strings.TrimPrefix(key, section+".")
		i, inner := findKey(fields, key)
		if i < 0 {
			return fmt.Errorf("-o %s: %w", o, unknownSetting(key, known))
		}
		set := fields[i].set
		if inner != "" {
			set = func(text string) error { return fields[i].setInner(strings.Split(inner, "."), text) }
		}
		if err := set(value); err != nil {
			return fmt.Errorf("-o %s: %w", o, err)
		}
		p.origin[section+"."+fields[i].key()] = "-o " + o
	}
	return nil
}

// findKey finds the setting that a dotted key names; where that is a map, inner is
// the key in it: loss.settings.tau. A group stands for its name: loss for loss.name.
func findKey(fields []field, key string) (i int, inner string) {
	for i, f := range fields {
		if f.key() == key || f.key() == key+"."+nameKey {
			return i, ""
		}
		if rest, ok := strings.CutPrefix(key, f.key()+"."); ok && f.value.Kind() == reflect.Map {
			return i, rest
		}
	}
	return -1, ""
}

// nameKey is the setting of a group that says which entry of a table it is.
const nameKey = "name"

func (p *project) loadFlags(section string, fields []field, c *cli.Context) error {
	for _, f := range fields {
		if len(f.path) > 1 || f.tag.Get("usage") == "" || !c.IsSet(f.flag()) {
			continue
		}
		var value string
		switch f.value.Kind() {
		case reflect.Bool:
			value = fmt.Sprint(c.Bool(f.flag()))
		case reflect.Slice:
			parts := listOf(c, f.flag())
			if s, ok := f.value.Addr().Interface().(*[]string); ok {
				*s = parts
				p.origin[section+"."+f.key()] = "--" + f.flag()
				continue
			}
			value = strings.Join(parts, ",")
		default:
			value = c.String(f.flag())
		}
		if err := f.set(value); err != nil {
			return fmt.Errorf("--%s: %w", f.flag(), err)
		}
		p.origin[section+"."+f.key()] = "--" + f.flag()
	}
	return nil
}

// listOf is the values of a flag that takes several: given again, or with commas.
// Those of -o are not cut, since a value may have commas of its own.
func listOf(c *cli.Context, flag string) []string {
	var list []string
	for _, part := range c.StringSlice(flag) {
		list = append(list, strings.Split(part, ",")...)
	}
	return list
}

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
