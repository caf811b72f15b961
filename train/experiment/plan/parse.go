package plan

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hgld/internal/registry"
	"hgld/internal/settings"
	"hgld/internal/usage"
	"hgld/train/experiment/runs"
)

// mostParts bounds the factors, tables, comparisons and figures of a study, and mostRuns its runs.
const (
	mostParts = 1000
	mostRuns  = 10_000
)

// head is a study as its file has it.
type head struct {
	Version       int       `yaml:"hgld_study"`
	Title         string    `yaml:"title"`
	About         string    `yaml:"about"`
	Needs         string    `yaml:"needs"`
	Paper         string    `yaml:"paper"`
	Differs       []string  `yaml:"differs"`
	Recipe        string    `yaml:"recipe"`
	Train         yaml.Node `yaml:"train"`
	Vary          yaml.Node `yaml:"vary"`
	Seeds         []uint64  `yaml:"seeds"`
	HoldOutBySeed bool      `yaml:"hold_out_by_seed"`
	Metrics       []string  `yaml:"metrics"`
	Interval      string    `yaml:"interval"`
	Tables        yaml.Node `yaml:"tables"`
	Comparisons   yaml.Node `yaml:"comparisons"`
	Figures       yaml.Node `yaml:"figures"`
}

// source is a YAML mapping of settings in a file.
type source struct {
	file string
	node *yaml.Node
}

// fill sets the values of a mapping in own. Relative paths are changed by anchor.
func (s source) fill(own *runs.Settings, anchor func(string) string) error {
	set, err := section(own).File(s.file, s.node)
	for _, f := range set {
		f.MapPaths(func(path string) string {
			if path == "" {
				return ""
			}
			return anchor(path)
		})
	}
	return err
}

// section is the section train of a file of settings.
func section(own *runs.Settings) settings.Section {
	return settings.Section{Name: "train", Ptr: own, Words: runs.Synonyms, Former: runs.FormerKeys,
		Origin: func(string, string) {}}
}

// read fills a struct from a mapping called name.
func read(file, name string, node *yaml.Node, ptr any) error {
	s := settings.Section{Name: name, Ptr: ptr, Origin: func(string, string) {}}
	if _, err := s.File(file, node); err != nil {
		return err
	}
	return s.Check(func(string) string { return file })
}

// readList reads a list of mappings.
func readList[T any](file, name string, node *yaml.Node) ([]T, error) {
	if node.IsZero() || node.ShortTag() == "!!null" {
		return nil, nil
	}
	if node.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("%s:%d: %s: want a list", file, node.Line, name)
	}
	if n := len(node.Content); n > mostParts {
		return nil, fmt.Errorf("%s:%d: %s: %d of them; want at most %d", file, node.Line, name, n, mostParts)
	}
	list := make([]T, len(node.Content))
	for i, item := range node.Content {
		if err := read(file, name, item, &list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// parse reads a study. Errors name the file as file.
func parse(name, file string, text []byte) (*Study, error) {
	s, err := parseText(name, file, text)
	if err == nil {
		if err = s.check(); err != nil {
			err = fmt.Errorf("%s: %w", file, err)
		}
	}
	if err != nil {
		return nil, usage.Wrap(err)
	}
	return s, nil
}

func parseText(name, file string, text []byte) (*Study, error) {
	root, err := settings.Document(file, text)
	if err != nil {
		return nil, err
	}
	if root == nil || root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: want a study, which begins with hgld_study: %d", file, Version)
	}
	if at := settings.Lookup(root, "hgld_study"); at == nil {
		return nil, fmt.Errorf("%s: hgld_study is missing: want the format version, %d", file, Version)
	}
	h := head{Interval: Student}
	if err := read(file, "study", root, &h); err != nil {
		return nil, err
	}
	if h.Version != Version {
		return nil, fmt.Errorf("%s: hgld_study is %d; this hgld reads format version %d", file, h.Version, Version)
	}
	s := &Study{Name: name, Text: string(text), Title: h.Title, About: strings.TrimSpace(h.About),
		Needs: strings.TrimSpace(h.Needs), Paper: h.Paper, Differs: h.Differs, Recipe: h.Recipe, Seeds: h.Seeds,
		HoldOutBySeed: h.HoldOutBySeed, Metrics: h.Metrics, Interval: h.Interval, train: source{file, &h.Train}}
	if s.Tables, err = readList[Table](file, "tables", &h.Tables); err != nil {
		return nil, err
	}
	if s.Comparisons, err = readList[Comparison](file, "comparisons", &h.Comparisons); err != nil {
		return nil, err
	}
	if s.Figures, err = readList[Figure](file, "figures", &h.Figures); err != nil {
		return nil, err
	}
	if len(s.Tables) == 0 {
		s.Tables = []Table{{Title: s.Title}}
	}
	return s, s.readFactors(file, &h.Vary)
}

// readFactors reads the mapping vary.
func (s *Study) readFactors(file string, node *yaml.Node) error {
	if node.IsZero() || node.ShortTag() == "!!null" {
		return nil
	}
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("%s:%d: vary: want factors, such as optim.lr: [1.0e-3, 1.0e-2]", file, node.Line)
	}
	if n := len(node.Content) / 2; n > mostParts {
		return fmt.Errorf("%s:%d: vary: %d factors; want at most %d", file, node.Line, n, mostParts)
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		f := Factor{Name: key.Value}
		if s.FactorAt(f.Name) >= 0 {
			return fmt.Errorf("%s:%d: vary.%s appears twice", file, key.Line, f.Name)
		}
		var err error
		switch value := node.Content[i+1]; value.Kind {
		case yaml.SequenceNode:
			err = s.readValues(&f, file, key, value)
		case yaml.MappingNode:
			err = f.readOptions(file, value)
		default:
			err = fmt.Errorf("%s:%d: vary.%s: want a list of values, or a mapping of names to settings", file, key.Line,
				f.Name)
		}
		if err != nil {
			return err
		}
		s.Factors = append(s.Factors, f)
	}
	return nil
}

// readValues reads a list of values of a setting, or of names for a recipe.
func (s *Study) readValues(f *Factor, file string, key, list *yaml.Node) error {
	own := runs.DefaultSettings()
	fields := settings.Fields(&own)
	at, _ := settings.Find(fields, f.Name)
	switch {
	case strings.Contains(s.Recipe, "{"+f.Name+"}"):
		at = -1 // the names choose a recipe
	case at < 0:
		err := &registry.UnknownError{Kind: "setting", Name: f.Name, Nearest: registry.Nearest(f.Name, settings.Keys(fields))}
		return fmt.Errorf("%s:%d: vary: %w", file, key.Line, err)
	}
	for _, value := range list.Content {
		o := Option{Label: value.Value}
		if value.Kind != yaml.ScalarNode {
			text, err := yaml.Marshal(value)
			if err != nil {
				return err
			}
			o.Label = strings.TrimSpace(string(text))
		}
		if o.value = at >= 0; o.value {
			o.Label = LastKey(f.Name) + "=" + o.Label
			o.settings = source{file, &yaml.Node{Kind: yaml.MappingNode, Line: value.Line, Content: []*yaml.Node{key, value}}}
		}
		f.Options = append(f.Options, o)
	}
	return nil
}

// readOptions reads a mapping of labels to settings.
func (f *Factor) readOptions(file string, node *yaml.Node) error {
	for i := 0; i+1 < len(node.Content); i += 2 {
		label, value := node.Content[i], node.Content[i+1]
		if value.Kind != yaml.MappingNode {
			return fmt.Errorf("%s:%d: vary.%s.%s: want settings, such as {loss: happier}", file, label.Line, f.Name,
				label.Value)
		}
		var own struct {
			Recipe string `yaml:"recipe"`
			Paper  Place  `yaml:"paper"`
		}
		ours := &yaml.Node{Kind: yaml.MappingNode, Line: value.Line}
		rest := &yaml.Node{Kind: yaml.MappingNode, Line: value.Line}
		for k := 0; k+1 < len(value.Content); k += 2 {
			to := rest
			if slices.Contains([]string{"recipe", "paper"}, value.Content[k].Value) {
				to = ours
			}
			to.Content = append(to.Content, value.Content[k:k+2]...)
		}
		if err := read(file, "vary."+f.Name, ours, &own); err != nil {
			return err
		}
		o := Option{Label: label.Value, Recipe: own.Recipe, settings: source{file, rest}}
		if own.Paper != (Place{}) {
			o.Paper = &own.Paper
		}
		f.Options = append(f.Options, o)
	}
	return nil
}

// LastKey returns the end of a dotted key, which stands for it in reports.
func LastKey(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }
