package pipeline

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"hgld/internal/atomicfile"
	"hgld/internal/regular"
	"hgld/internal/remember"
	"hgld/internal/settings"
)

// Kind is a kind of file or folder that hgld writes.
type Kind struct {
	// Ours reports whether what is at path, which may be incomplete, has a mark of this kind that only hgld writes.
	// nil: other programs write such files, too, and hgld knows its own by their SHA-256, see [Project.CheckOutputs].
	Ours func(path string) (bool, error)
	// Folder says that the kind is a folder. hgld adds files to it.
	Folder bool
	// Part reports whether a file, named without links, is one of those that such a folder consists of: no other command
	// may replace it. nil: none is.
	Part func(path string) bool
	// ByHand says that people correct such files. A stage keeps one that was changed since it wrote it.
	ByHand bool
	// Files lists what a command writes for a name that is no path itself, such as a prefix. nil:
	// the file of that name.
	Files func(name string) []Output
}

// Output is a file or folder that a command writes.
type Output struct {
	Path string // as in the settings or typed
	Kind string // key of [Pipeline.Kinds]; "": the command never replaces a file of others
}

// Writing is what a command reads and writes.
type Writing struct {
	Command string   // as typed: "cluster run"
	Stage   string   // stage whose files the command makes, or ""
	In      []string // what it reads
	Out     []Output // what it writes
	Replace bool     // the user allows it to replace files that hgld did not write as their kind
}

// OutputError says that a command would overwrite a file that is not its own.
type OutputError struct {
	Command     string // as typed
	Path        string // of the output
	Is          string // what it is: "an input of the same command"
	Replaceable bool   // the user may allow it
	Folder      bool   // the output is a folder
	Mismatch    bool   // a file has the name of the folder to write, or a folder that of the file
	Edited      bool   // hgld wrote it, and it was changed since
}

// Error names the command, the output, and what stands there.
func (e *OutputError) Error() string {
	does := " and would be overwritten"
	switch {
	case e.Mismatch && e.Folder:
		does = "; want the name of a folder"
	case e.Mismatch:
		does = "; want the name of a file"
	case e.Folder:
		does = " and would get more files"
	}
	return fmt.Sprintf("%s: %s is %s%s", e.Command, e.Path, e.Is, does)
}

// LiteralTildeError says that an output lies in a folder called ~, which does not exist: who writes ~ means another.
type LiteralTildeError struct {
	Command string // as typed
	Path    string // of the output
}

// Error names the command and the output.
func (e *LiteralTildeError) Error() string {
	return fmt.Sprintf("%s: %s would be in a new folder with the name ~", e.Command, e.Path)
}

// CheckHome returns a [LiteralTildeError] for such an output.
func CheckHome(command, path string) error {
	parts := strings.Split(filepath.ToSlash(path), "/")
	at := slices.Index(parts, "~")
	if at < 0 || regular.CheckPath(path) != nil { // an address
		return nil
	}
	if _, err := os.Stat(filepath.FromSlash(strings.Join(parts[:at+1], "/"))); IsMissing(err) {
		return &LiteralTildeError{command, path}
	}
	return nil
}

// CheckOutputs returns an [OutputError] if a command would overwrite one of its inputs, another of
// its outputs, hgld.yaml, a file of another stage, or anything that hgld did not write as the same
// kind. Only the last can be allowed, except for folders. It sees through links. Empty paths and
// devices are skipped. A folder ~ that would be new is a [LiteralTildeError].
//
// A file without a mark is hgld's if the stamp of the stage that writes it has its SHA-256, or the list of the files
// without marks that commands have written. The outputs of w get into that list before they get their names.
func (p *Project) CheckOutputs(w Writing) error {
	out := p.expand(w.Out)
	for _, o := range out {
		if err := CheckHome(w.Command, o.Path); err != nil {
			return err
		}
	}
	if err := p.checkApart(w, out); err != nil {
		return err
	}
	for _, o := range out {
		if err := p.checkOurs(w, o); err != nil {
			return err
		}
	}
	for _, o := range out {
		if kind, known := p.engine().Kinds[o.Kind]; known && kind.Ours == nil {
			atomicfile.Announce(o.Path, func(sum string) error { return p.written()[0].Add(o.Kind + " " + sum) })
		}
	}
	return nil
}

// written returns the lists of the kinds and SHA-256 of files without marks that commands have written: the project's
// in .hgld, if there is one, and the user's for what is written outside of projects.
func (p *Project) written() []remember.List {
	user := remember.ForUser("written")
	if p.File == "" {
		return []remember.List{user}
	}
	return []remember.List{remember.In(filepath.Join(p.Dir, ".hgld"), "written"), user}
}

// wrote reports whether hgld wrote a file without a mark as this kind.
func (p *Project) wrote(o Output) (bool, error) {
	sum, err := hashOf(o.Path)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(p.written(), func(l remember.List) bool { return l.Has(o.Kind + " " + sum) }) {
		return true, nil
	}
	for _, by := range p.engine().Stages {
		if was, err := by.Stamp(p); p.File != "" && err == nil && was.sum(p.Inside(o.Path)) == sum &&
			by.kindOf(p, o.Path) == o.Kind {
			return true, nil
		}
	}
	return false, nil
}

// checkApart compares the paths of outputs with those of other files.
func (p *Project) checkApart(w Writing, out []Output) error {
	in, others := w.In, p.othersOf(w.Stage)
	for i, o := range out {
		wrong := OutputError{Command: w.Command, Path: o.Path, Folder: p.engine().Kinds[o.Kind].Folder}
		same := func(path string) bool { return path != "" && atomicfile.Same(path, o.Path) }
		switch {
		case slices.ContainsFunc(in, same):
			wrong.Is = "an input of the same command"
		case slices.ContainsFunc(out[:i], func(before Output) bool { return same(before.Path) }):
			wrong.Is = "another output of the same command"
		case same(p.File):
			wrong.Is = "the configuration of the project"
		default:
			at := slices.IndexFunc(others, func(f stageFile) bool { return same(f.Path) && !(wrong.Folder && f.read) })
			if at < 0 || o.Kind == "" {
				continue
			}
			made := others[at].Kind == o.Kind
			_, err := os.Stat(o.Path)
			if IsMissing(err) && (made || others[at].read) || made && w.Replace ||
				others[at].read && p.isOutput(w.Stage, o.Path) {
				continue
			}
			wrong.Is, wrong.Replaceable = "a file of the stage "+others[at].stage, made && !wrong.Folder
		}
		return &wrong
	}
	return nil
}

// isOutput reports whether the settings of a stage name a path as an output, also of a stage that the project does not
// use.
func (p *Project) isOutput(stage, path string) bool {
	all := p.engine().Stages
	at := slices.IndexFunc(all, func(s Stage) bool { return s.Name == stage })
	if at < 0 || p.File == "" {
		return false
	}
	own := all[at].settings()
	return p.Load(nil, stage, own) == nil && slices.ContainsFunc(p.expand(all[at].writes(own)),
		func(o Output) bool { return o.Path != "" && atomicfile.Same(o.Path, path) })
}

// checkOurs returns an error for an existing output that hgld did not write as the same kind.
func (p *Project) checkOurs(w Writing, o Output) error {
	kind := p.engine().Kinds[o.Kind]
	info, err := os.Stat(o.Path)
	switch {
	case IsMissing(err) || o.Kind == "":
		return nil
	case err != nil:
		return err
	case info.IsDir() != kind.Folder:
		is := map[bool]string{true: "a folder", false: "a file"}[info.IsDir()]
		return &OutputError{Command: w.Command, Path: o.Path, Folder: kind.Folder, Mismatch: true, Is: is}
	case !info.IsDir() && (!info.Mode().IsRegular() || info.Size() == 0):
		return nil // nothing to lose
	}
	if place, err := filepath.EvalSymlinks(o.Path); err == nil && !kind.Folder {
		for name, folder := range p.engine().Kinds {
			if folder.Part != nil && folder.Part(place) {
				return &OutputError{Command: w.Command, Path: o.Path, Is: "a file of " + name}
			}
		}
	}
	if w.Replace && !kind.Folder {
		return nil
	}
	ours, is := kind.Ours, "not "+o.Kind+" of hgld"
	if ours == nil {
		ours, is = func(string) (bool, error) { return p.wrote(o) }, "a file that hgld may not have written"
	}
	if yes, err := ours(o.Path); err != nil || yes {
		return err
	}
	return &OutputError{Command: w.Command, Path: o.Path, Replaceable: !kind.Folder, Folder: kind.Folder, Is: is}
}

// expand replaces each name that stands for several files by these.
func (p *Project) expand(out []Output) []Output {
	var list []Output
	for _, o := range out {
		switch files := p.engine().Kinds[o.Kind].Files; {
		case o.Path == "":
		case files != nil:
			list = append(list, files(o.Path)...)
		default:
			list = append(list, o)
		}
	}
	return list
}

// stageFile is a file that a stage of the project reads or writes.
type stageFile struct {
	Output // without a kind if it is read
	stage  string
	read   bool
}

// stageFiles lists what the project's settings give to its stages.
func (p *Project) stageFiles() []stageFile {
	if p.files != nil || p.File == "" {
		return p.files
	}
	p.files = []stageFile{}
	for _, s := range p.Stages() {
		own := s.settings()
		if p.Load(nil, s.Name, own) != nil {
			continue
		}
		for _, o := range p.expand(s.writes(own)) {
			p.files = append(p.files, stageFile{o, s.Name, false})
		}
		for _, path := range s.reads(own) {
			p.files = append(p.files, stageFile{Output{Path: path}, s.Name, true})
		}
	}
	return p.files
}

// othersOf lists the files of stages other than the named one. A file that the named stage writes
// as well is not listed as an input.
func (p *Project) othersOf(stage string) []stageFile {
	own := func(path string) bool {
		return slices.ContainsFunc(p.stageFiles(), func(f stageFile) bool {
			return f.stage == stage && !f.read && atomicfile.Same(f.Path, path)
		})
	}
	return slices.DeleteFunc(slices.Clone(p.stageFiles()), func(f stageFile) bool {
		return f.Path == "" || f.stage == stage || !f.read && f.Kind == "" || f.read && own(f.Path)
	})
}

// writes lists the outputs that the settings of the stage name, and those beside them.
func (s Stage) writes(own any) (list []Output) {
	for _, f := range settings.Fields(own) {
		if f.IsOutput() {
			list = append(list, Output{Path: f.Value.String(), Kind: f.Tag.Get("kind")})
		}
	}
	return append(list, s.beside(own)...)
}

// reads lists the inputs that the settings of the stage name.
func (s Stage) reads(own any) []string {
	in, _ := s.files(own)
	for _, f := range settings.Fields(own) {
		switch {
		case !f.IsInput():
		case f.Value.Kind() == reflect.String:
			in = append(in, f.Value.String())
		default:
			f.MapPaths(func(path string) string { in = append(in, path); return path })
		}
	}
	return in
}

// CheckOutputs is [Project.CheckOutputs] for a command that writes what the settings name, and
// more.
func (s Stage) CheckOutputs(j Job, own any, more ...Output) error {
	o := j.Options()
	return o.Project.CheckOutputs(Writing{Command: s.Command, Stage: s.Name, In: s.reads(own),
		Out: append(s.writes(own), more...), Replace: o.Replace})
}

// CheckEdited returns an [OutputError] if the stage would overwrite a file of a kind that people correct, and this one
// was changed since the stage wrote it. The user may allow it. If the last run was killed, nobody knows who changed it,
// unless a reader has accepted it.
func (s Stage) CheckEdited(j Job, own any) error {
	o := j.Options()
	if o.Replace || o.Project.File == "" {
		return nil
	}
	was, err := s.Stamp(o.Project)
	switch {
	case IsMissing(err) || errors.Is(err, ErrOtherStamp) || errors.As(err, new(*StampError)):
		return nil
	case err != nil:
		return err
	}
	for _, path := range s.byHand(o.Project, own, was) {
		rel := o.Project.Inside(path)
		now, err := hashOf(path)
		if err != nil {
			return err
		}
		if was.Changed[rel] != "" || now != was.sum(rel) && !was.Begun {
			return &OutputError{Command: s.Command, Path: path, Replaceable: true, Edited: true,
				Is: "a file that was changed since it was written on " + was.Finished.Format(time.DateTime)}
		}
	}
	return nil
}

// byHand lists the existing files of kinds that people correct among the outputs that the stage has written before.
// was is its stamp.
func (s Stage) byHand(p *Project, own any, was Stamp) (list []string) {
	for _, o := range p.expand(s.writes(own)) {
		info, err := os.Stat(o.Path)
		if p.engine().Kinds[o.Kind].ByHand && was.sum(p.Inside(o.Path)) != "" && err == nil && info.Mode().IsRegular() {
			list = append(list, o.Path)
		}
	}
	return list
}

// begin notes in the stamp that a run of the stage has begun, because after a kill its outputs may be those of that
// run. end takes the note back if the run failed before it wrote anything.
func (s Stage) begin(p *Project, own any) (end func(error) error, err error) {
	nothing := func(err error) error { return err }
	was, err := s.Stamp(p)
	if err != nil || p.File == "" || was.Begun {
		return nothing, nil // CheckEdited has reported an error that matters
	}
	files := s.byHand(p, own, was)
	if len(files) == 0 {
		return nothing, nil
	}
	before, err := p.engine().Fingerprint(files)
	if err != nil {
		return nil, err
	}
	begun := was
	begun.Begun = true
	if err := s.writeStamp(p, begun); err != nil {
		return nil, err
	}
	return func(failed error) error {
		after, err := p.engine().Fingerprint(files)
		if err != nil || !maps.Equal(before, after) {
			return errors.Join(failed, err)
		}
		return errors.Join(failed, s.writeStamp(p, was))
	}, nil
}

// checkConfigured checks the outputs that the project's settings name. It accepts existing files with
// default names, since a project need not use the stage, and those without a mark of a stage that lacks its inputs:
// they were made elsewhere, and nothing replaces them.
func (s Stage) checkConfigured(p *Project, own any) error {
	if !slices.ContainsFunc(p.Stages(), func(used Stage) bool { return used.Name == s.Name }) {
		return nil
	}
	w := Writing{Command: s.Command, Stage: s.Name, In: s.reads(own), Out: s.writes(own)}
	if err := p.checkApart(w, p.expand(w.Out)); err != nil {
		return err
	}
	in, _ := s.files(own)
	elsewhere := len(Missing(in)) > 0
	for _, f := range settings.Fields(own) {
		if !f.IsOutput() || p.Origin(s.Name+"."+f.Key()) == settings.FromDefault ||
			elsewhere && p.engine().Kinds[f.Tag.Get("kind")].Ours == nil {
			continue
		}
		for _, o := range p.expand([]Output{{f.Value.String(), f.Tag.Get("kind")}}) {
			if err := p.checkOurs(w, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// HasEntries reports whether a folder holds a file or folder of one of the given names, or nothing
// but what the rest allows. Hidden files do not count.
func HasEntries(dir string, names []string, rest ...string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	allowed := true
	for _, e := range entries {
		if slices.Contains(names, e.Name()) {
			return true, nil
		}
		matches := func(pattern string) bool { ok, _ := filepath.Match(pattern, e.Name()); return ok }
		allowed = allowed && (e.Name()[0] == '.' || slices.ContainsFunc(rest, matches))
	}
	return allowed, nil
}
