package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/curate"
	"hgld/curate/format"
	"hgld/internal/atomicfile"
	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/labels"
	"hgld/shards/examples"
)

// curateSettings are the settings of the stage curate.
type curateSettings struct {
	Draft      string   `yaml:"draft" path:"in" flag:"-" usage:"draft of stage 2"`
	Logs       []string `yaml:"logs" path:"in" flag:"-" usage:"logs of edits, replayed in order: one curator's, or the logs of several curators and an adjudicator"`
	Out        string   `yaml:"out" path:"out" kind:"a hierarchy" usage:"hierarchy to write; extra_parents.csv is written beside it if a curator named extra parents"`
	OnConflict string   `yaml:"on_conflict" usage:"if an edit names a tag or group that the draft lacks: stop, or skip the edit and list it"`
	Undecided  bool     `yaml:"undecided" flag:"-" usage:"keep undecided tags in their cluster"`

	parents string // file of extra parents, beside the hierarchy
}

func curateStage() pipeline.StageOf[curateSettings] {
	return pipeline.New(pipeline.Spec[curateSettings]{
		Name: "curate", Command: "curate apply",
		Defaults: curateSettings{Draft: "draft.json", Logs: []string{"edits.jsonl"}, Out: "hierarchy.json",
			OnConflict: "stop"},
		Complete: func(p *pipeline.Project, s *curateSettings) error {
			s.placeParents(p)
			return nil
		},
		Files: func(s *curateSettings) (in, out []string) {
			return append([]string{s.Draft}, s.Logs...), s.outputs()
		},
		Beside: func(s *curateSettings) []pipeline.Output { // of no kind: whether it is written is not known before
			return []pipeline.Output{{Path: s.parents}}
		},
		Run:   onJob(runCurateApply),
		Check: (*curateSettings).check,
		Note: func(_ *pipeline.Project, s *curateSettings, _ pipeline.State) (string, error) {
			if text, err := s.otherDraftNote(); text != "" || err != nil {
				return text, err
			}
			n, err := curate.ProposedIn(s.Draft, s.Logs)
			if n == 0 || errors.Is(err, fs.ErrNotExist) {
				return "", logError(err)
			}
			return count(n, "tag") + " proposed and not decided", logError(err)
		},
	})
}

// check finds unknown names in the settings.
func (s *curateSettings) check() error {
	_, err := conflictPolicy(s.OnConflict)
	return err
}

func curateCommand() *cli.Command {
	return group("curate", "stage 3: draft + edits -> curated supercategories",
		"  hgld curate serve                                        curate in the browser, on this machine only\n"+
			"  hgld curate apply                                        hierarchy.json from draft.json and edits.jsonl\n"+
			"  hgld curate log edits.jsonl                              what a curator did\n"+
			"  hgld curate agree anna.jsonl ben.jsonl                   how well two curators agree, and where they differ",
		curateServeCommand(), curateApplyCommand(), curateLogCommand(), curateAgreeCommand(),
		curateImportCommand(), curateExportCommand(), curateCheckCommand(), curateCompareCommand(),
		curateProposeCommand(), curateReviewCommand(), curateSnapshotCommand(),
	)
}

// curateApplyCommand also takes the draft and the logs as arguments.
func curateApplyCommand() *cli.Command {
	s := curateStage()
	cmd := stageCommand(s.Stage, "apply", "replay logs of edits on a draft",
		"  hgld curate apply                                        draft.json + edits.jsonl -> hierarchy.json\n"+
			"  hgld curate apply draft.json anna.jsonl                  the same, naming the files\n"+
			"  hgld curate apply draft.json anna.jsonl ben.jsonl third.jsonl   two curators and an adjudication\n"+
			"  hgld curate apply --on-conflict skip new.json anna.jsonl   on the draft of a later scrape")
	cmd.ArgsUsage = "[DRAFT [LOG...]]"
	cmd.Action = action(func(c *cli.Context, j *job) error {
		settings, err := s.Load(j.project, c)
		if err != nil {
			return err
		}
		if len(j.args) > 0 {
			settings.Draft = j.args[0]
		}
		if len(j.args) > 1 {
			settings.Logs = j.args[1:]
		}
		return s.Execute(j, settings)
	})
	return cmd
}

// runCurateApply is `hgld curate apply`.
func runCurateApply(j *job, s *curateSettings) error {
	policy, err := conflictPolicy(s.OnConflict)
	if err != nil {
		return err
	}
	if err := namedOnce(s.Logs); err != nil {
		return err
	}
	j.log("reading %s and %s", s.Draft, strings.Join(s.Logs, ", "))
	files, err := readCuration(j, s.Draft, s.Logs)
	if err != nil {
		return err
	}
	session, err := files.Replay(policy)
	if err != nil {
		return logError(err)
	}
	h, err := files.Hierarchy(session, s.Undecided, "hgld "+version)
	if errors.Is(err, curate.ErrUndecided) {
		return withHint(fmt.Errorf("%s: %w", strings.Join(s.Logs, ", "), err), "-o undecided=true keeps the draft's clusters")
	}
	if err != nil {
		return err
	}
	replaced, err := curate.Replaces(s.Out, s.Logs, h)
	if err == nil && replaced != nil {
		j.log("%s", replaced.Text())
	}
	extra, err := session.ExtraParents(h)
	if err != nil {
		return err
	}
	if err := s.write(j, h, extra); err != nil {
		return err
	}
	return reportCuration(j, files, s, session, h, len(extra))
}

// placeParents puts the file of extra parents beside the hierarchy.
func (s *curateSettings) placeParents(p *pipeline.Project) {
	s.parents = labels.Beside(s.Out, labels.ExtraParentsFile)
	besideOut(p, "curate", s.Out, "hierarchy.json")("", &s.parents, "_"+labels.ExtraParentsFile)
}

// outputs lists the files that the stage has written. Extra parents are rare, so their file need not exist.
func (s *curateSettings) outputs() []string {
	if ours, err := labels.WroteExtraParents(s.parents); err == nil && ours {
		return []string{s.Out, s.parents}
	}
	return []string{s.Out}
}

// write writes the hierarchy and, if there are some, the extra parents. A file of extra parents that
// hgld wrote for an earlier hierarchy goes.
func (s *curateSettings) write(j *job, h *labels.Hierarchy, extra []labels.ExtraParent) error {
	files := []atomicfile.Content{{Path: s.Out, Fill: func(w io.Writer) error { return labels.WriteHierarchy(w, h) }}}
	path := s.parents
	if len(extra) > 0 {
		err := j.project.CheckOutputs(pipeline.Writing{Command: "curate apply", Stage: "curate",
			In: append([]string{s.Draft, s.Out}, s.Logs...), Out: []pipeline.Output{{Path: path, Kind: kindExtra}},
			Replace: j.replace})
		if err != nil {
			return err
		}
		files = append(files, atomicfile.Content{Path: path,
			Fill: func(w io.Writer) error { return labels.WriteExtraParents(w, extra) }})
	}
	if err := atomicfile.WriteAll(files); err != nil {
		return err
	}
	if err := removeFormer(j, labels.Beside(s.Out, labels.FormerExtraParentsFile), path); err != nil || len(extra) > 0 {
		return err
	}
	if ours, err := labels.WroteExtraParents(path); err != nil || !ours {
		return err
	}
	j.log("%s removed: no class has an extra parent now", path)
	return os.Remove(path)
}

// removeFormer removes what an earlier hgld wrote under another name, so that nothing reads the stale file. One with
// rows of somebody else stays, and so does one beside which another name was chosen.
func removeFormer(j *job, former, now string) error {
	if labels.NameNow(former) != filepath.Base(now) {
		return nil
	}
	ours, err := labels.WroteExtraParents(former)
	switch {
	case err != nil:
		return err
	case ours:
		j.log("%s removed: its name is now %s", former, now)
		return os.Remove(former)
	}
	if _, err := labels.OpenExtraParents(former); err == nil {
		j.log("warning: %s is left as it is, because hgld did not write all its rows; extra parents are now in %s",
			former, now)
	}
	return nil
}

func conflictPolicy(name string) (curate.OnConflict, error) {
	switch name {
	case "stop":
		return curate.Stop, nil
	case "skip":
		return curate.Skip, nil
	}
	return 0, withCode(exitUsage, registry.Unknown("on_conflict", name, []string{"stop", "skip"}))
}

// reportCuration prints the result of the edits and what was written. It returns exit
// code 3 if edits were skipped or the adjudicator left differences open.
func reportCuration(j *job, f *curate.Curation, s *curateSettings, session *curate.Session, h *labels.Hierarchy,
	extra int) error {
	tags, parents := f.Open(session)
	fresh, _ := f.NewTags()
	names := make([]curate.Ref, len(fresh))
	for i, tag := range fresh {
		names[i] = session.Tag(tag).Ref
	}
	text := f.Text(session, h, s.Out)
	shown := map[string]any{
		"new":       names,
		"hierarchy": s.Out, "logs": f.Logs, "levels": h.Sizes(), "dropped": session.Dropped(),
		"undecided": session.Undecided(), "proposed": session.Proposed(), "open": tags, "open_parents": parents,
		"problems": session.Problems(),
	}
	if extra > 0 {
		text += fmt.Sprintf("%s written: %s\n", s.parents, count(extra, "row"))
		shown["extra_parents"] = s.parents
	}
	err := j.show(shown, text)
	if left := f.LeftText(session); err == nil && left != "" {
		return withCode(exitSomeFailed, errors.New(left))
	}
	return err
}

// logError adds the next step to the error of a log that does not exist.
func logError(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return withHint(err, "`hgld curate serve` and `hgld curate import` create a log of edits")
	}
	return err
}

// curateAdvice has the exit codes and next steps for errors of curation.
var curateAdvice = []advice{
	kind(exitIntegrity, func(e *curate.DamageError) string {
		if e.Line <= 1 {
			return "want a log that `hgld curate serve` or `import` began, such as edits.jsonl; if this was one, restore it " +
				"from a backup"
		}
		return fmt.Sprintf("restore the log from a backup; `hgld curate log --salvage \"\" %s` keeps the edits before the "+
			"damage", word(filepath.Base(e.Path)))
	}),
	kind[*curate.MismatchError](exitIntegrity, nil),
	sentinel(curate.ErrConflict, exitOK, "--on-conflict skip replays all other edits and lists these"),
	kind(exitUsage, func(e *format.OtherError) string {
		if e.Kind == format.EditsFile {
			return "`hgld curate log` lists it, `hgld curate apply` makes hierarchy.json of it"
		}
		return "`hgld cluster run` makes a draft of them"
	}),
	sentinel(format.ErrNoLandmarks, exitOK,
		"give those of stage 1 with --tags tags.jsonl, or run `hgld labels build`"),
	kind(exitOK, func(*examples.RowError) string { return "`hgld labels check` lists all errors of the file" }),
}
