package main

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

	"github.com/urfave/cli/v2"

	"hgld/curate"
	"hgld/internal/atomicfile"
	"hgld/internal/report"
	"hgld/scrape/fakecommons"
)

const (
	demoClusters = 28
	demoSteps    = 300
)

func demoCommand() *cli.Command {
	return &cli.Command{
		Name: "demo", Usage: "the whole pipeline in a minute, offline, without a GPU",
		Description: "  hgld demo                   in a temporary folder\n" +
			"  hgld demo --out my-demo     in a folder of its own: a project to try every command on",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Usage: "`FOLDER` to work in; it must not exist yet, or be empty"},
			&cli.IntFlag{Name: "steps", Usage: "training `STEPS` of each model", Value: demoSteps},
			&cli.IntFlag{Name: "threads", Usage: "threads of the training; 0: all processors"},
			deviceFlag(),
		},
		Action: func(c *cli.Context) error {
			if c.Int("steps") < 1 {
				return usagef("--steps is %d, want at least 1", c.Int("steps"))
			}
			name, _, err := chosenDevice(c, &project{})
			if err != nil {
				return err
			}
			if err := usableDevice(name); err != nil { // before the stages in front of the training
				return err
			}
			d := &demo{ctx: c.Context, stdout: c.App.Writer, stderr: c.App.ErrWriter, steps: c.Int("steps"), threads: c.Int("threads"), device: name}
			return d.run(c.String("out"))
		},
	}
}

// demo is one run of the demonstration. It works by the commands that a user
// types, in a project that stays afterwards.
type demo struct {
	ctx            context.Context
	stdout, stderr io.Writer
	steps, threads int
	device         string
	dir            string
	world          *world
	done           []report.Step
	table          demoTable
	queries        int
}

// demoStage is one step: what it does, and the command that does it alone.
type demoStage struct {
	name, about string
	run         func() error
}

// stages are the steps in order.
func (d *demo) stages() []demoStage {
	return []demoStage{
		{"scrape", "ask (a made-up) Wikimedia Commons what every landmark is an instance of", d.scrape},
		{"cluster", "embed the tags and group the similar ones: the draft", d.cluster},
		{"curate", "two curators work on the draft, blind; a third decides where they differ", d.curate},
		{"labels", "join tags and hierarchy into a label for every landmark", d.labels},
		{"shards", "draw pictures of the landmarks and write them as Parquet", d.shards},
		{"train", "train one model on landmarks alone, one on the whole hierarchy", d.train},
		{"eval", "retrieve landmarks that no model has seen", d.eval},
		{"report", "one page with all of it", d.report},
	}
}

func (d *demo) run(out string) error {
	start := time.Now()
	w, err := newWorld()
	if err != nil {
		return err
	}
	d.world = w
	if err := d.enter(out); err != nil {
		return err
	}
	fmt.Fprintf(d.stdout, "hgld demo: %d landmarks, %d different tags, in %s\n", len(w.landmarks), len(w.tags), d.dir)
	stages := d.stages()
	for i, s := range stages {
		if d.ctx.Err() != nil {
			return d.stopped()
		}
		fmt.Fprintf(d.stdout, "\n%d/%d %s: %s\n", i+1, len(stages), s.name, s.about)
		if err := s.run(); err != nil && d.ctx.Err() != nil {
			return d.stopped()
		} else if err != nil {
			return fmt.Errorf("demo: %s: %w", s.name, err)
		}
	}
	hash, err := d.hash()
	if err != nil {
		return err
	}
	fmt.Fprintf(d.stdout, "\nsha256 of labels and table: %s\n%s, in %.0f s\n", hash, filepath.Join(d.dir, "report.html"), time.Since(start).Seconds())
	fmt.Fprintf(d.stdout, "\nThe folder is a project. Next:\n  cd %s\n  hgld status\n", d.dir)
	return nil
}

// stopped is the end by a signal. The made-up site is gone with the process, so the
// demo begins anew where another command would go on.
func (d *demo) stopped() error {
	return withHint(withCode(exitInterrupted, fmt.Errorf("demo: stopped; %s is half done and may be removed", d.dir)), "the demo begins anew: hgld demo --out another-folder")
}

// enter makes the folder and goes there, so that every command below is as short
// as a user types it. Settings of the user's environment are for other projects.
func (d *demo) enter(out string) error {
	if out == "" {
		dir, err := os.MkdirTemp("", "hgld-demo-")
		if err != nil {
			return err
		}
		out = dir
	}
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return withHint(usagef("%s is not empty", out), "name a folder that does not exist yet: hgld demo --out new-folder")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := atomicfile.MkdirAll(out, 0o755); err != nil {
		return err
	}
	dir, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	d.dir = dir
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if sectionOfVariable(name) != "" {
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		}
	}
	return os.Chdir(dir)
}

// demoProject is the hgld.yaml of the demo: what differs from the defaults.
const demoProject = `# The demo's project. hgld config show --origin lists everything that is in force.
hgld: 1
device: %s
scrape:
  split: train
  base_url: %s   # gone when the demo ends; its pages are kept in scrape/
  rate: 0
embed:
  encoder: hashing   # needs no weights
cluster:
  k: %d
curate:
  logs: [edits-anna.jsonl, edits-boris.jsonl, edits-final.jsonl]
shards:
  dataset: csv
  input: images.csv
  labels: labels.csv
  shards: 3
train:
  out: runs/happier
  hold_out: 0.33
  input: {size: %d, crop: padded, resize: %d}
  model:
    backbone: {name: convnet, settings: {widths: [16, 32, 64], strides: [2, 2, 1]}}
    dim: 64
  sampler: {name: m-per-class, batch: 64, m: 4}
  loss: {name: happier}
  optim: {lr: 0.003}
  steps: %d
  run: {threads: %d}
eval:
  run: runs/happier
`

// hgld runs a command as a user would, in this process, and shows the first
// lines of what it printed.
func (d *demo) hgld(show int, args ...string) (string, error) {
	command := "hgld " + strings.Join(args, " ")
	fmt.Fprintf(d.stdout, "  $ %s\n", command)
	var out, log bytes.Buffer
	line := append([]string{"hgld"}, args...)
	err := newApp(&out, &log, line).RunContext(d.ctx, line)
	if err != nil && exitCode(err) != exitSomeFailed {
		io.Copy(d.stderr, &log)
		return out.String(), err
	}
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	for _, l := range lines[:min(show, len(lines))] {
		fmt.Fprintf(d.stdout, "    %s\n", l)
	}
	return out.String(), nil
}

// note keeps a step for the report.
func (d *demo) note(name, command, format string, args ...any) {
	d.done = append(d.done, report.Step{Name: name, Command: command, Result: fmt.Sprintf(format, args...)})
}

func (d *demo) scrape() error {
	var table bytes.Buffer
	pages := d.world.pages()
	if err := fakecommons.WriteCSV(&table, pages[:len(d.world.landmarks)]); err != nil {
		return err
	}
	if err := atomicfile.WriteFile("categories.csv", table.Bytes()); err != nil {
		return err
	}
	url, stop, err := serveCommons(pages)
	if err != nil {
		return err
	}
	defer stop()
	project := fmt.Sprintf(demoProject, d.device, url, demoClusters, demoSize-8, demoSize-8, d.steps, d.threads)
	if err := atomicfile.WriteFile(projectFile, []byte(project)); err != nil {
		return err
	}
	if _, err = d.hgld(12, "scrape", "run"); err != nil {
		return err
	}
	d.note("scrape", "hgld scrape run", "%d category pages read", len(d.world.landmarks))
	return nil
}

func (d *demo) cluster() error {
	if _, err := d.hgld(0, "embed"); err != nil {
		return err
	}
	if _, err := d.hgld(6, "cluster", "run"); err != nil {
		return err
	}
	d.note("cluster", "hgld cluster run", "%d clusters of tags with similar text", demoClusters)
	return nil
}

func (d *demo) curate() error {
	a, b, final := "edits-anna.jsonl", "edits-boris.jsonl", "edits-final.jsonl"
	comparison, err := curateDemo(d.world, a, b, final)
	if err != nil {
		return err
	}
	if _, err := d.hgld(12, "curate", "agree", a, b); err != nil {
		return err
	}
	if _, err := d.hgld(8, "curate", "apply"); err != nil {
		return err
	}
	d.note("curate", "hgld curate agree "+a+" "+b, "raw agreement %s, Cohen's kappa %s, AC1 %s; %d tags adjudicated",
		figure(comparison.Agreement.Raw), figure(comparison.Agreement.Kappa), figure(comparison.Agreement.AC1), len(comparison.Differences))
	d.note("", "hgld curate apply", "hierarchy.json: %d supercategories, %d kinds", len(d.world.groups), len(curate.Kinds))
	return nil
}

func (d *demo) labels() error {
	if _, err := d.hgld(14, "labels", "build"); err != nil {
		return err
	}
	d.note("labels", "hgld labels build", "labels.csv, and unlabelled.csv with a reason for every landmark that has none")
	return nil
}

func (d *demo) shards() error {
	pictures, err := drawLandmarks(".", d.world)
	if err != nil {
		return err
	}
	if _, err := d.hgld(4, "shards", "build"); err != nil {
		return err
	}
	d.note("shards", "hgld shards build", "%d pictures in 3 shards", pictures)
	return nil
}

// demoModels are the two models of the demo, and how each is trained: HAPPIER as
// hgld.yaml says.
var demoModels = []string{"smooth-ap", "happier"}

var demoTraining = map[string][]string{
	"smooth-ap": {"train", "run", "-o", "loss.name=smooth-ap", "--out", "runs/smooth-ap"},
	"happier":   {"train", "run"},
}

func (d *demo) train() error {
	for _, name := range demoModels {
		start := time.Now()
		if _, err := d.hgld(0, demoTraining[name]...); err != nil {
			return err
		}
		fmt.Fprintf(d.stdout, "    %s: %d steps in %.1f s\n", name, d.steps, time.Since(start).Seconds())
		d.note("train", "hgld "+strings.Join(demoTraining[name], " "), "%s, %d steps on the CPU", name, d.steps)
	}
	return nil
}

// hash covers what the demo computed: the labels and the table of metrics.
func (d *demo) hash() (string, error) {
	h := sha256.New()
	for _, name := range []string{"labels.csv", "unlabelled.csv"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		h.Write(data)
	}
	io.WriteString(h, d.table.String())
	return hex.EncodeToString(h.Sum(nil)), nil
}
