package train

import (
	"hgld/train/device"
)

// Values of model.precision.
const (
	precisionAuto     = "auto"
	precisionFloat32  = "float32"
	precisionBFloat16 = "bfloat16"
)

var precisions = []string{precisionAuto, precisionFloat32, precisionBFloat16}

// settle replaces auto by the precision that suits a device: bfloat16 if the device computes
// in it, otherwise float32. A checkpoint has what was chosen.
func (a *Architecture) settle(b device.Backend) {
	if a.Precision != precisionAuto {
		return
	}
	a.Precision = precisionFloat32
	if b.Supports(device.BF16) {
		a.Precision = precisionBFloat16
	}
}

// activations returns the type in which the backbone's activations are stored.
func (a *Architecture) activations() device.DType {
	if a.Precision == precisionBFloat16 {
		return device.BF16
	}
	return device.F32
}
