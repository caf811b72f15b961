package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"hgld/internal/atomicfile"
	"hgld/internal/settings"
)

// stampVersion is the format version of the stamps.
const stampVersion = 1

// stamp is .hgld/STAGE.json in a project: what a stage read, with which
// settings, and what it wrote. `hgld status` compares it with the files as they
// are now.
type stamp struct {
	Version  int               `json:"hgld_stamp"`
	Stage    string            `json:"stage"`
	Tool     string            `json:"tool"`
	Finished time.Time         `json:"finished"`
	Limit    int               `json:"limit,omitempty"`   // a trial on so many items
	Partial  bool              `json:"partial,omitempty"` // some items failed that the same command may mend
	Settings string            `json:"settings"`          // resolved, as YAML
	In       map[string]string `json:"in"`                // path -> fingerprint
	Out      map[string]string `json:"out"`

	Sums    map[string]string `json:"sums,omitempty"`    // sha256 of outputs whose fingerprint is none
	Changed map[string]string `json:"changed,omitempty"` // outputs that a user changed on purpose: their sha256 before
}

// record writes the stage's stamp, if there is a project. A result that went
// elsewhere than the project's settings say is none of the project's. repeatable
// says that some items failed which the same command may mend.
func (s stage) record(j *job, settings any, in map[string]string, out []string, repeatable bool) error {
	if j.project.file == "" || !s.isOwn(j.project, out) {
		return nil
	}
	after, err := fingerprint(out)
	if err != nil {
		return err
	}
	text, err := j.project.portable(settings)
	if err != nil {
		return err
	}
	if s.goesOn {
		if was, err := s.stampIn(j.project); err == nil {
			text = was.Settings
		}
	}
	sums, err := sumsOf(after)
	if err != nil {
		return err
	}
	return s.writeStamp(j.project, stamp{
		Version: stampVersion, Stage: s.name, Tool: version, Finished: time.Now().UTC().Truncate(time.Second),
		Limit: j.limit, Partial: repeatable, Settings: text, In: j.project.relative(in), Out: j.project.relative(after),
		Sums: j.project.relative(sums),
	})
}

// writeStamp writes the stage's stamp in a project.
func (s stage) writeStamp(p *project, st stamp) error {
	data, err := json.MarshalIndent(st, "", " ")
	if err != nil {
		return err
	}
	dir := filepath.Join(p.dir, ".hgld")
	if err := atomicfile.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(dir, s.name+".json"), append(data, '\n'))
}

// isOwn reports whether these outputs are the ones that the project's own settings
// name. Settings that cannot be read name none.
func (s stage) isOwn(p *project, out []string) bool {
	settings := s.settings()
	if err := p.load(nil, s.name, settings); err != nil {
		return false
	}
	_, own := s.files(settings)
	return slices.EqualFunc(own, out, func(a, b string) bool { return p.inside(a) == p.inside(b) })
}

// stampIn reads the stage's stamp in a project.
func (s stage) stampIn(p *project) (stamp, error) {
	var was stamp
	data, err := os.ReadFile(filepath.Join(p.dir, ".hgld", s.name+".json"))
	if err != nil {
		return was, err
	}
	if err := json.Unmarshal(data, &was); err != nil || was.Version > stampVersion {
		return was, errOtherStamp
	}
	return was, nil
}

// errOtherStamp says that a stamp is not as this hgld writes it.
var errOtherStamp = errors.New("its stamp in .hgld was written by another version")

// relative names paths from the project's folder, so that a project can be moved.
func (p *project) relative(prints map[string]string) map[string]string {
	out := make(map[string]string, len(prints))
	for path, v := range prints {
		out[p.inside(path)] = v
	}
	return out
}

// inside names a path from the project's folder: the same from wherever the project is
// looked at. One that is named from the root and lies elsewhere stays so.
func (p *project) inside(path string) string {
	dir, err := filepath.Abs(p.dir)
	if err != nil || path == "" {
		return path
	}
	if way, anchored := p.ways[path]; anchored {
		return filepath.ToSlash(way)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(dir, abs)
	if err != nil || filepath.IsAbs(path) && !filepath.IsLocal(rel) {
		return path
	}
	return filepath.ToSlash(rel)
}

// named is paths as a user of the project knows them.
func (p *project) named(paths []string) []string {
	list := make([]string, len(paths))
	for i, path := range paths {
		list[i] = p.inside(path)
	}
	return list
}

// portable prints settings as YAML with the project's files named from its
// folder: the same text from wherever the project is looked at.
func (p *project) portable(ptr any) (string, error) {
	for _, f := range settings.Fields(ptr) {
		if f.IsPath() {
			defer f.Value.Set(reflect.ValueOf(f.Value.Interface()))
			f.MapPaths(p.inside)
		}
	}
	text, err := yaml.Marshal(ptr)
	return string(text), err
}

// state is what `hgld status` says of a stage.
type state struct {
	Stage   string   `json:"stage"`
	Command string   `json:"command"`
	State   string   `json:"state"` // done, stale, missing, trial
	Why     string   `json:"why,omitempty"`
	Limit   int      `json:"limit,omitempty"` // of a trial
	Outputs []string `json:"outputs,omitempty"`
	Missing []string `json:"missing_inputs,omitempty"`
}

// good reports whether a run with this limit leaves the stage as it is.
func (st state) good(limit int) bool {
	return st.State == "done" || st.State == "trial" && st.Limit == limit
}

// stateOf compares a stage's stamp with the files and settings of now.
func (s stage) stateOf(p *project, settings any) (state, error) {
	in, out := s.files(settings)
	st := state{Stage: s.name, Command: s.command, State: "missing", Outputs: out, Missing: missing(in)}
	was, err := s.stampIn(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if len(st.Missing) > 0 && len(missing(out)) == 0 { // brought by the user: nothing here could make it
			st.State, st.Why = "done", "made elsewhere"
		}
		return st, nil
	case errors.Is(err, errOtherStamp):
		st.State, st.Why = "stale", err.Error()
		return st, nil
	case err != nil:
		return st, err
	}
	for path := range was.In { // of a result that was made of other files than the settings name
		if !filepath.IsAbs(path) {
			path = p.join(filepath.FromSlash(path))
		}
		if !slices.Contains(in, path) {
			in = append(in, path)
		}
	}
	now, err := fingerprint(in)
	if err != nil {
		return st, fmt.Errorf("%s: %w", s.command, err)
	}
	wrote, err := fingerprint(out)
	if err != nil {
		return st, fmt.Errorf("%s: %w", s.command, err)
	}
	text, err := p.portable(settings)
	if err != nil {
		return st, err
	}
	st.Limit = was.Limit
	if was.Settings, err = s.completed(was.Settings); err != nil {
		return st, err
	}
	st.State, st.Why = was.compare(p.relative(now), p.relative(wrote), text)
	return st, nil
}

// completed is the settings of a stamp with the defaults of what this hgld has added
// since: a key that did not exist has not changed.
func (s stage) completed(text string) (string, error) {
	ptr := s.settings()
	for _, f := range settings.Fields(ptr) { // YAML would merge a map into the default
		if f.Value.Kind() == reflect.Map {
			f.Value.SetZero()
		}
	}
	if err := yaml.Unmarshal([]byte(text), ptr); err != nil {
		return text, nil // of another version: the difference is named as it stands
	}
	all, err := yaml.Marshal(ptr)
	return string(all), err
}

// missing lists the paths that lead to nothing.
func missing(paths []string) []string {
	var list []string
	for _, path := range paths {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); isMissing(err) {
			list = append(list, path)
		}
	}
	return list
}

// compare decides whether a recorded result is still good, and if not, why.
func (was stamp) compare(in, out map[string]string, now string) (string, string) {
	for _, path := range slices.Sorted(maps.Keys(out)) {
		if out[path] == "" {
			return "missing", path + " is gone"
		}
		if was.Out[path] != out[path] {
			return "stale", path + changed(out[path], " was changed by something else")
		}
	}
	if was.Settings != now {
		return "stale", "its settings changed: " + settings.Difference(was.Settings, now)
	}
	for _, path := range slices.Sorted(maps.Keys(was.In)) {
		switch {
		case was.In[path] == in[path]:
		case in[path] == "":
			return "stale", path + " is gone"
		default:
			return "stale", path + changed(in[path], " changed since")
		}
	}
	switch {
	case was.Partial:
		return "stale", "some items failed last time"
	case was.Limit > 0:
		return "trial", fmt.Sprintf("made with --limit %d", was.Limit)
	}
	return "done", ""
}

// changed says how a file differs from what a stamp has of it: by damage that its
// fingerprint tells, or else as it is said here.
func changed(now, otherwise string) string {
	if what, is := strings.CutPrefix(now, spoiled); is {
		return ": " + what
	}
	return otherwise
}
