package plan

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"

	"hgld/internal/registry"
)

//go:embed recipes studies published.yaml small.yaml
var files embed.FS

// The folders of hgld's own recipes and studies.
const (
	recipesFolder = "recipes"
	studiesFolder = "studies"
)

// library reads the files of a folder: each is a T, whose name is its path without .yaml.
type library[T any] struct {
	folder, kind string
	parse        func(name, file string, text []byte) (T, error)
}

// names lists the names in the folder, sorted.
func (l library[T]) names() (list []string, err error) {
	err = fs.WalkDir(files, l.folder, func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, strings.TrimSuffix(strings.TrimPrefix(file, l.folder+"/"), ".yaml"))
		}
		return err
	})
	slices.Sort(list)
	return list, err
}

// all returns all, sorted by name.
func (l library[T]) all() (list []T, err error) {
	names, err := l.names()
	for _, name := range names {
		one, err := l.get(name)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, err
}

// get returns the one called name. If there is none, the error suggests the nearest name.
func (l library[T]) get(name string) (T, error) {
	if text, err := files.ReadFile(path.Join(l.folder, name+".yaml")); err == nil && fs.ValidPath(name) {
		return l.parse(name, name+".yaml", text)
	}
	var none T
	names, err := l.names()
	if err == nil {
		err = registry.Unknown(l.kind, name, names)
	}
	return none, err
}
