package optim_test

import (
	"hgld/train/device"
	"hgld/train/device/cpu"
)

// backends are those that every case runs on: the definition, and the CPU's own.
func backends() []device.Backend {
	b := cpu.New(0)
	b.Poison = true
	return []device.Backend{host{}, b}
}
