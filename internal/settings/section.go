package settings

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hgld/internal/objectstore/address"
	"hgld/internal/registry"
	"hgld/internal/regular"
)

// Section fills a settings struct from a file, the environment, assignments and flags. A later
// source overrides an earlier one.
type Section struct {
	Name  string   // first part of the keys in files and second word of the variables: "cluster"; "": the top level
	Ptr   any      // pointer to the settings, initially the defaults
	Words Synonyms // other programs' names for the settings

	Former FormerKeys // keys that the section had once

	// Origin is called with the source of each value: "default", "hgld.yaml:12",
	// "$HGLD_CLUSTER_K", "-o k=3" or "--k". The key is dotted and lacks the section's name.
	Origin func(key, from string)
}

// FromDefault is the origin of a default.
const FromDefault = "default"

// Defaults records that all values are defaults.
func (s Section) Defaults() {
	for _, f := range Fields(s.Ptr) {
		s.Origin(f.Key(), FromDefault)
	}
}

// File sets the values in a YAML mapping of a file and returns the fields that it set. A nil
// mapping sets nothing. Errors name the file and the line.
func (s Section) File(path string, node *yaml.Node) ([]Field, error) {
	if node == nil {
		return nil, nil
	}
	var keys [][]string
	in := filler{file: path, lines: map[string]int{}, unknown: s.unknownIn, note: func(key []string, line int) {
		key = key[len(s.path()):]
		s.Origin(strings.Join(key, "."), fmt.Sprintf("%s:%d", path, line))
		keys = append(keys, key)
	}}
	if err := in.fill(node, reflect.ValueOf(s.Ptr).Elem(), s.path()); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(Fields(s.Ptr), func(f Field) bool {
		return !slices.ContainsFunc(keys, func(key []string) bool { return slices.Equal(key, f.Path) })
	}), nil
}

// path is the path of the section in a file.
func (s Section) path() []string {
	if s.Name == "" {
		return nil
	}
	return []string{s.Name}
}

// Environment sets the values in the section's environment variables. A variable of the
// section that names no setting is an error.
func (s Section) Environment() error {
	var known []string
	for _, f := range Fields(s.Ptr) {
		name := f.Env(s.Name)
		known = append(known, name)
		value, ok := os.LookupEnv(name)
		if !ok {
			continue
		}
		if err := f.Set(value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.Origin(f.Key(), "$"+name)
	}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if SectionOf(name, []string{s.Name}) != "" && !slices.Contains(known, name) {
			if err := s.Former.find(s, "environment variable", name, s.variable); err != nil {
				return err
			}
			return unknownVariable(name, name, known)
		}
	}
	return nil
}

// variable returns the environment variable of a dotted key.
func (s Section) variable(key string) string { return Field{Path: strings.Split(key, ".")}.Env(s.Name) }

// Assign sets values from assignments of the form key=value, the arguments of -o. The key may
// begin with the section's name.
func (s Section) Assign(assignments []string) error {
	fields := Fields(s.Ptr)
	for _, a := range assignments {
		key, value, ok := strings.Cut(a, "=")
		if !ok {
			return fmt.Errorf("-o %s: expected key=value", a)
		}
		key = strings.TrimPrefix(key, s.Name+".")
		i, inner := Find(fields, key)
		if err := s.Former.find(s, "key", key, func(key string) string { return key }); i < 0 && err != nil {
			return fmt.Errorf("-o %s: %w", a, err)
		}
		if i < 0 {
			return fmt.Errorf("-o %s: %w", a, s.Words.unknown(key, Keys(fields)))
		}
		set := fields[i].Set
		if inner != "" {
			set = func(text string) error { return fields[i].SetInner(strings.Split(inner, "."), text) }
		}
		if err := set(value); err != nil {
			return fmt.Errorf("-o %s: %w", a, err)
		}
		s.Origin(fields[i].Key(), "-o "+a)
	}
	return nil
}

// Flags gives access to the flags of a command line by name.
type Flags interface {
	// IsSet reports whether the command line contains the flag.
	IsSet(name string) bool
	// Bool returns the value of a boolean flag.
	Bool(name string) bool
	// String returns the value of a flag.
	String(name string) string
	// StringSlice returns the values of a repeatable flag.
	StringSlice(name string) []string
}

// Flags sets values from the flags of a command line. A list flag may be repeated, and its
// values are split at commas.
func (s Section) Flags(line Flags) error {
	for _, f := range Fields(s.Ptr) {
		name := f.Flag()
		if !f.HasFlag() || !line.IsSet(name) {
			continue
		}
		var err error
		switch f.Value.Kind() {
		case reflect.Bool:
			err = f.Set(fmt.Sprint(line.Bool(name)))
		case reflect.Slice:
			list := Split(line.StringSlice(name))
			if texts, ok := f.Value.Addr().Interface().(*[]string); ok {
				*texts = list
			} else {
				err = f.Set(strings.Join(list, ","))
			}
		default:
			err = f.Set(line.String(name))
		}
		if err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
		s.Origin(f.Key(), "--"+name)
	}
	return nil
}

// Split returns the values of a list flag, which may be repeated and may hold several values
// between commas.
func Split(values []string) []string {
	var list []string
	for _, part := range values {
		list = append(list, strings.Split(part, ",")...)
	}
	return list
}

// SectionOf returns the section of an environment variable, chosen from the given names:
// cluster for HGLD_CLUSTER_K. It returns "" for other variables.
func SectionOf(variable string, sections []string) string {
	section, _ := splitVariable(variable)
	if slices.Contains(sections, section) {
		return section
	}
	return ""
}

// splitVariable splits HGLD_CLUSTER_N_INIT into cluster and N_INIT. It returns empty strings
// for names of another form.
func splitVariable(name string) (section, key string) {
	rest, ok := strings.CutPrefix(name, EnvPrefix)
	word, key, more := strings.Cut(rest, "_")
	if !ok || !more {
		return "", ""
	}
	return strings.ToLower(word), key
}

// CheckEnvironment returns an error for a variable with a misspelt section, such as
// HGLD_CLUSTR_K, which would otherwise be ignored. It skips variables whose second word is not
// close to the name of a section, since they belong to other programs. ptr returns the
// settings of a section.
func CheckEnvironment(sections []string, ptr func(section string) any) error {
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		word, key := splitVariable(name)
		if word == "" || slices.Contains(sections, word) {
			continue
		}
		near := registry.Nearest(word, sections)
		if near == "" {
			continue
		}
		var known []string
		for _, f := range Fields(ptr(near)) {
			known = append(known, f.Env(near))
		}
		return unknownVariable(name, EnvPrefix+strings.ToUpper(near)+"_"+key, known)
	}
	return nil
}

// unknownVariable returns the error for an unknown variable. like is its name with the section
// corrected. It lists the many known variables only if none is close.
func unknownVariable(name, like string, known []string) error {
	err := &registry.UnknownError{Kind: "environment variable", Name: name, Nearest: registry.Nearest(like, known)}
	if err.Nearest == "" {
		err.Known = known
	}
	return err
}

// Check compares the section's numbers with their bounds, and refuses former values, and addresses in place of paths.
// from returns the source of a dotted key's value, or "".
func (s Section) Check(from func(key string) string) error {
	if err := s.Former.formerValue(s, from); err != nil {
		return err
	}
	err := Check(s.Ptr)
	var out *BoundsError
	if err == nil {
		return s.checkPaths(from)
	}
	if !errors.As(err, &out) {
		return err
	}
	origin := from(out.Key)
	out.Key = strings.Join(append(s.path(), out.Key), ".")
	if origin != "" {
		return fmt.Errorf("%s: %w", origin, err)
	}
	return err
}

// checkPaths returns a [*regular.AddressError] for the first path that is an address, unless the setting also takes a
// place in an object store: then an [*address.Error] for one that is wrong.
func (s Section) checkPaths(from func(key string) string) (err error) {
	for _, f := range Fields(s.Ptr) {
		f.MapPaths(func(path string) string {
			e := regular.CheckPath(path)
			if f.TakesStore() && address.Is(path) {
				e = address.Check(path)
			}
			if e != nil && err == nil {
				err = fmt.Errorf("%s.%s: %w", s.Name, f.Key(), e)
				if origin := from(f.Key()); origin != "" {
					err = fmt.Errorf("%s: %w", origin, err)
				}
			}
			return path
		})
	}
	return err
}
