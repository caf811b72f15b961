// Package plan describes experiments: recipes, which are the published runs of the papers, and studies of many runs,
// such as a paper's table or an ablation of one's own.
//
// A recipe is a complete hgld.yaml: `hgld train recipes --yaml NAME > hgld.yaml` starts a project with it. Its
// leading comment is itself YAML once each "# " is removed. This header describes the run, the table rows that it
// reproduces, and the data that it needs. It also states where paper and code differ, which of them the recipe
// follows, and what had to be guessed. Settings that a recipe omits keep their defaults. The tables quote the
// published numbers: see published.yaml.
//
// A study is a YAML file:
//
//	hgld_study: 1
//	title: HAPPIER and its alpha
//	about: what the study asks
//	needs: the data that must be there
//	paper: V                       # a table of published numbers to set beside the results
//	differs: [random weights]      # how the study differs from the paper, if it does
//	recipe: "sop/{method}"         # the recipe that the runs start from; {method} is an option
//	train: {steps: 600}            # settings of all runs, as in hgld.yaml
//	vary:                          # factors; their options are crossed
//	  optim.lr: [1.0e-3, 1.0e-2]   # a setting and its values, the options lr=1.0e-3 and lr=1.0e-2
//	  method: [nsm, happier]       # names for {method} in recipe, not settings
//	  loss:                        # options that set several settings, or name a recipe or a row
//	    ROADMAP: {loss: roadmap}
//	    no margin: {recipe: sop/rambo-log, loss.settings.margin: 0, paper: {table: …, method: …, part: …}}
//	seeds: [1, 2, 3]               # each replaces {seed} in data, embeddings and labels
//	hold_out_by_seed: true         # each seed also chooses the held-out classes
//	metrics: [R@1_level0, H-AP]    # keys of eval.json
//	interval: student              # or bootstrap: over the seeds
//	tables: …                      # see Table, Comparison and Figure
//	comparisons: …
//	figures: …
//
// A variant is one option of each factor. A [Plan] has a run for each variant and seed, in the order
// of the seeds, so that a study that was stopped early has results for all variants. A run is an
// ordinary run directory. Its settings are the defaults, the recipe, train, the options, the changes
// of a [Scale], and the seed; each overrides those before it. The project's hgld.yaml does not count.
//
// [Plan.Open] records the plan in study.json and refuses runs that were planned with other settings or
// inputs. Whether a run is finished is read from its directory alone, so a killed process loses
// nothing, and several processes can share the work. Its report is a function of the plan and the
// finished runs: equal runs give equal bytes, in any order of training.
package plan

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/registry"
	"hgld/internal/regular"
)

// Version is the format version of a study.
const Version = 1

// The intervals over the seeds of a variant.
const (
	Student   = "student"   // Student's t interval of the mean, clipped to 0 … 100 %
	Bootstrap = "bootstrap" // over the seeds: stats.Expanded
)

var intervals = []string{Student, Bootstrap}

// The verdicts on a difference, and what a claim may expect.
const (
	Higher = "higher"
	Lower  = "lower"
)

// Study is an experiment of many runs.
type Study struct {
	Name  string `json:"name"`            // path of the file without .yaml: "rank-losses/table-5"
	File  string `json:"file,omitempty"`  // "": it is part of hgld
	Text  string `json:"-"`               // of the file
	Title string `json:"title"`           // of the report
	About string `json:"about,omitempty"` // what it asks
	Needs string `json:"needs,omitempty"` // data that must be there

	// Paper names a table of Tables with numbers to set beside the results, or is "".
	Paper string `json:"paper,omitempty"`
	// Differs says in which ways the study differs from the paper. If it is not empty, no result is
	// compared with a published number.
	Differs []string `json:"differs,omitempty"`
	// Recipe is the recipe that the runs start from, or "". {factor} stands for the factor's option.
	Recipe string `json:"recipe,omitempty"`

	Factors []Factor `json:"factors"` // what varies
	Seeds   []uint64 `json:"seeds"`   // of the runs of each variant
	// HoldOutBySeed says that the seed of a run also chooses the classes to hold out.
	HoldOutBySeed bool     `json:"hold_out_by_seed,omitempty"`
	Metrics       []string `json:"metrics"`  // keys of eval.json, or mean(metric)
	Interval      string   `json:"interval"` // student or bootstrap

	// Tables, Comparisons and Figures are the parts of the report.
	Tables      []Table      `json:"tables"`
	Comparisons []Comparison `json:"comparisons,omitempty"` // see Tables
	Figures     []Figure     `json:"figures,omitempty"`     // see Tables

	train source // settings of all runs
}

// Factor is something that varies between runs.
type Factor struct {
	Name    string   `json:"name"`    // a setting's key, or any other word
	Options []Option `json:"options"` // at least one
}

// Option is one choice of a factor.
type Option struct {
	Label  string `json:"label"`            // unique in the study
	Recipe string `json:"recipe,omitempty"` // instead of the study's
	Paper  *Place `json:"paper,omitempty"`  // the published row of the runs; nil: a row of the recipe

	settings source
	value    bool // of the setting that is the factor
}

// Table is a table with a row for each variant and a column for each metric.
type Table struct {
	Title   string   `yaml:"title" json:"title"`               // stands above it
	By      string   `yaml:"by" json:"by,omitempty"`           // factor with a table for each option
	Only    []string `yaml:"only" json:"only,omitempty"`       // options to show; empty: all
	Metrics []string `yaml:"metrics" json:"metrics,omitempty"` // empty: those of the study
}

// Comparison compares options of a factor with another option, seed by seed, within each choice of the
// other factors. All differences of a comparison are corrected together (Holm).
type Comparison struct {
	Title   string   `yaml:"title" json:"title"`             // the claim, where the comparison tests one
	Of      []string `yaml:"of" json:"of,omitempty"`         // options; empty: all others of the factor
	From    string   `yaml:"from" json:"from"`               // option that the others are compared with
	Metrics []string `yaml:"metrics" json:"metrics"`         // empty: those of the study
	Expect  string   `yaml:"expect" json:"expect,omitempty"` // higher or lower: what the claim says
	Paper   string   `yaml:"paper" json:"paper,omitempty"`   // what the paper reports, in words
}

// Figure draws metrics over a setting.
type Figure struct {
	Title   string   `yaml:"title" json:"title"`               // stands above it
	X       string   `yaml:"x" json:"x"`                       // key of a setting that is a number, or a factor of numbers
	Log     bool     `yaml:"log" json:"log"`                   // logarithmic horizontal axis
	From    string   `yaml:"from" json:"from,omitempty"`       // option: draw the relative increase over it
	By      string   `yaml:"by" json:"by,omitempty"`           // factor with a curve for each option
	Only    []string `yaml:"only" json:"only,omitempty"`       // options to show; empty: all
	Metrics []string `yaml:"metrics" json:"metrics,omitempty"` // empty: those of the study
}

var studies = library[*Study]{studiesFolder, "study", parse}

// Studies returns the studies of hgld, sorted by name.
func Studies() ([]*Study, error) { return studies.all() }

// GetStudy returns the study of hgld called name, or the one in the file of that name. If there is
// neither, the error suggests the nearest name.
func GetStudy(name string) (*Study, error) {
	if ext := filepath.Ext(name); ext == ".yaml" || ext == ".yml" {
		text, err := regular.ReadFile(name)
		if err != nil {
			return nil, err
		}
		s, err := parse(strings.TrimSuffix(filepath.Base(name), ext), name, text)
		if s != nil {
			s.File = name
		}
		return s, err
	}
	return studies.get(name)
}

// Option finds an option by its label. Labels are unique in a study.
func (s *Study) Option(label string) (factor, option int, ok bool) {
	for f := range s.Factors {
		for o := range s.Factors[f].Options {
			if s.Factors[f].Options[o].Label == label {
				return f, o, true
			}
		}
	}
	return 0, 0, false
}

// FactorAt returns the index of a factor, or −1.
func (s *Study) FactorAt(name string) int {
	return slices.IndexFunc(s.Factors, func(f Factor) bool { return f.Name == name })
}

// check returns an error unless tables, comparisons and figures name what exists.
func (s *Study) check() error {
	labels := map[string]string{}
	for _, f := range s.Factors {
		if len(f.Options) == 0 {
			return fmt.Errorf("vary.%s has no options", f.Name)
		}
		for _, o := range f.Options {
			if before, twice := labels[o.Label]; twice {
				return fmt.Errorf("vary.%s: the option %.80q is also one of %s: want different names", f.Name, o.Label, before)
			}
			labels[o.Label] = f.Name
		}
	}
	switch {
	case s.Title == "":
		return errors.New("title is missing")
	case len(s.Seeds) == 0:
		return errors.New("seeds is empty: want at least one, such as [1, 2, 3]")
	case len(s.Metrics) == 0:
		return errors.New("metrics is empty: want keys of eval.json, such as H-AP and R@1_level0")
	case !slices.Contains(intervals, s.Interval):
		return registry.Unknown("interval", s.Interval, intervals)
	}
	seen := map[uint64]bool{}
	for _, seed := range s.Seeds {
		if seen[seed] {
			return fmt.Errorf("seeds has %d twice", seed)
		}
		seen[seed] = true
	}
	return s.checkParts()
}

// checkParts is check for what refers to options and factors.
func (s *Study) checkParts() error {
	options := func(where string, list []string) error {
		for _, label := range list {
			if _, _, ok := s.Option(label); !ok {
				return fmt.Errorf("%s: %w", where, registry.Unknown("option", label, s.labels()))
			}
		}
		return nil
	}
	by := func(where, name string) error {
		if name == "" || s.FactorAt(name) >= 0 {
			return nil
		}
		var names []string
		for _, f := range s.Factors {
			names = append(names, f.Name)
		}
		return fmt.Errorf("%s.by: %w", where, registry.Unknown("factor", name, names))
	}
	var errs []error
	for i, t := range s.Tables {
		where := fmt.Sprintf("tables[%d]", i)
		errs = append(errs, options(where+".only", t.Only), by(where, t.By))
	}
	for i, c := range s.Comparisons {
		where := fmt.Sprintf("comparisons[%d]", i)
		errs = append(errs, options(where+".from", []string{c.From}), options(where+".of", c.Of))
		if !slices.Contains([]string{"", Higher, Lower}, c.Expect) {
			errs = append(errs, fmt.Errorf("%s.expect is %.80q, want higher or lower", where, c.Expect))
		}
		at, _, _ := s.Option(c.From)
		for _, label := range c.Of {
			if f, _, ok := s.Option(label); ok && f != at {
				errs = append(errs, fmt.Errorf("%s: %.80q and %.80q are options of different factors", where, label, c.From))
			}
		}
	}
	for i, f := range s.Figures {
		where := fmt.Sprintf("figures[%d]", i)
		errs = append(errs, options(where+".only", f.Only), by(where, f.By))
		if f.From != "" {
			errs = append(errs, options(where+".from", []string{f.From}))
		}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// labels lists the labels of all options.
func (s *Study) labels() (list []string) {
	for _, f := range s.Factors {
		for _, o := range f.Options {
			list = append(list, o.Label)
		}
	}
	return list
}
