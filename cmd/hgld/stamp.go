package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"hgld/internal/atomicfile"
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
	Limit    int               `json:"limit,omitempty"` // a trial on so many items
	Settings string            `json:"settings"`        // resolved, as YAML
	In       map[string]string `json:"in"`              // path -> fingerprint
	Out      map[string]string `json:"out"`
}

// wholeFile is the size up to which a file's fingerprint is its sha256; larger
// ones are known by size and time of change, so that status stays instant.
const wholeFile = 64 << 20

// fingerprint identifies the contents of files and folders by path. A missing
// one is "".
func fingerprint(paths []string) (map[string]string, error) {
	prints := map[string]string{}
	for _, path := range paths {
		if path == "" {
			continue
		}
		p, err := fingerprintOf(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		prints[path] = p
	}
	return prints, nil
}

func fingerprintOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		if info.Size() > wholeFile {
			return fmt.Sprintf("size %d, changed %s", info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano)), nil
		}
		return sha256File(path)
	}
	if p, err := fingerprintOf(filepath.Join(path, "MANIFEST.json")); err == nil {
		return p, nil
	}
	h := sha256.New()
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(path, name)
		fmt.Fprintf(h, "%s %d %d\n", filepath.ToSlash(rel), info.Size(), info.ModTime().UnixNano())
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// sha256File returns the hex sha256 of a file.
func sha256File(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// record writes the stage's stamp, if there is a project.
func (s stage) record(j *job, settings any, in map[string]string, out []string) error {
	if j.project.file == "" {
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
	data, err := json.MarshalIndent(stamp{
		Version: stampVersion, Stage: s.name, Tool: version, Finished: time.Now().UTC().Truncate(time.Second),
		Limit: j.limit, Settings: text, In: j.project.relative(in), Out: j.project.relative(after),
	}, "", " ")
	if err != nil {
		return err
	}
	dir := filepath.Join(j.project.dir, ".hgld")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(dir, s.name+".json"), append(data, '\n'))
}

// relative names paths from the project's folder, so that a project can be moved.
func (p *project) relative(prints map[string]string) map[string]string {
	out := make(map[string]string, len(prints))
	for path, v := range prints {
		out[p.inside(path)] = v
	}
	return out
}

// inside names a path from the project's folder, if it lies there.
func (p *project) inside(path string) string {
	dir, err := filepath.Abs(p.dir)
	if err != nil || path == "" {
		return path
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(dir, abs)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return path
	}
	return filepath.ToSlash(rel)
}

// portable prints settings as YAML with the project's files named from its
// folder: the same text from wherever the project is looked at.
func (p *project) portable(settings any) (string, error) {
	for _, f := range fieldsOf(settings) {
		if f.tag.Get("path") == "" {
			continue
		}
		before := reflect.ValueOf(f.value.Interface())
		defer f.value.Set(before)
		switch v := f.value.Interface().(type) {
		case string:
			f.value.SetString(p.inside(v))
		case []string:
			list := make([]string, len(v))
			for i := range v {
				list[i] = p.inside(v[i])
			}
			f.value.Set(reflect.ValueOf(list))
		}
	}
	text, err := yaml.Marshal(settings)
	return string(text), err
}

// state is what `hgld status` says of a stage.
type state struct {
	Stage   string   `json:"stage"`
	Command string   `json:"command"`
	State   string   `json:"state"` // done, stale, missing, trial
	Why     string   `json:"why,omitempty"`
	Outputs []string `json:"outputs,omitempty"`
	Missing []string `json:"missing_inputs,omitempty"`
}

// stateOf compares a stage's stamp with the files and settings of now.
func (s stage) stateOf(p *project, settings any) (state, error) {
	in, out := s.files(settings)
	st := state{Stage: s.name, Command: s.command, State: "missing", Outputs: out}
	now, err := fingerprint(in)
	if err != nil {
		return st, err
	}
	for _, path := range in {
		if path != "" && now[path] == "" {
			st.Missing = append(st.Missing, path)
		}
	}
	data, err := os.ReadFile(filepath.Join(p.dir, ".hgld", s.name+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil
	}
	if err != nil {
		return st, err
	}
	var was stamp
	if err := json.Unmarshal(data, &was); err != nil || was.Version > stampVersion {
		st.State, st.Why = "stale", "its stamp in .hgld was written by another version"
		return st, nil
	}
	wrote, err := fingerprint(out)
	if err != nil {
		return st, err
	}
	text, err := p.portable(settings)
	if err != nil {
		return st, err
	}
	st.State, st.Why = compare(was, p.relative(now), p.relative(wrote), text)
	return st, nil
}

// compare decides whether a recorded result is still good, and if not, why.
func compare(was stamp, in, out map[string]string, settings string) (string, string) {
	for _, path := range sortedKeys(out) {
		if out[path] == "" {
			return "missing", path + " is gone"
		}
		if was.Out[path] != out[path] {
			return "stale", path + " was changed by something else"
		}
	}
	for _, path := range sortedKeys(in) {
		if was.In[path] != in[path] {
			return "stale", path + " changed since"
		}
	}
	if was.Settings != settings {
		return "stale", "its settings changed: " + firstDifference(was.Settings, settings)
	}
	if was.Limit > 0 {
		return "trial", fmt.Sprintf("made with --limit %d", was.Limit)
	}
	return "done", ""
}

// firstDifference names the first line in which two YAML texts differ.
func firstDifference(was, now string) string {
	a, b := strings.Split(was, "\n"), strings.Split(now, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("%s (was %s)", strings.TrimSpace(b[i]), strings.TrimSpace(a[i]))
		}
	}
	return "their list"
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
