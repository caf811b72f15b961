package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"hgld/internal/img"
	"hgld/internal/launcher"
	"hgld/internal/pipeline"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/cuda"
)

// The device is a setting of the project, not of a stage: --device, the variable
// HGLD_DEVICE, or device in hgld.yaml. A training also has run.device.
const (
	deviceKey      = "device"
	deviceVariable = "HGLD_DEVICE"
	deviceUsage    = "where to compute: auto (a GPU if one is usable), cpu, cuda, or cuda:N for GPU N; to train on " +
		"several, cuda:0-3, cuda:0,2 or cuda:all"
)

// builtCards lists the kinds of GPUs in this build, in the order in which auto tries them.
func builtCards() []device.Kind {
	return []device.Kind{{
		Name: "cuda",
		Probe: func() (int, string, error) {
			r, err := cuda.Probe()
			if err != nil {
				return 0, "", err
			}
			return r.First().Ordinal, r.First().Name, nil
		},
		Open: func(n int) (device.Backend, error) { return cuda.Open(n) },
		Usable: func() ([]int, error) {
			r, err := cuda.Probe()
			return r.Usable(), err
		},
	}}
}

// withDeviceFlag adds --device to a command.
func withDeviceFlag(c *cli.Command) *cli.Command {
	c.Flags = append(c.Flags, deviceFlag())
	return c
}

func deviceFlag() cli.Flag { return &cli.StringFlag{Name: deviceKey, Usage: deviceUsage} }

// chosenDevice returns the name of the device and where it was set. The command line comes
// before the environment, and the environment before hgld.yaml.
func chosenDevice(c *cli.Context, p *pipeline.Project) (name, origin string, err error) {
	name, origin = device.Auto, "default"
	if node := p.Value(deviceKey); node != nil && node.Tag != "!!null" {
		name, origin = node.Value, fmt.Sprintf("%s:%d", p.File, node.Line)
		if node.Kind != yaml.ScalarNode {
			return "", "", usagef("%s: device is not a name; want one such as auto, cpu or cuda", origin)
		}
	}
	if v, set := os.LookupEnv(deviceVariable); set {
		name, origin = v, "$"+deviceVariable
	}
	if c != nil && c.IsSet(deviceKey) {
		name, origin = c.String(deviceKey), "--"+deviceKey
	}
	if err := checkDevice(name); err != nil {
		return "", "", usagef("%s: %w", origin, err)
	}
	return name, origin, nil
}

// checkDevice returns an error for a name of no device and no group of devices.
func checkDevice(name string) error {
	group, err := device.ParseGroup(name)
	if group == nil && err == nil {
		_, err = device.ParsePlace(name)
	}
	return err
}

// trainingDevice returns the device of a training: run.device, unless --device or
// HGLD_DEVICE names one. A run.device set by -o or by a variable overrides HGLD_DEVICE.
func (j *job) trainingDevice(s *trainSettings) string {
	own, from := s.Config.Run.Device, j.project.Origin("train.run.device")
	switch said := strings.HasPrefix(from, "-o") || strings.HasPrefix(from, "$"); {
	case own == "", j.deviceOrigin == "--"+deviceKey, j.deviceOrigin == "$"+deviceVariable && !said:
		return j.device
	}
	return own
}

// openTraining opens the device of a training. Several processes then wait for one another.
func (j *job) openTraining(s *trainSettings) (device.Backend, error) {
	name := j.trainingDevice(s)
	if j.card != "" {
		name = j.card
	}
	name, err := j.cardOf(name)
	if err != nil {
		return nil, err
	}
	b, err := j.open(name, s.Config.Run.Threads)
	if err != nil || j.ranks == nil {
		return b, err
	}
	switch b := b.(type) {
	case *cpu.Backend:
		if err := j.join(); err != nil {
			return nil, err
		}
		return cpu.Join(cpu.New(s.Config.Run.Threads), j.ranks.world), nil // with its share of the processors
	case *cuda.Backend:
		return j.joinCards(b)
	}
	return nil, withHint(usagef("%s started %d processes, and on %s they cannot train together",
		j.ranks.place.Launcher, j.ranks.count(), b.Name()),
		"--device cpu trains on the processors; %s=off trains in each process alone", launcher.Variable)
}

// openDevice opens the device of a command. threads applies to the CPU.
func (j *job) openDevice(threads int) (device.Backend, error) { return j.open(j.device, threads) }

// openNetwork opens what a network that reads images needs: a decoder, and the device of the command.
func (j *job) openNetwork(threads int) (*img.Decoder, device.Backend, error) {
	decoder, _, err := imageDecoder()
	if err != nil {
		return nil, nil, err
	}
	b, err := j.openDevice(threads)
	return decoder, b, err
}

// open opens a device. auto opens the first usable GPU and reports it, and otherwise the CPU.
// It returns an error if a GPU is named and not usable. Close releases the device.
func (j *job) open(name string, threads int) (device.Backend, error) {
	if group, err := device.ParseGroup(name); err == nil && group != nil {
		return nil, usagef("device %s is several GPUs, on which `hgld train run` and `hgld train resume` train: name one", name)
	}
	p, err := device.ParsePlace(name)
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	b, err := device.Opener{
		Kinds: j.cards,
		CPU:   func() device.Backend { return cpu.New(threads) },
		Opened: func(kind string, card int, found string) {
			j.say("computing on %s:%d, %s; --device cpu uses the CPU instead", kind, card, found)
		},
		Skipped: func(found string, err error) {
			j.say("%s cannot be used, so the CPU computes: %v", found, err)
		},
	}.Open(name, p)
	if c, ok := b.(*cuda.Backend); ok {
		c.Say = func(text string) { j.say("%s", text) }
	}
	if closer, ok := b.(io.Closer); ok && err == nil {
		j.opened = append(j.opened, closer)
	}
	return b, withHint(withCode(exitNoGPU, err),
		"hgld doctor lists the devices of this machine; --device cpu uses the CPU")
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

// usableDevice checks that a named device is usable.
func usableDevice(name string, cards []device.Kind) error {
	p, err := device.ParsePlace(name)
	if err != nil || p.Kind == device.Auto {
		return err
	}
	j := &job{quiet: true, cards: cards}
	_, err = j.open(name, 1)
	return errors.Join(err, j.Close())
}
