package pipeline

import (
	"reflect"
	"slices"
	"strings"

	"hgld/internal/settings"
	"hgld/internal/usage"
)

// Given is a setting that a command gave to the last run of its stage, and that hgld.yaml does not
// set. It holds until hgld.yaml sets it or the stage runs without it.
type Given struct {
	Key   string `json:"key"`            // dotted, without the stage: "optim.lr"
	Flag  string `json:"flag,omitempty"` // its flag without dashes, or "" if it has none
	Value string `json:"value"`          // as a flag or an assignment takes it
}

// given lists the keys whose values do not come from hgld.yaml or the defaults: a flag, an
// assignment, a variable or another file of settings set them. text is own as [Project.portable]
// returns it. A value with a password is not listed.
func (s Stage) given(p *Project, text string) ([]string, error) {
	base := s.settings()
	p.anchor(settings.Fields(base))
	quiet := settings.Section{Name: s.Name, Ptr: base, Words: p.engine().Words, Origin: func(string, string) {}}
	if _, err := p.fill(quiet, source{p.File, p.values[s.Name]}); err != nil {
		return nil, usage.Wrap(err)
	}
	was, err := p.portable(base)
	if err != nil {
		return nil, err
	}
	changed, err := settings.Changed(settings.Fields(base), was, text)
	return slices.DeleteFunc(changed, func(key string) bool {
		return strings.Contains(settings.At(text, key), hiddenPassword)
	}), err
}

// recall sets what the last run of a stage was given and the file does not set. inFile lists the keys
// that the file sets. A key that the program no longer has, or whose value no longer fits, is
// forgotten, and so is a damaged stamp, which [Stage.State] reports.
func (p *Project) recall(s settings.Section, inFile []string) {
	was, err := Stage{Name: s.Name}.Stamp(p)
	if p.File == "" || err != nil {
		return
	}
	fields := settings.Fields(s.Ptr)
	for _, key := range was.Given {
		i, inner := settings.Find(fields, key)
		if i < 0 || setIn(inFile, fields[i], inner) || otherName(fields, inFile, key, was.Settings) {
			continue
		}
		text := settings.At(was.Settings, key)
		if inner != "" {
			err = fields[i].SetInner(strings.Split(inner, "."), text)
		} else {
			err = fields[i].SetYAML(text)
		}
		if err != nil {
			continue
		}
		if inner == "" {
			p.anchor(fields[i : i+1])
		}
		s.Origin(fields[i].Key(), stampOrigin(s.Name))
		s.Origin(key, stampOrigin(s.Name))
	}
}

// stampOrigin is the origin of a recalled setting: the stamp in the project's folder.
func stampOrigin(stage string) string { return ".hgld/" + stage + ".json" }

// setIn reports whether the keys that a file sets include a field, or the inner key of a map.
func setIn(inFile []string, f settings.Field, inner string) bool {
	within := func(key string) bool { return key == f.Key() || strings.HasPrefix(key, f.Key()+".") }
	if !slices.ContainsFunc(inFile, within) {
		return false
	}
	value := f.Value
	for _, key := range strings.FieldsFunc(inner, func(r rune) bool { return r == '.' }) {
		for value.Kind() == reflect.Interface {
			value = value.Elem()
		}
		if value.Kind() != reflect.Map {
			return false
		}
		if value = value.MapIndex(reflect.ValueOf(key)); !value.IsValid() {
			return false
		}
	}
	return true
}

// otherName reports whether the file chooses another entry for the group of a key than the stamp's
// settings have. The group's other settings then belong to an entry that is not in use.
func otherName(fields []settings.Field, inFile []string, key, was string) bool {
	for _, f := range fields {
		group, named := strings.CutSuffix(f.Key(), ".name")
		if named && strings.HasPrefix(key, group+".") && slices.Contains(inFile, f.Key()) {
			return settings.Text(f.Value) != settings.At(was, f.Key())
		}
	}
	return false
}

// recalled lists the settings of a stage that [Project.Load] recalled for own.
func (p *Project) recalled(stage string, was Stamp, own any) []Given {
	var list []Given
	fields := settings.Fields(own)
	for _, key := range was.Given {
		i, inner := settings.Find(fields, key)
		if i < 0 || p.Origin(stage+"."+key) != stampOrigin(stage) {
			continue
		}
		g := Given{Key: key, Value: settings.Text(fields[i].Value)}
		switch {
		case inner != "":
			g.Value = settings.At(was.Settings, key)
		case fields[i].Value.Kind() == reflect.String:
			g.Value = fields[i].Value.String()
		case fields[i].Value.Kind() == reflect.Map:
			g.Value = settings.At(was.Settings, key)
		}
		if fields[i].HasFlag() && inner == "" {
			g.Flag = fields[i].Flag()
		}
		list = append(list, g)
	}
	return list
}
