package nulldriver

import (
	"hgld/train/device/cuda"
	"hgld/train/device/observe"
)

// Device is a backend on a GPU that is not there. It computes nothing and tells what a GPU would take.
type Device struct {
	*cuda.Backend
	driver *Driver
	card   Card
}

// Open returns a device. What NVIDIA's libraries would compute says [cuda.VendorVariable].
func Open(card Card) (*Device, error) {
	d := New(card)
	b, err := cuda.OpenWith(d, 0)
	if err != nil {
		return nil, err
	}
	b.WithLibraries(d.Libraries())
	return &Device{b, d, card}, nil
}

// LibraryCalls counts what NVIDIA's libraries would have computed.
func (d *Device) LibraryCalls() int { return d.driver.calls }

// Card describes the GPU of the model.
func (d *Device) Card() Card { return d.card }

// Predict queues an operation, and returns the time that the GPU would take and the number of kernels.
func (d *Device) Predict(call observe.Call, queue func()) (seconds float64, launches int) {
	d.driver.Launches = nil
	queue()
	return d.card.Seconds(call, d.driver.Launches), len(d.driver.Launches)
}
