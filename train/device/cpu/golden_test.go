package cpu_test

import (
	"testing"

	"hgld/train/device/cpu"
	"hgld/train/device/devicetest"
)

func TestGoldenNN(t *testing.T) {
	b := cpu.New(2)
	b.Poison = true
	devicetest.Goldens(t, b)
}
