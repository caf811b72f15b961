package main

import (
	"errors"
	"io"

	"github.com/urfave/cli/v2"

	"hgld/internal/img"
	"hgld/internal/pipeline"
	"hgld/internal/ranks/launch"
	"hgld/internal/report"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/cuda"
)

// machineSettings are settings of the computer, at the top of hgld.yaml, which hold for all stages.
type machineSettings struct {
	Threads int    `yaml:"threads" flag:"-" range:"0 1024" usage:"threads on the CPU; 0: one for each processor. No result depends on it"`
	Device  string `yaml:"device" usage:"where to compute; hgld --help lists the values of --device"`

	Pictures report.Style `yaml:"pictures"` // of figures, plots and the reports of studies
}

const (
	deviceKey   = "device"
	deviceUsage = "where to compute: auto (a GPU if one is usable), cpu, cuda, or cuda:N for GPU N; to train, " +
		"embed or evaluate on several, cuda:0-3, cuda:0,2 or cuda:all"
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

func defaultMachine() any { return &machineSettings{Device: device.Auto} }

// machineOf returns the settings of the computer that a command line chooses in a project.
func machineOf(c *cli.Context, p *pipeline.Project) (machineSettings, error) {
	m := defaultMachine().(*machineSettings)
	err := p.LoadTop(c, m)
	if err == nil {
		if err = checkDevice(m.Device); err != nil {
			err = usagef("%s: %w", p.Origin(deviceKey), err)
		} else if err = m.Pictures.Check(); err != nil {
			err = usagef("%s: pictures.%w", p.Origin("pictures.width"), err)
		}
	}
	return *m, err
}

// checkDevice returns an error for a name of no device and no group of devices.
func checkDevice(name string) error {
	group, err := device.ParseGroup(name)
	if group == nil && err == nil {
		_, err = device.ParsePlace(name)
	}
	return err
}

// openTraining opens the device of a training. Several processes then wait for one another.
func (j *job) openTraining() (device.Backend, error) {
	name := j.device
	if j.card != "" {
		name = j.card
	}
	name, err := j.cardOf(name)
	if err != nil {
		return nil, err
	}
	b, err := j.open(name)
	if err != nil || j.ranks == nil {
		return b, err
	}
	switch b := b.(type) {
	case *cpu.Backend:
		if err := j.join(); err != nil {
			return nil, err
		}
		return cpu.Join(cpu.New(j.threads), j.ranks.World), nil // with its share of the processors
	case *cuda.Backend:
		return j.joinCards(b)
	}
	return nil, withHint(usagef("%s started %d processes, and on %s they cannot train together",
		j.ranks.Place.Launcher, j.ranks.Count(), b.Name()),
		"--device cpu trains on the processors; %s=off trains in each process alone", launch.Variable)
}

// openDevice opens the device of a command. If processes that have not met yet divide its work, they meet.
func (j *job) openDevice() (device.Backend, error) {
	if j.ranks != nil && j.ranks.Group == nil {
		return j.openTraining()
	}
	return j.open(j.device)
}

// openNetwork opens what a network that reads images needs: a decoder, and the device of the command.
func (j *job) openNetwork() (*img.Decoder, device.Backend, error) {
	decoder, _, err := imageDecoder()
	if err != nil {
		return nil, nil, err
	}
	b, err := j.openDevice()
	return decoder, b, err
}

// open opens a device. auto opens the first usable GPU and reports it, and otherwise the CPU.
// It returns an error if a GPU is named and not usable. Close releases the device.
func (j *job) open(name string) (device.Backend, error) {
	if group, err := device.ParseGroup(name); err == nil && group != nil {
		return nil, usagef("device %s is several GPUs, which only train, embed-images and eval run --run can use; name one",
			name)
	}
	p, err := device.ParsePlace(name)
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	b, err := device.Opener{
		Kinds: j.cards,
		CPU:   func() device.Backend { return cpu.New(j.threads) },
		Opened: func(kind string, card int, found string) {
			j.log("computing on %s:%d, %s; --device cpu uses the CPU instead", kind, card, found)
		},
		Skipped: func(found string, err error) {
			j.log("%s cannot be used, so the CPU computes: %v", found, err)
		},
	}.Open(name, p)
	if c, ok := b.(*cuda.Backend); ok {
		c.Log = func(text string) { j.log("%s", text) }
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
	j := &job{quiet: true, cards: cards, threads: 1}
	_, err = j.open(name)
	return errors.Join(err, j.Close())
}
