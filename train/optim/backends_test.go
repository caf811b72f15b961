package optim_test

import (
	"testing"

	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/testing/conformance"
)

// backends are those that every case runs on: the definition, and the CPU's own or a card.
func backends(t *testing.T) []device.Backend {
	t.Helper()
	b := cpu.New(0)
	b.Poison = true
	return []device.Backend{host{}, conformance.CardOr(t, b)}
}
