package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hgld/curate"
	"hgld/curate/format"
	"hgld/internal/regular"
	"hgld/labels"
)

func curateImportCommand() *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "append the curation or proposals of another program to a log", ArgsUsage: "FILE",
		Description: "  hgld curate import sheet.csv                 the authors' sheet: two columns per group\n" +
			"  hgld curate import --dry-run sheet.csv       what it would do\n" +
			"  hgld curate import groups.csv                only names and kinds of groups, no tags yet\n" +
			"  hgld curate import ranked.csv                columns tag, group, score, source: proposals only\n" +
			"  hgld curate import ranked.jsonl              the same as JSON lines, with reasons\n" +
			"  hgld curate import --log anna.jsonl --by anna theirs.json   another hierarchy, as the start of Anna's log",
		Flags: formatFlags(
			&cli.StringFlag{Name: "draft", Usage: "draft with the tags that the file assigns (default: the project's)"},
			&cli.StringFlag{Name: "log", Usage: "log to append to; created if it does not exist (default: the project's)"},
			&cli.StringFlag{Name: "by", Usage: "who decided", Value: curate.ImportAuthor},
			&cli.StringFlag{Name: "on-conflict", Usage: "if a tag of the file is not in the draft: stop, or skip and list it",
				Value: "stop"},
			&cli.BoolFlag{Name: "new-groups", Usage: "make groups that suggestions name and the log lacks"},
			dryRunFlag(),
		),
		Action: actionWithArgs(1, 1, "one file", runCurateImport),
	}
}

// formatFlags are the flags of the commands that read files of any format.
func formatFlags(more ...cli.Flag) []cli.Flag {
	return append(append(commonFlags(),
		&cli.StringFlag{Name: "format", Usage: "`FORMAT` of the file, if it is not recognised: " +
			strings.Join(format.Formats.Names(), ", ") + "; skos:fr takes French names"},
		&cli.StringFlag{Name: "split", Usage: "`SPLIT` of a label file, if neither a column nor its name says it"},
	), more...)
}

// logOf returns the log that a command continues, of those of a project: the only one, or the adjudicator's of those
// before it. It returns "" for none or several, of which somebody must choose.
func logOf(logs []string) string {
	last := len(logs) - 1
	switch {
	case last == 0:
		return logs[0]
	case last >= 2:
		if l, err := curate.ReadLogFile(logs[last]); err == nil && l.Adjudicates() {
			return logs[last]
		}
	}
	return ""
}

// chosenLog returns the log that --log names, or that of the project.
func chosenLog(c *cli.Context, j *job) (string, error) {
	s, err := curateStage().Load(j.project, nil)
	if err != nil || c.String("log") != "" {
		return c.String("log"), err
	}
	if log := logOf(s.Logs); log != "" {
		return log, nil
	}
	return "", logsError("the command continues", s.Logs)
}

// logsError says that a log has to be chosen. does tells what for: "the page appends to".
func logsError(does string, logs []string) error {
	these := ""
	if len(logs) > 0 {
		these = ": " + strings.Join(bases(logs), ", ")
	}
	return usagef("the project names %s, but %s a single log; choose it with --log%s", count(len(logs), "log"), does,
		these)
}

// bases returns the names of files without their folders.
func bases(paths []string) []string {
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = filepath.Base(path)
	}
	return names
}

// curateFiles returns the draft and the hierarchy of stage 3: those named on the command line, otherwise
// the project's.
func curateFiles(c *cli.Context, j *job) (draft, out string, err error) {
	s, err := curateStage().Load(j.project, nil)
	if err != nil {
		return "", "", err
	}
	if c.IsSet("draft") {
		s.Draft = c.String("draft")
	}
	return s.Draft, s.Out, nil
}

// readFormat reads a file of any format.
func readFormat(c *cli.Context, j *job, path string) (*format.Document, error) {
	if name := c.String("format"); name != "" {
		if _, err := format.Named(name); err != nil {
			return nil, withCode(exitUsage, err)
		}
	}
	if path == "" {
		return nil, usagef("%s: an argument is empty; want the name of a file", commandPath(c))
	}
	data, err := regular.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d, err := format.Read(data, path, c.String("format"), labels.ReadOptions{Split: labels.Split(c.String("split"))})
	if err != nil {
		return nil, formatHint(err, path)
	}
	sayLanguages(j, path, d)
	return d, nil
}

// sayLanguages says in which of several languages the names of a file were read.
func sayLanguages(j *job, path string, d *format.Document) {
	if language, others := d.Languages(); len(others) > 0 {
		j.log("%s: its names are in %s; another language: --format skos:%s", path, language, strings.Join(others, ", skos:"))
	}
}

// formatHint adds the next step to the error of a file that cannot be read.
func formatHint(err error, path string) error {
	var split *labels.SplitUnknownError
	switch {
	case err == nil || errors.As(err, &split):
		return labelHint(err, path)
	case errors.As(err, new(*format.OtherError)):
		return err
	}
	return withHint(err, "`hgld curate check %s` lists all its errors; if its format was misjudged, name it with "+
		"--format FORMAT", word(filepath.Base(path)))
}

func runCurateImport(c *cli.Context, j *job) error {
	policy, err := conflictPolicy(c.String("on-conflict"))
	if err != nil {
		return err
	}
	draftPath, _, err := curateFiles(c, j)
	if err != nil {
		return err
	}
	logPath, err := chosenLog(c, j)
	if err != nil {
		return err
	}
	d, err := readFormat(c, j, j.args[0])
	if err != nil {
		return err
	}
	j.log("%s is read as %s", j.args[0], d.ReadAs())
	sayAdjudicated(j, logPath)
	return importDocument(c, j, d, c.String("by"), logPath, draftPath, policy)
}

// importDocument appends what a document says to a log. The command's argument is its name.
func importDocument(c *cli.Context, j *job, d *format.Document, by, logPath, draftPath string,
	policy curate.OnConflict) error {
	into, err := format.OpenImport(logPath, draftPath, by, c.Bool("dry-run"), d)
	if err != nil {
		return importError(err, logPath, draftPath, j.args[0])
	}
	if len(into.Unknown) > 0 && !c.Bool("new-groups") {
		lines := into.Unknown[:min(len(into.Unknown), mostUnknown)]
		err := usagef("%s", strings.Join(lines, "\n"))
		if more := len(into.Unknown) - len(lines); more > 0 {
			err = usagef("%w\nand %d more lines", err, more)
		}
		err = withHint(err, "name one of the groups of %s, or let `hgld curate import --new-groups` make these", word(logPath))
		return errors.Join(err, into.Close())
	}
	if len(into.New) > 0 {
		j.log("%s: %s", count(len(into.New), "new group"), listed(into.New))
	}
	return errors.Join(runImport(j, into, logPath, draftPath, policy, c.Bool("dry-run")), into.Close())
}

// mostUnknown is the number of lines with unknown groups that are listed.
const mostUnknown = 10

// importError adds the next step to an error of OpenImport.
func importError(err error, logPath, draftPath, file string) error {
	var other *format.OtherDraftError
	if errors.As(err, &other) {
		return withHint(err, "name a new log with --log; `hgld curate apply` replays both, the old one first")
	}
	if _, missing := os.Stat(draftPath); errors.Is(missing, fs.ErrNotExist) {
		return withHint(err, "`hgld cluster run` makes a draft; `hgld curate export --to draft %s %s` makes one of this file",
			word(filepath.Base(file)), word(filepath.Base(draftPath)))
	}
	return logError(err)
}

// editTime returns the time of an edit, in seconds and UTC.
func editTime() time.Time { return time.Now().UTC().Truncate(time.Second) }

// runImport appends the edits of an import, or lists them in a dry run. It fails if the draft
// lacks a tag; with --on-conflict skip it imports the others and returns exit code 3.
func runImport(j *job, into *format.Import, logPath, draftPath string, policy curate.OnConflict, dry bool) error {
	missing := into.Missing
	if len(missing) > 0 && policy == curate.Stop {
		return withHint(fmt.Errorf("%s: %s not in %s:%s", j.args[0], count(len(missing), "tag"), draftPath,
			curate.RefsText(missing)),
			"--on-conflict skip imports the others; `hgld curate check --draft %s %s` suggests what was meant",
			word(filepath.Base(draftPath)), word(filepath.Base(j.args[0])))
	}
	if dry {
		return listImport(j, into, logPath, draftPath)
	}
	tags, err := into.Append(j.ctx)
	if err != nil {
		return logError(err)
	}
	if j.json {
		err = writeJSON(j, map[string]any{"log": logPath, "edits": len(into.Edits), "tags": tags, "missing": missing,
			"undecided": into.Undecided(), "proposed": into.Proposed()})
	} else {
		j.print("%s: %s appended, %s decided; %d of the draft undecided%s\n", logPath, count(len(into.Edits), "edit"),
			count(tags, "tag"), into.Undecided(), curate.ProposedText(into.Proposed()))
		for _, r := range missing {
			j.print("not in %s: %v\n", draftPath, r)
		}
	}
	if err == nil && len(missing) > 0 {
		return withCode(exitSomeFailed, fmt.Errorf("%s of %s not in %s", count(len(missing), "tag"), j.args[0], draftPath))
	}
	return err
}

// listImport shows the edits of a dry run.
func listImport(j *job, into *format.Import, logPath, draftPath string) error {
	if j.json {
		return writeJSON(j, map[string]any{"edits": into.Edits, "missing": into.Missing})
	}
	for _, e := range into.Edits {
		j.print("%4d  %s\n", e.Seq, e.Text())
	}
	for _, r := range into.Missing {
		j.print("not in %s: %v\n", draftPath, r)
	}
	j.log("%s would be appended to %s", count(len(into.Edits), "edit"), logPath)
	return nil
}

// listed quotes names, the first hundred of many.
func listed(names []string) string {
	const most = 100
	var quoted []string
	for _, name := range names[:min(len(names), most)] {
		quoted = append(quoted, strconv.Quote(name))
	}
	text := strings.Join(quoted, ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
