package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/cmd/hgld/internal/demo"
	"hgld/internal/pipeline"
	"hgld/train/device"
	"hgld/train/evaluation"
	"hgld/train/input"
	"hgld/train/selection"
)

const demoSteps = 300

func demoCommand() *cli.Command {
	return &cli.Command{
		Name: "demo", Usage: "the whole pipeline in a minute, offline, without a GPU",
		Description: "  hgld demo                   in a temporary folder\n" +
			"  hgld demo --out my-demo     in a folder that stays: a project to try every command on",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Usage: "`FOLDER` to work in; it must not exist yet, or be empty"},
			&cli.IntFlag{Name: "steps", Usage: "training `STEPS` of each model", Value: demoSteps},
			deviceFlag(),
		},
		Action: func(c *cli.Context) error {
			if c.Int("steps") < 1 {
				return usagef("--steps is %d; want at least 1", c.Int("steps"))
			}
			if err := pipeline.CheckHome("demo", c.String("out")); err != nil {
				return err
			}
			m, err := machineOf(c, &pipeline.Project{})
			if err != nil {
				return err
			}
			if err := usableDevice(m.Device, environmentOf(c).cards); err != nil { // checked before the earlier stages run
				return err
			}
			return runDemo(c.Context, environmentOf(c).cards, demo.Options{
				Folder: c.String("out"), Steps: c.Int("steps"), Threads: m.Threads, Device: m.Device,
				Stdout: c.App.Writer, Stderr: c.App.ErrWriter,
			})
		},
	}
}

// runDemo runs the demo with the commands of this program.
func runDemo(ctx context.Context, cards []device.Kind, o demo.Options) error {
	o.Run = func(ctx context.Context, stdout, stderr io.Writer, dir, command string, args ...string) error {
		return environment{stdout: stdout, stderr: stderr, cards: cards, isolated: true}.runIn(ctx, dir, command, args...)
	}
	o.Embed = func(ctx context.Context, dir string, runs []string) (demo.Pictures, [][][]float32, error) {
		return embedHeldOut(ctx, &o, cards, dir, runs)
	}
	return demo.Run(ctx, o)
}

// runIn runs a command in the demo's project. It does not count failed items as an error.
func (e environment) runIn(ctx context.Context, dir, command string, args ...string) error {
	line := append(append([]string{"hgld"}, strings.Fields(command)...), "--project", dir)
	line = append(line, args...)
	if err := newApp(e, line).RunContext(ctx, line); exitCode(err) != exitSomeFailed {
		return err
	}
	return nil
}

// heldOut holds the images of the classes that were held out of training.
type heldOut struct {
	input.Dataset
	data *selection.Data
}

// Close closes the shards.
func (h heldOut) Close() error { return h.data.Close() }

// embedHeldOut embeds the held-out images of the demo's project with each of its
// models.
func embedHeldOut(ctx context.Context, o *demo.Options, cards []device.Kind, dir string,
	runs []string) (_ demo.Pictures, rows [][][]float32, err error) {
	choice := selection.Default()
	choice.Data, choice.HoldOut = filepath.Join(dir, choice.Data), 0.33
	data, err := openData(ctx, &choice)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, data.Close())
		}
	}()
	decoder, _, err := imageDecoder()
	if err != nil {
		return nil, nil, err
	}
	j := &job{stderr: o.Stderr, device: o.Device, threads: o.Threads, cards: cards, quiet: true}
	defer func() { err = errors.Join(err, j.Close()) }()
	b, err := j.openDevice()
	if err != nil {
		return nil, nil, err
	}
	for _, run := range runs {
		m, err := evaluation.Open(filepath.Join(dir, run), b, decoder, false)
		if err != nil {
			return nil, nil, err
		}
		t, err := m.Embed(ctx, data.Query, nil)
		if err := errors.Join(err, m.Close()); err != nil {
			return nil, nil, err
		}
		values, err := t.Float32()
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, slices.Collect(slices.Chunk(values, t.Shape[1])))
	}
	return heldOut{data.Query, data}, rows, nil
}

// demoAdvice has the exit codes and next steps for errors of the demo.
var demoAdvice = []advice{
	kind(exitInterrupted, func(*demo.StoppedError) string {
		return "the demo cannot be resumed; start it again: hgld demo --out another-folder"
	}),
	sentinel(demo.ErrInUse, exitUsage, "name a folder that does not exist yet: hgld demo --out new-folder"),
}
