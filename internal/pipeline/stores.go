package pipeline

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"hgld/internal/objectstore/address"
	"hgld/internal/remember"
	"hgld/internal/settings"
)

// StoreError says that a file names a place in an object store, and that the user has not allowed it for the project.
// A project may come from somebody else, and a request there carries the user's credentials.
type StoreError struct {
	Project *Project // that names it
	Key     string   // of the setting: "shards.out"
	Place   string   // its address
	From    string   // where it is from: "hgld.yaml:3"; "" for a run directory
}

// Error names the setting, its place and the file.
func (e *StoreError) Error() string {
	from := e.From
	if from == "" {
		from = "a file"
	}
	return fmt.Sprintf("%s is %s in %s: nothing is sent there before you allow it", e.Key, e.Place, from)
}

// stores lists the folders of projects and the places that the user has allowed for them.
func stores() remember.List { return remember.ForUser("stores") }

// line is the line of [stores] for a place.
func (p *Project) line(place string) (string, error) {
	dir, err := filepath.Abs(p.Dir)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return strconv.Quote(dir) + " " + strings.TrimRight(place, "/"), err
}

// checkStore returns a [StoreError] if a setting is a place in an object store that the user has not allowed for the
// project. Who names the place on a command line or in a variable allows it.
func (p *Project) checkStore(key, place string) error {
	if !address.Is(place) || p.allowed[place] {
		return nil
	}
	from := p.Origin(key)
	if p.allowAll || strings.HasPrefix(from, "-") || strings.HasPrefix(from, "$") {
		return p.allow(place)
	}
	line, err := p.line(place)
	if err != nil || stores().Has(line) {
		return err
	}
	return &StoreError{p, key, place, from}
}

// allow allows a place, now and in later commands.
func (p *Project) allow(place string) error {
	line, err := p.line(place)
	if err != nil {
		return err
	}
	if p.allowed == nil {
		p.allowed = map[string]bool{}
	}
	p.allowed[place] = true
	return stores().Add(line)
}

// CheckStores returns a [StoreError] for the first setting of a stage that names a place in an object store which the
// user has not allowed for the project.
func (p *Project) CheckStores(stage string, own any) error {
	for _, f := range settings.Fields(own) {
		for _, place := range textsOf(f.Value) {
			if err := p.checkStore(strings.TrimPrefix(stage+"."+f.Key(), "."), place); err != nil {
				return err
			}
		}
	}
	return nil
}

// textsOf lists the texts of a setting.
func textsOf(v reflect.Value) (list []string) {
	switch v.Kind() {
	case reflect.String:
		return []string{v.String()}
	case reflect.Slice:
		for i := range v.Len() {
			list = append(list, textsOf(v.Index(i))...)
		}
	}
	return list
}

// AllowStores allows every place in an object store that the command meets, now and in later commands.
func (p *Project) AllowStores() { p.allowAll = true }
