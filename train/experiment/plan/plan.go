package plan

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/registry"
	"hgld/internal/settings"
	"hgld/internal/terminal"
	"hgld/internal/usage"
	"hgld/train/experiment/runs"
)

// Scale says how a plan departs from its study: usually, how it is scaled down.
type Scale struct {
	Set   []string `json:"set,omitempty"`   // assignments of settings, key=value, for all runs
	Small bool     `json:"small,omitempty"` // a small network, images and batches: see small.yaml
	Limit int      `json:"limit,omitempty"` // the first variants; 0: all
	Seeds int      `json:"seeds,omitempty"` // number of seeds; 0: those of the study
}

// IsWhole reports whether a scale changes nothing.
func (c *Scale) IsWhole() bool {
	return len(c.Set) == 0 && !c.Small && c.Limit == 0 && c.Seeds == 0
}

// Plan is the list of the runs of a study.
type Plan struct {
	Study    *Study     // what is planned
	Scale    Scale      // how the plan departs from it
	Dir      string     // folder of the study
	Variants []*Variant // up to the limit
	Runs     []*Run     // in the order of training
	All      int        // number of variants without the limit

	ended map[string]*State // finished runs, which are read once
}

// Variant is one option of each factor.
type Variant struct {
	Name    string   `json:"name"`            // begins the names of its run directories
	Options []string `json:"options"`         // labels, in the order of the factors
	Recipe  *Recipe  `json:"-"`               // the recipe of its runs, or nil
	Place   *Place   `json:"paper,omitempty"` // the published row of its runs, or nil

	options []*Option
}

// Label names a variant by its options.
func (v *Variant) Label() string { return strings.Join(v.Options, ", ") }

// Has reports whether a variant has one of the options of every factor that the labels name.
func (s *Study) Has(v *Variant, labels []string) bool {
	chosen := map[int]bool{}
	for _, label := range labels {
		f, _, _ := s.Option(label)
		chosen[f] = chosen[f] || v.Options[f] == label
	}
	for _, ok := range chosen {
		if !ok {
			return false
		}
	}
	return true
}

// Run is a run of a study.
type Run struct {
	Name     string         `json:"name"` // of its directory
	Variant  *Variant       `json:"-"`    // chosen options
	Seed     uint64         `json:"seed"` // of weights, batches and augmentation
	Settings *runs.Settings `json:"-"`    // with its directory as Out
}

// Files are the inputs of a run: data, benchmarks and weights.
func (r *Run) Files() []string {
	s := r.Settings
	list := slices.Concat(s.Images.Files(), s.Images.Benchmarks, s.Landmarks.Truth, s.Landmarks.Images,
		[]string{s.Model.Weights, s.From})
	return slices.DeleteFunc(list, func(path string) bool { return path == "" })
}

// Make returns the plan of a study in the folder dir. Relative paths of recipes and of studies of hgld
// are changed by anchor; those in a file of the user are relative to its folder.
func (s *Study) Make(dir string, scale Scale, anchor func(path string) string) (*Plan, error) {
	p := &Plan{Study: s, Scale: scale, Dir: dir, ended: map[string]*State{}}
	seeds, err := s.count(p)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	all := s.variants(scale.Limit)
	names := map[string]string{}
	for _, v := range all {
		if before, twice := names[v.Name]; twice {
			return nil, usage.Wrap(fmt.Errorf("%s: the variants %.80q and %.80q both need the folder %s: rename an option",
				s.Name, before, v.Label(), v.Name))
		}
		names[v.Name] = v.Label()
		if err := s.lookUp(v); err != nil {
			return nil, usage.Wrap(err)
		}
	}
	p.Variants = all
	shared := map[*Variant]*runs.Settings{}
	for _, v := range all {
		var err error
		if shared[v], err = s.settings(v, scale, anchor); err != nil {
			return nil, usage.Wrap(err)
		}
	}
	if err := s.checkMeasured(shared); err != nil && len(all) == p.All {
		return nil, usage.Wrap(err)
	}
	for _, seed := range seeds {
		for _, v := range all {
			own := new(*shared[v])
			r := &Run{Name: fmt.Sprintf("%s-seed%d", v.Name, seed), Variant: v, Seed: seed, Settings: own}
			own.Seed, own.Out = seed, filepath.Join(dir, RunsFolder, r.Name)
			for _, path := range own.Images.Paths() {
				*path = strings.ReplaceAll(*path, "{seed}", fmt.Sprint(seed))
			}
			if s.HoldOutBySeed && own.Images.HoldOut > 0 {
				own.Images.HoldOutSeed = seed
			}
			p.Runs = append(p.Runs, r)
		}
	}
	for _, f := range s.Figures {
		for _, v := range all {
			if !s.Has(v, f.Only) {
				continue
			}
			if _, err := p.Number(v, f.X); err != nil {
				return nil, usage.Wrap(fmt.Errorf("figure %.80q: x: %w", f.Title, err))
			}
		}
	}
	return p, nil
}

// level is the end of the key of a metric of one level.
var level = regexp.MustCompile(`_level[0-9]+$`)

// checkMeasured returns an error for a metric that no variant measures.
func (s *Study) checkMeasured(variants map[*Variant]*runs.Settings) error {
	used := slices.Clone(s.Metrics)
	for _, t := range s.Tables {
		used = append(used, t.Metrics...)
	}
	for _, c := range s.Comparisons {
		used = append(used, c.Metrics...)
	}
	for _, f := range s.Figures {
		used = append(used, f.Metrics...)
	}
	measured := map[string]bool{}
	for _, own := range variants {
		for _, name := range own.Run.Metrics {
			measured[name] = true
		}
	}
	for _, key := range used {
		name := strings.TrimSuffix(strings.TrimPrefix(level.ReplaceAllString(key, ""), "mean("), ")")
		if !measured[name] {
			return fmt.Errorf("%s: metric %.80q: no run measures %.80q: add it to run.metrics", s.Name, key, name)
		}
	}
	return nil
}

// count sets the number of variants of a plan and returns its seeds, before any of its runs is made: a short file can
// name more runs than fit into memory.
func (s *Study) count(p *Plan) ([]uint64, error) {
	p.All = 1
	for _, f := range s.Factors {
		p.All = min(p.All*len(f.Options), 1<<40) // a file has less than 1<<20 values
	}
	variants, seeds := p.All, cmp.Or(p.Scale.Seeds, len(s.Seeds))
	if p.Scale.Limit > 0 {
		variants = min(variants, p.Scale.Limit)
	}
	if variants > mostRuns || seeds > mostRuns || variants*seeds > mostRuns {
		return nil, fmt.Errorf("%s: %s and %s make more than %d runs: vary less, or plan fewer variants or seeds", s.Name,
			terminal.Count(variants, "variant"), terminal.Count(seeds, "seed"), mostRuns)
	}
	return s.seeds(p.Scale.Seeds), nil
}

// seeds returns n seeds: those of the study, and then the numbers after its greatest. 0: those of the
// study.
func (s *Study) seeds(n int) []uint64 {
	if n == 0 {
		return s.Seeds
	}
	list := slices.Clone(s.Seeds[:min(n, len(s.Seeds))])
	for next := slices.Max(s.Seeds) + 1; len(list) < n; next++ {
		list = append(list, next)
	}
	return list
}

// variants crosses the factors, and returns the first limit variants, or all for 0. The last factor varies fastest.
func (s *Study) variants(limit int) (list []*Variant) {
	at := make([]int, len(s.Factors)) // the option of each factor
	for limit == 0 || len(list) < limit {
		v := new(Variant)
		for f, k := range at {
			o := &s.Factors[f].Options[k]
			v.Options, v.options = append(v.Options, o.Label), append(v.options, o)
		}
		v.Name = folderName(v.Options)
		list = append(list, v)
		f := len(at) - 1
		for ; f >= 0; f-- {
			if at[f]++; at[f] < len(s.Factors[f].Options) {
				break
			}
			at[f] = 0
		}
		if f < 0 {
			break
		}
	}
	return list
}

// folderName makes a name for a folder from labels: letters, digits, dots and hyphens.
func folderName(labels []string) string {
	var parts []string
	for _, label := range labels {
		words := strings.FieldsFunc(greek.Replace(strings.ToLower(label)), func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.'
		})
		parts = append(parts, words...)
	}
	if len(parts) == 0 {
		return "run"
	}
	return strings.Join(parts, "-")
}

// greek spells out the letters that names of losses and their settings have.
var greek = strings.NewReplacer("α", "alpha", "λ", "lambda", "ρ", "rho", "τ", "tau", "δ", "delta", "σ", "sigma",
	"σ", "sigma", "*", "star", "+", "plus", "@", "at")

// lookUp finds the recipe and the published row of a variant.
func (s *Study) lookUp(v *Variant) error {
	name := s.Recipe
	for _, o := range v.options {
		if o.Recipe != "" {
			name = o.Recipe
		}
		if o.Paper != nil {
			v.Place = o.Paper
		}
	}
	for i, f := range s.Factors {
		name = strings.ReplaceAll(name, "{"+f.Name+"}", v.Options[i])
	}
	if name != "" {
		r, err := GetRecipe(name)
		if err != nil {
			return err
		}
		v.Recipe = &r
		for _, place := range r.Rows {
			if v.Place == nil && place.Table == s.Paper {
				v.Place = &place
			}
		}
	}
	if v.Place == nil {
		return nil
	}
	tables, err := Published()
	if err == nil {
		_, _, err = tables.Find(*v.Place)
	}
	return err
}

// settings returns the settings of a variant without seed and directory.
func (s *Study) settings(v *Variant, scale Scale, anchor func(string) string) (*runs.Settings, error) {
	own := runs.DefaultSettings()
	own.Images.Data = anchor(own.Images.Data)
	if v.Recipe != nil {
		if err := recipeSource(v.Recipe).fill(&own, anchor); err != nil {
			return nil, err
		}
	}
	here := anchor
	if s.File != "" {
		here = func(path string) string {
			if filepath.IsAbs(path) {
				return path
			}
			return filepath.Join(filepath.Dir(s.File), path)
		}
	}
	sources := []source{s.train}
	for _, o := range v.options {
		sources = append(sources, o.settings)
	}
	for _, from := range sources {
		if err := from.fill(&own, here); err != nil {
			return nil, err
		}
	}
	if scale.Small {
		if err := small().fill(&own, anchor); err != nil {
			return nil, err
		}
		for _, o := range v.options {
			if o.value { // a small form still varies what the study varies
				if err := o.settings.fill(&own, here); err != nil {
					return nil, err
				}
			}
		}
	}
	if err := section(&own).Assign(scale.Set); err != nil {
		return nil, err
	}
	if err := section(&own).Check(func(string) string { return "" }); err != nil {
		return nil, err
	}
	if own.Images.Embeddings == "" { // a head on vectors gets its backbone with the data
		if err := own.Config.Check(); err != nil {
			return nil, fmt.Errorf("%s: %w", v.Label(), err)
		}
	}
	return &own, nil
}

// Words says how a plan is scaled, one phrase each; none for a whole study.
func (p *Plan) Words() (list []string) {
	if n := len(p.Variants); n < p.All {
		list = append(list, fmt.Sprintf("%d of %d variants", n, p.All))
	}
	if n, all := p.Scale.Seeds, len(p.Study.Seeds); n > 0 && n < all {
		list = append(list, fmt.Sprintf("%d of %d seeds", n, all))
	}
	return append(list, p.Scale.Changes()...)
}

// Changes lists what differs between the settings of a scaled run and the study's.
func (c *Scale) Changes() (list []string) {
	if c.Small {
		list = append(list, "small networks")
	}
	for _, a := range c.Set {
		if !strings.HasPrefix(strings.TrimPrefix(a, "train."), "run.") {
			list = append(list, a)
		}
	}
	return list
}

// Check returns an error for a scale that makes no sense.
func (c *Scale) Check() error {
	for _, a := range c.Set {
		key, _, _ := strings.Cut(strings.TrimPrefix(a, "train."), "=")
		switch key {
		case "out":
			return errors.New("out: a study chooses the directories of its runs")
		case "seed", "hold_out_seed":
			return fmt.Errorf("%s: a study sets the seeds of its runs", key)
		}
	}
	return nil
}

// MissingSlices lists the slices, from 1, with a run that is neither finished nor diverged.
func (p *Plan) MissingSlices(of int) ([]string, error) {
	missing := []string{}
	for n := range min(of, len(p.Runs)) {
		for _, r := range p.Slice(n+1, of) {
			s, err := p.State(r)
			if err != nil {
				return nil, err
			}
			if s.Phase == Pending || s.Phase == Begun {
				missing = append(missing, strconv.Itoa(n+1))
				break
			}
		}
	}
	return missing, nil
}

// Slice returns the runs of slice n, from 1, of several slices: every of-th run.
func (p *Plan) Slice(n, of int) (list []*Run) {
	for i := n - 1; i < len(p.Runs); i += of {
		list = append(list, p.Runs[i])
	}
	return list
}

// Number returns a setting of a variant that is a number, or its option of a factor whose options are
// numbers.
func (p *Plan) Number(v *Variant, key string) (float64, error) {
	if f := p.Study.FactorAt(key); f >= 0 {
		if x, err := strconv.ParseFloat(v.Options[f], 64); err == nil {
			return x, nil
		}
	}
	at := slices.IndexFunc(p.Runs, func(r *Run) bool { return r.Variant == v })
	fields := settings.Fields(p.Runs[at].Settings)
	i, inner := settings.Find(fields, key)
	if i < 0 {
		return 0, registry.Unknown("setting", key, settings.Keys(fields))
	}
	value := fields[i].Value.Interface()
	if inner != "" {
		for part := range strings.SplitSeq(inner, ".") {
			group, _ := value.(map[string]any)
			value = group[part]
		}
	}
	switch x := value.(type) {
	case int:
		return float64(x), nil
	case uint64:
		return float64(x), nil
	case float64:
		return x, nil
	}
	return 0, fmt.Errorf("%s of %s is %v, want a number", key, v.Label(), value)
}
