package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/curate"
	"hgld/internal/atomicfile"
	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/labels"
)

// curateSettings are the settings of the stage curate.
type curateSettings struct {
	Draft      string   `yaml:"draft" path:"in" usage:"draft of stage 2"`
	Logs       []string `yaml:"logs" path:"in" usage:"logs of edits, replayed in order: one curator's, or those of two curators and an adjudicator"`
	Out        string   `yaml:"out" path:"out" kind:"a hierarchy" usage:"hierarchy to write"`
	Also       string   `yaml:"also" path:"out" usage:"further parents of classes to write, .csv, if a curator named some; \"\": not written"`
	OnConflict string   `yaml:"on_conflict" usage:"if an edit names a tag or group that the draft lacks: stop, or skip the edit and list it"`
	Undecided  bool     `yaml:"undecided" usage:"keep undecided tags in their cluster"`
}

func curateStage() pipeline.StageOf[curateSettings] {
	return pipeline.New(pipeline.Spec[curateSettings]{
		Name: "curate", Command: "curate apply",
		Defaults: curateSettings{Draft: "draft.json", Logs: []string{"edits.jsonl"}, Out: "hierarchy.json",
			Also: "also.csv", OnConflict: "stop"},
		Files: func(s *curateSettings) (in, out []string) {
			return append([]string{s.Draft}, s.Logs...), s.outputs()
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
		curateImportCommand(), curateExportCommand(), curateLintCommand(), curateDiffCommand(), curateSalvageCommand(),
		curateParentsCommand(), curateProposeCommand(), curateConfirmCommand(), curateWithdrawCommand(),
		curateSnapshotCommand(), curateRestoreCommand(),
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
	j.say("reading %s and %s", s.Draft, strings.Join(s.Logs, ", "))
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
		return withHint(fmt.Errorf("%s: %w", strings.Join(s.Logs, ", "), err), "--undecided keeps the draft's clusters")
	}
	if err != nil {
		return err
	}
	replaced, err := curate.Replaces(s.Out, s.Logs, h)
	if err == nil && replaced != nil {
		j.say("%s", replaced.Text())
	}
	further, err := session.FurtherParents(h)
	if err != nil {
		return err
	}
	if err := s.write(j, h, further); err != nil {
		return err
	}
	return reportCuration(j, files, s, session, h, len(further))
}

// outputs lists the files that the stage has written. Further parents are rare, so theirs need not exist.
func (s *curateSettings) outputs() []string {
	if ours, err := outputKinds()[kindFurther].Ours(s.Also); err == nil && ours {
		return []string{s.Out, s.Also}
	}
	return []string{s.Out}
}

// write writes the hierarchy and, if there are some, the further parents. A file of further parents that
// hgld wrote for an earlier hierarchy goes.
func (s *curateSettings) write(j *job, h *labels.Hierarchy, further []labels.FurtherParent) error {
	files := []atomicfile.Content{{Path: s.Out, Fill: func(w io.Writer) error { return labels.WriteHierarchy(w, h) }}}
	write := len(further) > 0 && s.Also != ""
	if write {
		err := j.project.CheckOutputs(pipeline.Writing{Command: "curate apply", Stage: "curate",
			In: append([]string{s.Draft, s.Out}, s.Logs...), Out: []pipeline.Output{{Path: s.Also, Kind: kindFurther}},
			Replace: j.replace})
		if err != nil {
			return err
		}
		files = append(files, atomicfile.Content{Path: s.Also,
			Fill: func(w io.Writer) error { return labels.WriteFurtherParents(w, further) }})
	}
	if err := atomicfile.WriteAll(files); err != nil || write {
		return err
	}
	ours, err := outputKinds()[kindFurther].Ours(s.Also)
	if err != nil || !ours {
		return err
	}
	j.say("%s removed: no class has a further parent now", s.Also)
	return os.Remove(s.Also)
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
	further int) error {
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
	if further > 0 && s.Also != "" {
		text += fmt.Sprintf("%s written: %s\n", s.Also, count(further, "row"))
		shown["also"] = s.Also
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
