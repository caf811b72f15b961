// Package demo runs the whole pipeline on made-up landmarks: it draws their pictures, serves
// their pages from a local imitation of Commons, curates their tags as two bundled curators
// would, and writes a page about the result. Every stage runs the command that a user would
// type. The project remains afterwards.
package demo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hgld/internal/atomicfile"
	"hgld/internal/regular"
	"hgld/internal/report"
	"hgld/labels"
)

// Options configures where and how the demo runs.
type Options struct {
	// Folder is the working folder, which must not exist or must be empty. "" selects a new
	// temporary folder.
	Folder string

	// Steps is the number of training steps per model. Threads is the number of CPU threads for
	// training; 0 means one per processor.
	Steps, Threads int
	Device         string // the compute device, as hgld.yaml names it

	// Stdout receives the progress of every step. Stderr receives the messages of a failing
	// command.
	Stdout, Stderr io.Writer

	// Run runs an hgld command such as "scrape run" in the project in dir. It ignores settings
	// in the environment. Relative paths among the arguments start at the working directory.
	Run func(ctx context.Context, stdout, stderr io.Writer, dir, command string, args ...string) error

	// Embed opens the pictures of the held-out landmarks and embeds them with the models of some
	// run directories in dir. The rows are unit vectors.
	Embed func(ctx context.Context, dir string, runs []string) (data Pictures, rows [][][]float32, err error)
}

// Pictures holds the pictures that no model was trained on.
type Pictures interface {
	// Len returns the number of pictures.
	Len() int

	// Labels returns the classes of a picture, finest first.
	Labels(i int) labels.Path

	// Classes returns the names of the classes of a level.
	Classes(level int) []string

	// Image returns the image file of a picture.
	Image(ctx context.Context, i int) ([]byte, error)

	// Close closes the files.
	io.Closer
}

// ErrInUse reports that the folder is not empty.
var ErrInUse = errors.New("is not empty")

// StoppedError reports that the context ended before the demo did. The local Commons ends with
// the process, so the demo cannot be continued.
type StoppedError struct {
	// Folder is the half-finished project.
	Folder string
}

// Error names the folder.
func (e *StoppedError) Error() string {
	return fmt.Sprintf("demo: stopped; %s is half done and may be removed", e.Folder)
}

// demo is one run of the demo.
type demo struct {
	o       *Options
	ctx     context.Context
	dir     string
	world   *world
	done    []report.Step
	table   table
	queries int
}

// stage is one step of the demo: its name, its description and its function.
type stage struct {
	name, about string
	run         func() error
}

// stages returns the steps in order.
func (d *demo) stages() []stage {
	return []stage{
		{"scrape", "ask (a made-up) Wikimedia Commons what every landmark is an instance of", d.scrape},
		{"cluster", "embed the tags and group the similar ones: the draft", d.cluster},
		{"curate", "two curators work on the draft, blind; a third decides where they differ", d.curate},
		{"labels", "join tags and hierarchy into a label for every landmark", d.labels},
		{"shards", "draw pictures of the landmarks and write them as Parquet", d.shards},
		{"train", "train one model on landmarks alone, one on the whole hierarchy", d.train},
		{"eval", "retrieve landmarks that neither model has seen", d.eval},
		{"report", "write one page with all results", d.report},
	}
}

// Run runs the demo. It returns an error that wraps ErrInUse if the folder is not empty, and a
// *StoppedError if the context ends.
func Run(ctx context.Context, o Options) error {
	start := time.Now()
	w, err := newWorld()
	if err != nil {
		return err
	}
	d := &demo{o: &o, ctx: ctx, world: w}
	if d.dir, err = makeFolder(o.Folder); err != nil {
		return err
	}
	d.log("hgld demo: %d landmarks, %d different tags, in %s\n", len(w.landmarks), len(w.tags), d.dir)
	stages := d.stages()
	for i, s := range stages {
		if ctx.Err() != nil {
			return &StoppedError{d.dir}
		}
		d.log("\n%d/%d %s: %s\n", i+1, len(stages), s.name, s.about)
		if err := s.run(); err != nil && ctx.Err() != nil {
			return &StoppedError{d.dir}
		} else if err != nil {
			return fmt.Errorf("demo: %s: %w", s.name, err)
		}
	}
	hash, err := d.hash()
	if err != nil {
		return err
	}
	d.log("\nsha256 of labels and table: %s\n%s, in %.0f s\n", hash, d.path("report.html"), time.Since(start).Seconds())
	d.log("\nThe folder is a project. Next:\n  cd %s\n  hgld status\n", d.dir)
	return nil
}

// makeFolder makes the folder of the project and returns its absolute path.
func makeFolder(out string) (string, error) {
	if out == "" {
		dir, err := os.MkdirTemp("", "hgld-demo-")
		if err != nil {
			return "", err
		}
		out = dir
	}
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return "", fmt.Errorf("%s %w", out, ErrInUse)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := atomicfile.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	return filepath.Abs(out)
}

// path returns the path of a file of the project.
func (d *demo) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

func (d *demo) log(format string, args ...any) { fmt.Fprintf(d.o.Stdout, format, args...) }

// inProject marks an argument as a path in the project. Output shows it without the folder, as
// a user types it there.
const inProject = "\x00"

// hgld runs a command and shows the first lines of its output. It returns the command line as
// a user would type it in the project.
func (d *demo) hgld(show int, command string, args ...string) (line, out string, err error) {
	line = "hgld " + command
	given := make([]string, len(args))
	for i, a := range args {
		name, isPath := strings.CutPrefix(a, inProject)
		line += " " + name
		if given[i] = name; isPath {
			given[i] = d.path(name)
		}
	}
	d.log("  $ %s\n", line)
	var stdout, stderr bytes.Buffer
	if err := d.o.Run(d.ctx, &stdout, &stderr, d.dir, command, given...); err != nil {
		io.Copy(d.o.Stderr, &stderr)
		return line, "", err
	}
	out = strings.ReplaceAll(stdout.String(), d.dir+string(filepath.Separator), "")
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	for _, l := range lines[:min(show, len(lines))] {
		d.log("    %s\n", l)
	}
	return line, out, nil
}

// note records a step for the report page.
func (d *demo) note(name, command, format string, args ...any) {
	d.done = append(d.done, report.Step{Name: name, Command: command, Result: fmt.Sprintf(format, args...)})
}

// hash returns the SHA-256 of what the demo computed: the labels and the table of metrics.
func (d *demo) hash() (string, error) {
	h := sha256.New()
	for _, name := range []string{"labels.csv", "unlabelled.csv"} {
		data, err := regular.ReadFile(d.path(name))
		if err != nil {
			return "", err
		}
		h.Write(data)
	}
	io.WriteString(h, d.table.String())
	return hex.EncodeToString(h.Sum(nil)), nil
}
