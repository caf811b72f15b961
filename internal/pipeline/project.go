package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"hgld/internal/registry"
	"hgld/internal/regular"
	"hgld/internal/settings"
	"hgld/internal/usage"
)

// ProjectFile is the name of a project's configuration; its folder is the project.
const ProjectFile = "hgld.yaml"

// ProjectVersion is the format version of hgld.yaml.
const ProjectVersion = 1

// versionKey is the key of hgld.yaml with its format version.
const versionKey = "hgld"

// Project is the folder that a command works in, with its hgld.yaml. The zero Project has
// none: its paths are relative to the current folder, and it records nothing.
type Project struct {
	// Dir is the folder, "" if there is no hgld.yaml.
	Dir string
	// File is the path of hgld.yaml, "" if there is none.
	File string
	// Asked is the folder that the command line named, or "".
	Asked string

	pipeline *Pipeline
	inUse    []string              // names of the stages in use; nil: all
	values   map[string]*yaml.Node // top level of hgld.yaml
	instead  map[string]source     // settings that come from files given on the command line
	origin   map[string]string     // "cluster.k" -> origin of its value
	ways     map[string]string     // path as commands use it -> path as in hgld.yaml or the defaults
	files    []stageFile           // see stageFiles; nil until then
	allowed  map[string]bool       // places in object stores that this command may use, see CheckStores
	allowAll bool                  // see AllowStores
	here     string                // current folder at the start of the command, or "" if unknown
}

// source holds the settings of a stage in a file.
type source struct {
	file string
	node *yaml.Node
}

// Open finds hgld.yaml and checks its form. It looks in dir or, if dir is "", in the current
// folder and its parents. If dir contains none, it returns a
// [NoProjectError]. If dir is "" and there is none, it returns a project without a file,
// since every stage also works from flags alone.
func (l *Pipeline) Open(dir string) (*Project, error) {
	p := &Project{Asked: dir, pipeline: l}
	var err error
	if p.here, err = os.Getwd(); err != nil && !IsMissing(err) {
		return nil, fmt.Errorf("current folder: %w", err)
	}
	if dir != "" {
		p.File = filepath.Join(dir, ProjectFile)
	} else if p.File, err = findUp(ProjectFile); err != nil {
		return nil, err
	}
	if !l.Isolated {
		err := settings.CheckEnvironment(l.Names(), func(stage string) any {
			return l.Stages[slices.Index(l.Names(), stage)].Settings()
		})
		if err != nil {
			return nil, usage.Wrap(err)
		}
	}
	if p.File == "" {
		return p, nil
	}
	p.Dir = filepath.Dir(p.File)
	data, err := regular.ReadFile(p.File)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &NoProjectError{dir}
	}
	if err != nil {
		return nil, err
	}
	return p, p.parse(data)
}

// Parse returns the project that the text of an hgld.yaml describes. The project has no
// folder. Messages refer to the text as file.
func (l *Pipeline) Parse(file, text string) (*Project, error) {
	p := &Project{File: file, pipeline: l}
	return p, p.parse([]byte(text))
}

// parse reads the top level of hgld.yaml.
func (p *Project) parse(data []byte) error {
	root, err := settings.Document(p.File, data)
	if err != nil || root == nil {
		return err
	}
	if root.Kind != yaml.MappingNode {
		return usage.Errorf("%s:%d: expected stages such as \"cluster:\"", p.File, root.Line)
	}
	p.values = map[string]*yaml.Node{}
	names := slices.Concat([]string{versionKey, StagesKey}, p.engine().topKeys(), p.engine().Names())
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if !slices.Contains(names, key.Value) {
			return usage.Errorf("%s:%d: %w", p.File, key.Line, registry.Unknown("key", key.Value, names))
		}
		if p.values[key.Value] != nil {
			return usage.Errorf("%s:%d: key %.80q appears twice", p.File, key.Line, key.Value)
		}
		p.values[key.Value] = value
	}
	if err := p.checkVersion(); err != nil {
		return err
	}
	return p.readStages()
}

func (p *Project) checkVersion() error {
	node := p.values[versionKey]
	if node == nil {
		return nil
	}
	var v int
	if err := node.Decode(&v); err != nil || v < 1 {
		return usage.Errorf("%s:%d: hgld: expected the format version, a whole number such as %d", p.File, node.Line,
			ProjectVersion)
	}
	if v > ProjectVersion {
		return usage.Errorf("%s:%d: format version %d; this hgld reads up to %d: use a newer hgld", p.File, node.Line, v,
			ProjectVersion)
	}
	return nil
}

// engine returns the pipeline of the project. For the zero Project it is empty.
func (p *Project) engine() *Pipeline {
	if p.pipeline == nil {
		return &Pipeline{}
	}
	return p.pipeline
}

// Require returns a [NoProjectError] if there is no hgld.yaml.
func (p *Project) Require() error {
	if p.File != "" {
		return nil
	}
	return &NoProjectError{}
}

// Origin returns the source of a setting's value when it was loaded, or "" if it was not
// loaded. The key begins with the stage: "cluster.k". Keys at the top of hgld.yaml have no stage.
func (p *Project) Origin(key string) string { return p.origin[key] }

// SetOrigin records the source of a setting's value, see [Project.Origin].
func (p *Project) SetOrigin(key, from string) {
	if p.origin == nil {
		p.origin = map[string]string{}
	}
	p.origin[key] = from
}

// Join returns a path of hgld.yaml, which is relative to the project's folder, in the form
// that commands use. It returns absolute paths unchanged.
func (p *Project) Join(path string) string {
	if path == "" || filepath.IsAbs(path) || p.Dir == "." || regular.CheckPath(path) != nil {
		return path
	}
	joined := filepath.Join(p.Dir, path)
	if p.ways == nil {
		p.ways = map[string]string{}
	}
	p.ways[joined] = filepath.Clean(path)
	return joined
}

// Find returns the path of a file or folder that the user named: as it is or, where nothing lies
// there, within the project's folder if it is there.
func (p *Project) Find(path string) string {
	if in := p.Join(path); len(Missing([]string{path})) > 0 && len(Missing([]string{in})) == 0 {
		return in
	}
	return path
}

// Inside returns a path relative to the project's folder. The result does not depend on the
// current folder. An absolute path outside the project is returned unchanged.
func (p *Project) Inside(path string) string {
	dir, err := p.abs(p.Dir)
	if err != nil || path == "" || regular.CheckPath(path) != nil {
		return path
	}
	if way, anchored := p.ways[path]; anchored {
		return filepath.ToSlash(way)
	}
	abs, err := p.abs(path)
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(dir, abs)
	if err != nil || filepath.IsAbs(path) && !filepath.IsLocal(rel) {
		return path
	}
	return filepath.ToSlash(rel)
}

// abs returns the absolute form of a path. It uses the current folder of the start of the
// command if known, and asks the system otherwise.
func (p *Project) abs(path string) (string, error) {
	rooted := filepath.VolumeName(path) != "" || path != "" && os.IsPathSeparator(path[0])
	if p.here == "" || rooted {
		return filepath.Abs(path)
	}
	return filepath.Join(p.here, path), nil
}

// Named returns paths as a user of the project knows them, see [Project.Inside].
func (p *Project) Named(paths []string) []string {
	list := make([]string, len(paths))
	for i, path := range paths {
		list[i] = p.Inside(path)
	}
	return list
}

// relative returns a copy of prints whose paths are relative to the project's folder, so that
// the project can be moved.
func (p *Project) relative(prints map[string]string) map[string]string {
	out := make(map[string]string, len(prints))
	for path, v := range prints {
		out[p.Inside(path)] = v
	}
	return out
}

// hiddenPassword replaces a password in settings that are recorded.
const hiddenPassword = ":xxxxx@"

// portable returns settings as YAML with paths relative to the project's folder. The text does
// not depend on the current folder. It holds no password of a URL.
func (p *Project) portable(own any) (string, error) {
	for _, f := range settings.Fields(own) {
		if f.IsPath() {
			defer f.Value.Set(reflect.ValueOf(f.Value.Interface()))
			f.MapPaths(p.Inside)
		}
		if f.Value.Kind() != reflect.String {
			continue
		}
		if u, err := url.Parse(f.Value.String()); err == nil && u.Redacted() != u.String() {
			defer f.Value.SetString(f.Value.String())
			f.Value.SetString(u.Redacted())
		}
	}
	text, err := yaml.Marshal(own)
	return string(text), err
}

// findUp returns the path of a file called name in the current folder or its nearest parent
// that has one, or "". A parent that may not be searched counts as empty. Other errors are
// returned, since the folder may then contain the file.
func findUp(name string) (string, error) {
	dir := "."
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("current folder: %w", err)
	}
	for {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		switch {
		case err == nil && info.Mode().IsRegular():
			return path, nil
		case err != nil && !IsMissing(err) && !errors.Is(err, fs.ErrPermission):
			return "", err
		}
		if filepath.Dir(abs) == abs {
			return "", nil
		}
		abs, dir = filepath.Dir(abs), filepath.Join("..", dir)
	}
}
