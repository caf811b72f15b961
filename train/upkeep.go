package train

import "hgld/train/device"

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
