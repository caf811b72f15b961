package cpu_test

import (
	"testing"

	"hgld/train/device/cpu"
	"hgld/train/device/testing/conformance"
)

func TestGoldenNN(t *testing.T) {
	b := cpu.New(2)
	b.Poison = true
	conformance.Goldens(t, b)
}
