package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hgld/curate"
	"hgld/curate/format"
	"hgld/labels"
)

func curateImportCommand() *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "take over a curation that was made elsewhere, as edits of a log", ArgsUsage: "FILE",
		Description: "  hgld curate import sheet.csv                 the authors' sheet: two columns a group\n" +
			"  hgld curate import --dry-run sheet.csv       what it would do\n" +
			"  hgld curate import groups.csv                names of groups and their kinds, tags to follow\n" +
			"  hgld curate import --log anna.jsonl --by anna theirs.json   another hierarchy, as the beginning of Anna's log",
		Flags: formatFlags(
			&cli.StringFlag{Name: "draft", Usage: "draft whose tags are decided (default: the project's)"},
			&cli.StringFlag{Name: "log", Usage: "log to append to; made if there is none (default: the project's first)"},
			&cli.StringFlag{Name: "by", Usage: "who decided", Value: "import"},
			&cli.StringFlag{Name: "on-conflict", Usage: "where a tag of the file is not in the draft: stop, or skip and list it", Value: "stop"},
			&cli.BoolFlag{Name: "dry-run", Usage: "list the edits and write nothing"},
		),
		Action: runCurateImport,
	}
}

// formatFlags are the flags of the commands that read files of any format.
func formatFlags(more ...cli.Flag) []cli.Flag {
	return append(append(commonFlags(),
		&cli.StringFlag{Name: "format", Usage: "`FORMAT` of the file, where it does not look like it: " + strings.Join(format.Formats.Names(), ", ")},
		&cli.StringFlag{Name: "split", Usage: "`SPLIT` of a label file, where neither a column nor its name says it"},
	), more...)
}

// curateFiles are the project's names of the files of stage 3, with those that
// the command line gives in their place.
func curateFiles(c *cli.Context, j *job) (draft, log, out string, err error) {
	s, err := curateStage().Load(j.project, nil)
	if err != nil {
		return "", "", "", err
	}
	if len(s.Logs) > 0 {
		log = s.Logs[0]
	}
	if c.IsSet("draft") {
		s.Draft = c.String("draft")
	}
	if c.IsSet("log") {
		log = c.String("log")
	}
	return s.Draft, log, s.Out, nil
}

// readFormat reads a file of any format.
func readFormat(c *cli.Context, path string) (*format.Document, error) {
	if name := c.String("format"); name != "" {
		if _, err := format.Formats.Get("format", name); err != nil {
			return nil, withCode(exitUsage, err)
		}
	}
	if path == "" {
		return nil, usagef("%s: a file has no name: an argument is empty", commandPath(c))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d, err := format.Read(data, path, c.String("format"), labels.ReadOptions{Split: labels.Split(c.String("split"))})
	return d, formatHint(err, path)
}

// formatHint says how to find out more about a file that cannot be read.
func formatHint(err error, path string) error {
	var split *labels.SplitUnknownError
	switch {
	case err == nil || errors.As(err, &split):
		return labelHint(err, path)
	case errors.Is(err, format.ErrOther):
		return withCode(exitUsage, err)
	}
	return withHint(err, "`hgld curate lint %s` lists all that is wrong with it; --format FORMAT if it was taken for another", filepath.Base(path))
}

func runCurateImport(c *cli.Context) error {
	j, err := newJob(c)
	if err != nil {
		return err
	}
	if len(j.args) != 1 {
		return usagef("curate import takes one file; got %d", len(j.args))
	}
	policy, err := conflictPolicy(c.String("on-conflict"))
	if err != nil {
		return err
	}
	draftPath, logPath, _, err := curateFiles(c, j)
	if err != nil {
		return err
	}
	if logPath == "" {
		return usagef("no log of edits is named; give one with --log")
	}
	d, err := readFormat(c, j.args[0])
	if err != nil {
		return err
	}
	draft, err := readDraft(draftPath)
	if errors.Is(err, fs.ErrNotExist) {
		err = withHint(err, "`hgld cluster run` makes a draft; `hgld curate export --to draft %s %s` makes one of this file", filepath.Base(j.args[0]), filepath.Base(draftPath))
	}
	if err != nil {
		return err
	}
	into := &importLog{path: logPath, draft: draftPath, by: c.String("by"), dry: c.Bool("dry-run")}
	if err := into.open(draft, d); err != nil {
		return err
	}
	return errors.Join(into.run(j, d, policy), into.close())
}

// importLog is the log that an import appends to.
type importLog struct {
	path, draft, by string
	dry             bool
	fresh           *curate.Header // of a log that does not exist yet
	log             *curate.Log    // nil before it is made, and in a dry run
	session         *curate.Session
}

// open replays the log, and locks it unless this is a dry run. One that does not
// exist is made when the first edit is to be written.
func (l *importLog) open(draft *labels.Draft, d *format.Document) error {
	sum, err := sha256File(l.draft)
	if err != nil {
		return err
	}
	contents, err := curate.ReadLog(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.fresh = &curate.Header{By: l.by, Draft: filepath.Base(l.draft), DraftSHA256: sum, Levels: importLevels(d), Created: now()}
		contents = &curate.Contents{Header: *l.fresh}
	case err != nil:
		return logError(err)
	case contents.Header.DraftSHA256 != sum:
		return withHint(fmt.Errorf("%s was made for another draft than %s", l.path, l.draft), "name a new log with --log; `hgld curate apply` replays both, the old one first")
	case len(contents.Header.Adjudicates) > 0:
		return usagef("%s decides between two curators, and an import is a third; name another log with --log", l.path)
	case !l.dry:
		if l.log, contents, err = curate.OpenLog(l.path); err != nil {
			return logError(err)
		}
	}
	if l.session, err = curate.NewSession(draft, contents.Header.Levels); err == nil {
		_, err = l.session.Load(contents.Edits)
	}
	if err != nil {
		return errors.Join(withCode(exitIntegrity, fmt.Errorf("%s: %w", l.path, err)), l.close())
	}
	return nil
}

// create makes the log if it does not exist.
func (l *importLog) create() (err error) {
	if l.fresh == nil {
		return nil
	}
	if err := curate.CreateLog(l.path, *l.fresh); err != nil {
		return err
	}
	l.log, _, err = curate.OpenLog(l.path)
	return logError(err)
}

func (l *importLog) close() error {
	if l.log == nil {
		return nil
	}
	return l.log.Close()
}

// importLevels are the levels of a new log: the file's own, if it has kinds.
func importLevels(d *format.Document) []string {
	if len(d.Hierarchy.Levels) < len(curate.DefaultLevels) {
		return curate.DefaultLevels
	}
	var names []string
	for _, level := range d.Hierarchy.Levels {
		names = append(names, level.Name)
	}
	return names
}

// now is the time of an edit.
func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

func (l *importLog) run(j *job, d *format.Document, policy curate.OnConflict) error {
	edits, missing, err := format.Edits(l.session, d)
	if err != nil {
		return err
	}
	if len(missing) > 0 && policy == curate.Stop {
		return withHint(fmt.Errorf("%s: %s not in %s:%s", j.args[0], count(len(missing), "tag"), l.draft, listRefs(" ", missing)),
			"--on-conflict skip takes the others; `hgld curate lint --draft %s %s` says what they may be", filepath.Base(l.draft), filepath.Base(j.args[0]))
	}
	if l.dry {
		return l.list(j, edits, missing)
	}
	if err := l.create(); err != nil {
		return err
	}
	tags := 0
	for _, e := range edits {
		if err := j.ctx.Err(); err != nil {
			return err
		}
		e.At, e.By = now(), l.by
		if _, err := l.session.Apply(e, l.log.Append); err != nil {
			return err
		}
		if e.Level == 0 && e.Op != curate.Note {
			tags += len(e.From)
		}
	}
	if j.json {
		err = writeJSON(j, map[string]any{"log": l.path, "edits": len(edits), "tags": tags, "missing": missing, "undecided": len(l.session.Undecided())})
	} else {
		j.print("%s: %s appended, %s decided; %d of the draft undecided\n", l.path, count(len(edits), "edit"), count(tags, "tag"), len(l.session.Undecided()))
		for _, r := range missing {
			j.print("not in %s: %v\n", l.draft, r)
		}
	}
	if err == nil && len(missing) > 0 {
		return withCode(exitSomeFailed, fmt.Errorf("%s of %s not in %s", count(len(missing), "tag"), j.args[0], l.draft))
	}
	return err
}

// list shows the edits of a dry run.
func (l *importLog) list(j *job, edits []curate.Edit, missing []curate.Ref) error {
	if j.json {
		return writeJSON(j, map[string]any{"edits": edits, "missing": missing})
	}
	for _, e := range edits {
		j.print("%4d  %s\n", e.Seq, describeEdit(e))
	}
	for _, r := range missing {
		j.print("not in %s: %v\n", l.draft, r)
	}
	j.say("%s would be appended to %s", count(len(edits), "edit"), l.path)
	return nil
}
