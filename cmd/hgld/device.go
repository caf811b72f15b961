package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/cuda"
)

// What computes is a setting of the project and not of a stage: --device, the variable
// HGLD_DEVICE, or device in hgld.yaml, of a training also run.device.
const (
	deviceKey      = "device"
	deviceVariable = "HGLD_DEVICE"
	deviceUsage    = "what computes: auto (a card where one is usable), cpu, cuda, or cuda:N for card N"
)

// The names of a device that are no card's.
const (
	deviceAuto = "auto"
	deviceCPU  = "cpu"
)

// cardKind is a kind of graphics cards that hgld computes on.
type cardKind struct {
	name string

	// probe returns the first usable card and its name, or what is missing.
	probe func() (first int, name string, err error)

	// open opens card n, counted from 0.
	open func(n int) (device.Backend, error)
}

// cardKinds lists those that this hgld is built with, in the order in which auto asks
// for them.
var cardKinds = []cardKind{{
	name: "cuda",
	probe: func() (int, string, error) {
		r, err := cuda.Probe()
		if err != nil {
			return 0, "", err
		}
		return r.First().Ordinal, r.First().Name, nil
	},
	open: func(n int) (device.Backend, error) { return cuda.Open(n) },
}}

// knownCards lists all kinds, including those that this build does not support.
var knownCards = []string{"cuda"}

// place is the parsed name of a device.
type place struct {
	kind string // auto, cpu or a kind of cards
	card int
}

// placeOf reads the name of a device.
func placeOf(name string) (place, error) {
	kind, number, numbered := strings.Cut(name, ":")
	known := append([]string{deviceAuto, deviceCPU}, knownCards...)
	if !slices.Contains(known, kind) {
		return place{}, registry.Unknown("device", name, known)
	}
	p := place{kind: kind}
	if !numbered {
		return p, nil
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || kind == deviceAuto || kind == deviceCPU {
		return place{}, fmt.Errorf("device %.80q: want one of %s, and behind a card's a number, such as cuda:1", name,
			strings.Join(known, ", "))
	}
	p.card = n
	return p, nil
}

// computing is a command with --device.
func computing(c *cli.Command) *cli.Command {
	c.Flags = append(c.Flags, deviceFlag())
	return c
}

func deviceFlag() cli.Flag { return &cli.StringFlag{Name: deviceKey, Usage: deviceUsage} }

// chosenDevice returns the device that the command line, the environment, or else hgld.yaml
// names, and where it is named.
func chosenDevice(c *cli.Context, p *pipeline.Project) (name, origin string, err error) {
	name, origin = deviceAuto, "default"
	if node := p.Value(deviceKey); node != nil && node.Tag != "!!null" {
		name, origin = node.Value, fmt.Sprintf("%s:%d", p.File, node.Line)
		if node.Kind != yaml.ScalarNode {
			return "", "", usagef("%s: device: want a name such as auto, cpu or cuda", origin)
		}
	}
	if v, set := os.LookupEnv(deviceVariable); set {
		name, origin = v, "$"+deviceVariable
	}
	if c != nil && c.IsSet(deviceKey) {
		name, origin = c.String(deviceKey), "--"+deviceKey
	}
	if _, err := placeOf(name); err != nil {
		return "", "", usagef("%s: %w", origin, err)
	}
	return name, origin, nil
}

// trainingDevice is the device of a training: its own setting run.device, unless
// --device or HGLD_DEVICE names one. An own -o or variable beats the latter.
func (j *job) trainingDevice(s *trainSettings) string {
	own, from := s.Config.Run.Device, j.project.Origin("train.run.device")
	switch said := strings.HasPrefix(from, "-o") || strings.HasPrefix(from, "$"); {
	case own == "", j.deviceOrigin == "--"+deviceKey, j.deviceOrigin == "$"+deviceVariable && !said:
		return j.device
	}
	return own
}

// openTraining opens what a training computes on.
func (j *job) openTraining(s *trainSettings) (device.Backend, error) {
	return j.open(j.trainingDevice(s), s.Config.Run.Threads)
}

// openDevice opens what a command computes on; threads are those of a processor.
func (j *job) openDevice(threads int) (device.Backend, error) { return j.open(j.device, threads) }

// open opens a device, which Close releases.
func (j *job) open(name string, threads int) (device.Backend, error) {
	b, err := openDevice(name, threads, j.say)
	if closer, ok := b.(io.Closer); ok && err == nil {
		j.opened = append(j.opened, closer)
	}
	return b, err
}

// Close releases the devices that the job opened.
func (j *job) Close() error {
	var errs []error
	for _, b := range j.opened {
		errs = append(errs, b.Close())
	}
	j.opened = nil
	return errors.Join(errs...)
}

// openDevice opens every device that the command computes on. auto takes the first card that is usable
// and says so, and otherwise the processor; a card that is asked for by name must be
// there.
func openDevice(name string, threads int, say func(format string, args ...any)) (device.Backend, error) {
	p, err := placeOf(name)
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	switch p.kind {
	case deviceCPU:
		return cpu.New(threads), nil
	case deviceAuto:
		for _, kind := range cardKinds {
			first, found, err := kind.probe()
			if err != nil {
				continue
			}
			b, err := kind.open(first)
			if err != nil {
				say("%s is there and cannot be opened, so the processor computes: %v", found, err)
				continue
			}
			say("computing on %s:%d, %s; --device cpu computes on the processor", kind.name, first, found)
			return b, nil
		}
		return cpu.New(threads), nil
	}
	for _, kind := range cardKinds {
		if kind.name != p.kind {
			continue
		}
		if _, _, err := kind.probe(); err != nil {
			return nil, unusable(name, err)
		}
		b, err := kind.open(p.card)
		if err != nil {
			return nil, unusable(name, err)
		}
		return b, nil
	}
	return nil, unusable(name, errors.New("this hgld is built without it"))
}

// usableDevice says whether a device that is asked for by name is there.
func usableDevice(name string) error {
	p, err := placeOf(name)
	if err != nil || p.kind == deviceAuto {
		return err
	}
	j := &job{quiet: true}
	_, err = j.open(name, 1)
	return errors.Join(err, j.Close())
}

// unusable returns the error for a card that was requested but cannot be used.
func unusable(name string, err error) error {
	return withHint(withCode(exitNoGPU, fmt.Errorf("device %s: %w", name, err)),
		"hgld doctor says what this machine has; --device cpu computes on the processor")
}
