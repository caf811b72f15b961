package train

import (
	"slices"

	"hgld/train/device"
)

// Values of model.precision.
const (
	precisionAuto     = "auto"
	precisionFloat32  = "float32"
	precisionBFloat16 = "bfloat16"
)

var precisions = []string{precisionAuto, precisionFloat32, precisionBFloat16}

// Settle replaces auto by the precision of the run in dir. In a new run it chooses bfloat16 if
// the device computes in it, and float32 otherwise. The checkpoint stores the choice, so that a
// run can resume on another device.
func (a *Architecture) Settle(b device.Backend, dir string) {
	if a.Precision != precisionAuto {
		return
	}
	if a.Precision = chosenPrecision(dir); a.Precision != "" {
		return
	}
	a.Precision = precisionFloat32
	if b.Supports(device.BF16) {
		a.Precision = precisionBFloat16
	}
}

// chosenPrecision returns the precision in the newest sound checkpoint of a run, or "" if there
// is none. It ignores damaged checkpoints; resuming reports them.
func chosenPrecision(dir string) string {
	if dir == "" {
		return ""
	}
	list, _ := checkpoints(dir)
	for _, path := range slices.Backward(list) {
		if s, err := readState(path); err == nil {
			return s.Config.Model.Precision
		}
	}
	return ""
}

// Activations returns the storage type of the backbone's activations.
func (a *Architecture) Activations() device.DType {
	if a.Precision == precisionBFloat16 {
		return device.BF16
	}
	return device.F32
}

// Values of run.resample.
const (
	resampleAuto   = "auto"
	resampleHost   = "host"
	resampleDevice = "device"
)

var resamples = []string{resampleAuto, resampleHost, resampleDevice}

// Settle replaces auto by what suits the device: images are resampled on a device with
// memory of its own, and otherwise by the workers that decode them.
func (u *Upkeep) Settle(b device.Backend) {
	where := resampleHost
	if u.resampleOn(b) {
		where = resampleDevice
	}
	u.Resample = where
}

// resampleOn reports whether images are resampled on b. Checkpoints do not hold the setting, and
// an empty value means auto.
func (u *Upkeep) resampleOn(b device.Backend) bool {
	switch u.Resample {
	case resampleHost:
		return false
	case resampleDevice:
		return true
	}
	return device.OwnMemory(b)
}
